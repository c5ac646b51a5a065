import { type ProblemCode, problems } from '../http/problems.ts'
import { problemOf } from './problem-schema.ts'
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
