import type { Answer, Contract, DescribedRoute, Parameter } from '../http/contract.ts'
import { tags } from '../http/contract.ts'
import { type ProblemCode, problems } from '../http/problems.ts'
import { version } from '../lib/version.ts'
import { ProblemBody, problemOf } from './problem-schema.ts'
import { headersOfAll, issuesCsrf, needsCsrf, problemsOf, type Surroundings } from './rules.ts'

type Json = Readonly<Record<string, unknown>>

/** OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.1), as far as it is built here. */
export interface OpenApi {
  readonly openapi: '3.1.1'
  readonly info: Json
  readonly servers: readonly Json[]
  readonly tags: readonly Json[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: Readonly<Record<string, Json>>
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly parameters?: readonly Json[]
  readonly requestBody?: Json
  readonly responses: Readonly<Record<string, Json>>
  readonly security: readonly Json[]
}

/** Schemas and responses that have a name, collected while operations refer to them. */
class Components {
  readonly schemas = new Map<string, Json>()
  readonly responses = new Map<string, Json>()

  /** @returns the schema with a reference in place of each that has a name */
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
    const [first = 'internal-error'] = codes
    const { status } = problems[first]
    const headers = headersOf(codes, status, csrfHeader)
    this.responses.set(name, {
      description,
      ...(headers.length === 0
        ? {}
        : {
            headers: Object.fromEntries(headers.map(one => [one, { $ref: `#/components/headers/${one}` }])),
          }),
      content: {
        'application/problem+json': { schema: problemOf(codes) },
        ...(isPage ? { 'text/html': { schema: { type: 'string' } } } : {}),
      },
    })
    return { $ref: `#/components/responses/${name}` }
  }
}

/** Headers that come with problems of a status. */
const headersOf = (codes: readonly ProblemCode[], status: number, csrfHeader: string): readonly string[] => [
  ...(status === 401 ? ['WWW-Authenticate'] : []),
  ...(status === 429 || status === 503 || codes.includes('upload-in-use') ? ['Retry-After'] : []),
  ...(codes.some(code => code.startsWith('csrf-')) ? [csrfHeader, 'Set-Cookie'] : []),
]

/** As contracts call it; a service may give it another name. */
const csrfHeader = 'DSPACE-XSRF-TOKEN'

const schemaHeader = (description: string, schema: Json = { type: 'string' }): Json => ({
  description,
  schema,
})

/** The document of a service, without what depends on who asks. */
export async function describe(
  routes: readonly DescribedRoute[],
  surroundings: Surroundings,
): Promise<OpenApi> {
  const components = new Components()
  components.schema(ProblemBody)
  const paths: Record<string, Record<string, Operation>> = {}
  for (const route of routes) {
    const contract = await route.contract?.()
    if (!contract) continue
    const path = route.url.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] ??= {}
    paths[path][route.method.toLowerCase()] = operationOf(route, contract, surroundings, components)
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Carrel',
      version,
      description,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: surroundings.baseUrl }],
    tags: tags.map(name => ({ name })),
    paths: Object.fromEntries(Object.entries(paths).toSorted(([one], [other]) => (one < other ? -1 : 1))),
    components: {
      schemas: inOrder(components.schemas),
      responses: inOrder(components.responses),
      headers: headersIn(surroundings),
      parameters,
      securitySchemes: schemesIn(surroundings),
    },
  }
}

const inOrder = (map: ReadonlyMap<string, Json>) =>
  Object.fromEntries([...map].toSorted(([one], [other]) => (one < other ? -1 : 1)))

function operationOf(
  route: DescribedRoute,
  contract: Contract & { readonly operationId: string },
  surroundings: Surroundings,
  components: Components,
): Operation {
  const { operationId, summary, description: more, tag, body } = contract
  const given = parametersOf(route, contract, components)
  return {
    operationId,
    summary,
    ...(more === undefined ? {} : { description: more }),
    tags: [tag],
    ...(given.length === 0 ? {} : { parameters: given }),
    ...(body && {
      requestBody: { required: contract.bodyIsOptional !== true, content: contentOf(body, components) },
    }),
    responses: responsesOf(route, contract, surroundings, components),
    security: securityOf(route, contract, surroundings),
  }
}

function parametersOf(route: DescribedRoute, contract: Contract, components: Components): readonly Json[] {
  const inPath = [...route.url.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: components.schema(contract.path?.[name] ?? defaultOf(name)),
  }))
  const listed = (where: string, all: Readonly<Record<string, Parameter>> = {}) =>
    Object.entries(all).map(([name, { schema, description, required }]) => ({
      name,
      in: where,
      ...(description === undefined ? {} : { description }),
      ...(required ? { required } : {}),
      schema: components.schema(schema),
    }))
  return [
    ...inPath,
    ...listed('query', contract.query),
    ...listed('header', contract.headers),
    ...(route.knowsCaller
      ? Object.keys(parameters).map(name => ({ $ref: `#/components/parameters/${name}` }))
      : []),
  ]
}

const defaultOf = (name: string): Json =>
  name === 'uuid' ? { type: 'string', format: 'uuid' } : { type: 'string' }

const contentOf = (body: NonNullable<Answer['body']>, components: Components) =>
  Object.fromEntries(
    Object.entries(body).map(([type, schema]) => [type, { schema: components.schema(schema) }]),
  )

function responsesOf(
  route: DescribedRoute,
  contract: Contract,
  surroundings: Surroundings,
  components: Components,
): Operation['responses'] {
  const codes = [...problemsOf(route, contract, surroundings)]
  const refused = Map.groupBy(codes, code => problems[code].status)
  const common = [
    ...(issuesCsrf(route, surroundings) ? [surroundings.csrfHeader, 'Set-Cookie'] : []),
    ...(route.knowsCaller ? ['X-Acting-As'] : []),
  ].map(name => [name, { $ref: `#/components/headers/${name}` }] as const)
  const answered = Object.entries(contract.answers).map(([status, { description, headers = {}, body }]) => {
    const own = Object.entries(headers).map(
      ([name, schema]) =>
        [
          name === csrfHeader ? surroundings.csrfHeader : name,
          { schema: components.schema(schema) },
        ] as const,
    )
    const all = Object.fromEntries([...common, ...own])
    return [
      status,
      {
        description,
        ...(Object.keys(all).length === 0 ? {} : { headers: all }),
        ...(body && { content: contentOf(body, components) }),
      },
    ] as const
  })
  return Object.fromEntries([
    ...answered,
    ...[...refused].map(
      ([status, some]) =>
        [String(status), components.problem(some, route.isPage, surroundings.csrfHeader)] as const,
    ),
  ])
}

function securityOf(
  route: DescribedRoute,
  { caller }: Contract,
  surroundings: Surroundings,
): readonly Json[] {
  const csrf = needsCsrf(route, surroundings) ? { csrfCookie: [], csrfHeader: [] } : {}
  const known = route.knowsCaller
    ? ['bearer', 'xAuthentication', 'shortLivedToken'].map(name => ({ ...csrf, [name]: [] }))
    : []
  return caller ? known : [csrf, ...known]
}

const parameters: Readonly<Record<string, Json>> = {
  OnBehalfOf: {
    name: 'X-On-Behalf-Of',
    in: 'header',
    description: 'The eperson as whom an administrator sends the request.',
    schema: { type: 'string', format: 'uuid' },
  },
  OnBehalfOfReason: {
    name: 'X-On-Behalf-Of-Reason',
    in: 'header',
    description: 'Why, for the audit trail.',
    schema: { type: 'string' },
  },
}

const headersIn = ({ csrfHeader }: Surroundings): Json => ({
  ...Object.fromEntries(Object.entries(headersOfAll).map(([name, text]) => [name, schemaHeader(text)])),
  [csrfHeader]: schemaHeader('The value of a new CSRF pair, for the header X-XSRF-TOKEN.'),
  'Retry-After': schemaHeader('Seconds.', { type: 'integer', minimum: 0 }),
  'Set-Cookie': schemaHeader('The cookie of a new CSRF pair.'),
  'WWW-Authenticate': schemaHeader('The ways to log in.'),
  'X-Acting-As': schemaHeader('The eperson as whom the request was processed.', {
    type: 'string',
    format: 'uuid',
  }),
})

const schemesIn = ({ csrfCookie }: Surroundings): Json => ({
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'The token of a login, or an access token of a program.',
  },
  xAuthentication: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Authentication',
    description: 'The same token, as clients of PuppetDB send it.',
  },
  shortLivedToken: {
    type: 'apiKey',
    in: 'query',
    name: 'authentication-token',
    description: 'For addresses that are opened without headers. Valid for two seconds.',
  },
  csrfCookie: { type: 'apiKey', in: 'cookie', name: csrfCookie, description: 'Half of a CSRF pair.' },
  csrfHeader: {
    type: 'apiKey',
    in: 'header',
    name: 'X-XSRF-TOKEN',
    description: 'The other half: the same value.',
  },
})

const description = `A repository API: log in, get a token, page through records.

Every error is \`application/problem+json\`. Everything under \`/api\` also answers under \`/server/api\`, and HEAD wherever
GET does. An address that doesn't exist is 404, a method that an address doesn't have is 405 with \`Allow\`. Members that a
body doesn't name here are never sent.`
