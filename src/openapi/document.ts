import { type DescribedRoute, tags } from '../http/contract.ts'
import { version } from '../lib/version.ts'
import { Components, csrfName, type Json, Names, ProblemBody } from './components.ts'
import { type Operation, operationOf, parameters } from './operations.ts'
import { headersOfAll, type Surroundings } from './rules.ts'

/** OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.1), as far as it is used here. */
export interface OpenApi {
  readonly openapi: '3.1.1'
  readonly info: Json
  readonly servers: readonly Json[]
  readonly 'x-headers-of-every-answer': Readonly<Record<string, string>>
  readonly tags: readonly Json[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: Readonly<Record<string, Json>>
}

const schemaHeader = (description: string, schema: Json = { type: 'string' }): Json => ({
  description,
  schema,
})

export interface Taken {
  readonly operations: Names
  readonly schemas: Names
}

/** @returns the document of a service, without the parts that depend on the caller, and the names in it */
export async function describe(
  routes: readonly DescribedRoute[],
  surroundings: Surroundings,
): Promise<{ readonly document: OpenApi; readonly taken: Taken }> {
  const components = new Components()
  components.schema(ProblemBody)
  const taken: Taken = { operations: new Names(), schemas: new Names() }
  const paths: Record<string, Record<string, Operation>> = {}
  for (const route of routes) {
    const contract = await route.contract?.()
    if (!contract) continue
    const path = route.url.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] ??= {}
    const operationId = taken.operations.add(contract.operationId)
    const named = { ...contract, operationId }
    paths[path][route.method.toLowerCase()] = operationOf(route, named, surroundings, components)
  }
  for (const name of components.schemas.keys()) taken.schemas.add(name)
  const document: OpenApi = {
    openapi: '3.1.1',
    info: {
      title: 'Carrel',
      version,
      description: `${description}\n\n${howToAuthenticate(surroundings)}`,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    'x-headers-of-every-answer': headersOfAll,
    servers: [{ url: surroundings.baseUrl }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths: Object.fromEntries(Object.entries(paths).toSorted(([one], [other]) => (one < other ? -1 : 1))),
    components: {
      schemas: inOrder(components.schemas),
      responses: inOrder(components.responses),
      headers: Object.fromEntries(Object.entries(headers).filter(([name]) => components.headers.has(name))),
      parameters,
      securitySchemes: schemes,
    },
  }
  return { document, taken }
}

const inOrder = (map: ReadonlyMap<string, Json>) =>
  Object.fromEntries([...map].toSorted(([one], [other]) => (one < other ? -1 : 1)))

const headers: Json = {
  [csrfName]: schemaHeader('The value of a new CSRF pair, for the header X-XSRF-TOKEN.'),
  'Accept-Patch': schemaHeader('Media types of patches that are taken.'),
  Allow: schemaHeader('The methods that are allowed.'),
  'Content-Range': schemaHeader('The size of the file.'),
  ETag: schemaHeader('Of what is there now.'),
  'Retry-After': schemaHeader('Seconds.', { type: 'integer', minimum: 0 }),
  'Set-Cookie': schemaHeader('The cookie of a new CSRF pair.'),
  'Tus-Version': schemaHeader('The versions of tus that are taken.'),
  'WWW-Authenticate': schemaHeader('The ways to log in.'),
  'X-Acting-As': schemaHeader('The eperson as whom the request was processed.', {
    type: 'string',
    format: 'uuid',
  }),
}

const schemes: Json = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description:
      'The token of a login, or an access token of a program. X-Authentication takes it, too, as clients of PuppetDB send it.',
  },
  shortLivedToken: {
    type: 'apiKey',
    in: 'query',
    name: 'authentication-token',
    description: 'For addresses that are opened without headers. Valid for two seconds.',
  },
}

/** Tells writers and users of generated clients what no security scheme says. */
const howToAuthenticate = ({ csrfCookie }: Surroundings) =>
  `Generated clients get the token of a login as the bearer token alone, such as \`auth: () => token\` of hey-api. Operations that need a
CSRF pair take the value of \`GET /api/security/csrf\` twice: as the cookie \`${csrfCookie}\` and in the header \`X-XSRF-TOKEN\`. An interceptor
that adds both to every request is enough.`

const description = `A repository API: log in, get a token, page through records.

Every error is \`application/problem+json\`. Everything under \`/api\` also answers under \`/server/api\`, and HEAD wherever
GET does. An address that doesn't exist is 404, a method that an address doesn't have is 405 with \`Allow\`. Members that a
body doesn't name here are never sent. Headers that may come with every answer are in the member
\`x-headers-of-every-answer\` of this document.`
