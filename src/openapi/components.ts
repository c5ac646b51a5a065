import { type ProblemCode, problems } from '../http/problems.ts'
import { closed, count, Misfit, named, oneOf, Type, text, uri } from '../http/schema.ts'
import { headersOfProblems } from './rules.ts'

/** The name of the CSRF header in contracts; a service may give it another name. */
export const csrfName = 'DSPACE-XSRF-TOKEN'

/** JSON that is part of the document. */
export type Json = Readonly<Record<string, unknown>>

/** Named schemas and responses, collected while operations refer to them. */
export class Components {
  readonly schemas = new Map<string, Json>()
  readonly responses = new Map<string, Json>()
  readonly headers = new Set<string>()

  /** @returns a reference to a header that has a name */
  header(name: string): Json {
    this.headers.add(name)
    return { $ref: `#/components/headers/${name}` }
  }

  /** @returns the schema, in which references replace the named schemas */
  schema(given: unknown): Json {
    return this.#walk(given) as Json
  }

  #walk(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(one => this.#walk(one))
    if (typeof value !== 'object' || value === null) return value
    const { $id, ...rest } = value as Json
    const plain = Object.fromEntries(Object.entries(rest).map(([key, one]) => [key, this.#walk(one)]))
    if (typeof $id !== 'string') return plain
    const known = this.schemas.get($id)
    if (known && JSON.stringify(known) !== JSON.stringify(plain))
      throw new Error(`two schemas have the name ${$id}`)
    this.schemas.set($id, plain)
    return { $ref: `#/components/schemas/${$id}` }
  }

  /** @param codes of one status */
  problem(codes: readonly ProblemCode[], isPage: boolean, csrfHeader: string): Json {
    const name = [...codes, ...(isPage ? ['page'] : [])].join('.')
    const description = codes.map(code => `\`${code}\`: ${problems[code].title}.`).join(' ')
    const headers = [...headersOfProblems(codes)].map(
      one => [one === csrfName ? csrfHeader : one, one] as const,
    )
    this.responses.set(name, {
      description,
      ...(headers.length === 0
        ? {}
        : {
            headers: Object.fromEntries(headers.map(([shown, one]) => [shown, this.header(one)])),
          }),
      content: {
        'application/problem+json': { schema: problemOf(codes) },
        ...(isPage ? { 'text/html': { schema: { type: 'string' } } } : {}),
      },
    })
    return { $ref: `#/components/responses/${name}` }
  }
}

/**
 * Names that stay different after generators have changed their spelling: `list-items`, `list_items` and
 * `listItems` are the same name in camel, Pascal or snake case.
 */
export class Names {
  readonly #taken: Set<string>

  /** @param others whose names are taken as well */
  constructor(others?: Names) {
    this.#taken = new Set(others ? others.#taken : [])
  }

  /** @returns the name, with a number if another one differs from it only in case and punctuation */
  add(name: string): string {
    let free = name
    for (let n = 2; this.#taken.has(plain(free)); n++) free = `${name}_${n}`
    this.#taken.add(plain(free))
    return free
  }
}

const plain = (name: string) => name.replaceAll(/[^A-Za-z0-9]/g, '').toLowerCase()

const codes = Object.keys(problems) as ProblemCode[]
const position = Type.Integer({ minimum: 0 })

/**
 * RFC 9457 with every member that a problem of this service may have (E1). Most problems have few of them.
 */
export const ProblemBody = named(
  'Problem',
  {
    type: Type.String({ format: 'uri', description: 'The address of the page about problems of this code.' }),
    title: text,
    status: Type.Integer({ minimum: 400, maximum: 599 }),
    code: oneOf(...codes),
    detail: Type.String({ description: 'What was wrong, where, and what would be right.' }),
    message: Type.String({ description: 'The same as `detail`.' }),
    path: Type.String({ description: 'The path of the request; empty if it could not be read.' }),
    requestId: Type.String({ description: 'As in `X-Request-Id`, the log and the audit trail.' }),
    parameter: Type.Optional(text),
    value: Type.Optional(text),
    position: Type.Optional(position),
    line: Type.Optional(count),
    column: Type.Optional(count),
    pointer: Type.Optional(Type.String({ description: 'RFC 6901: the place in the JSON.' })),
    operation: Type.Optional(Type.Integer({ minimum: 0, description: 'Of a patch, from 0.' })),
    member: Type.Optional(Type.String({ description: 'RFC 6901: the place in the body.' })),
    marker: Type.Optional(Type.String({ description: 'The line of the query, and a mark below the place.' })),
    mistake: Type.Optional(
      Type.String({ description: 'The kind of mistake in a query, such as a list in place of an element.' }),
    ),
    found: Type.Optional(text),
    expected: Type.Optional(Type.Array(text)),
    form: Type.Optional(Type.String({ description: 'How it is written.' })),
    legal: Type.Optional(
      Type.Union([
        // The values of a query are JSON: true and false are no strings there.
        Type.Array(Type.Union([text, Type.Boolean()])),
        Type.Object(
          { least: Type.Optional(Type.Integer()), most: Type.Optional(Type.Integer()) },
          { additionalProperties: false },
        ),
      ]),
    ),
    most: Type.Optional(Type.Integer({ description: 'How many there may be.' })),
    misfits: Type.Optional(
      Type.Array(Misfit, { description: 'Records that a declaration would not allow.' }),
    ),
    referenced: Type.Optional(
      closed(
        { entity: text, field: text, keys: Type.Array(text) },
        { description: 'The first records that reference this one.' },
      ),
    ),
    nearest: Type.Optional(Type.String({ description: 'The legal value that is most like the given one.' })),
    key: Type.Optional(Type.String({ description: 'Of several records: the one that is refused.' })),
    keys: Type.Optional(Type.Array(text, { description: 'The records that have changed.' })),
    count: Type.Optional(Type.Integer({ minimum: 0, description: 'How many records the query finds.' })),
    process: Type.Optional(Type.Integer({ description: 'The process that is in the way.' })),
    error: Type.Optional(Type.String({ description: 'The same as `detail`, for clients of PuppetDB.' })),
    factors: Type.Optional(Type.Array(text, { description: 'What proves a factor of the account.' })),
    ticket: Type.Optional(
      Type.String({ description: 'Stands for the password that was right, in the next step of a login.' }),
    ),
    begin: Type.Optional(uri),
    back: Type.Optional(uri),
    home: Type.Optional(uri),
  },
  'RFC 9457. Which codes an operation answers is in its description.',
)

/** The schema of problems with only these codes. */
const problemOf = (some: readonly ProblemCode[]) => ({
  allOf: [
    { $ref: '#/components/schemas/Problem' },
    { properties: { code: { enum: some }, status: { const: problems[some[0] ?? 'internal-error'].status } } },
  ],
})
