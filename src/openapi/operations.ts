import { type Access, needsCsrf, needsLogin, takenBody } from '../http/access.ts'
import type { Answer, Contract, DescribedContract, DescribedRoute, Parameter } from '../http/contract.ts'
import { problems } from '../http/problems.ts'
import { isOptional } from '../http/schema.ts'
import { type Components, csrfName, type Json } from './components.ts'
import { issuesCsrf, problemsOf, type Surroundings } from './rules.ts'

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly string[]
  readonly parameters?: readonly Json[]
  readonly requestBody?: Json
  readonly responses: Readonly<Record<string, Json>>
  readonly security: readonly Json[]
  readonly 'x-access': Access
}

export function operationOf(
  route: DescribedRoute,
  contract: DescribedContract,
  surroundings: Surroundings,
  components: Components,
): Operation {
  const { operationId, summary, tag, body } = contract
  const given = parametersOf(route, contract, components)
  return {
    operationId,
    summary,
    description: descriptionOf(route, contract),
    tags: [tag],
    ...(given.length === 0 ? {} : { parameters: given }),
    ...(body && {
      requestBody: {
        required: takenBody(route.access)?.optional !== true,
        content: contentOf(body, components),
      },
    }),
    responses: responsesOf(route, contract, surroundings, components),
    security: securityOf(route, contract),
    'x-access': route.access,
  }
}

/** The operation's own description, followed by who may use it. */
function descriptionOf(route: DescribedRoute, { description, needs }: Contract): string {
  const who =
    route.access.who === 'administrator'
      ? 'For administrators; others get 401 or 403.'
      : needsLogin(route.access)
        ? 'For those who are logged in; others get 401.'
        : route.knowsCaller
          ? 'For everybody, within the rights that they have.'
          : 'For everybody, logged in or not.'
  return [
    ...(description === undefined ? [] : [description]),
    who,
    ...(needs === undefined ? [] : [`There only if ${needs} is configured; otherwise 404.`]),
    ...(needsCsrf(route.access) ? ['Needs a CSRF pair.'] : []),
  ].join(' ')
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
    ...[...(route.knowsCaller ? ofCallers : []), ...(route.embeds ? ofEmbeds : [])].map(name => ({
      $ref: `#/components/parameters/${name}`,
    })),
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
  const codes = [...problemsOf(route, contract)]
  const refused = Map.groupBy(codes, code => problems[code].status)
  const common = [
    ...(issuesCsrf(route, surroundings) ? [csrfName, 'Set-Cookie'] : []),
    ...(route.knowsCaller ? ['X-Acting-As'] : []),
  ].map(name => [name === csrfName ? surroundings.csrfHeader : name, components.header(name)] as const)
  const answered = Object.entries(contract.answers).map(([status, { description, headers = {}, body }]) => {
    const own = Object.entries(headers).map(
      ([name, schema]) =>
        [
          name === csrfName ? surroundings.csrfHeader : name,
          { ...(isOptional(schema) ? {} : { required: true }), schema: components.schema(schema) },
        ] as const,
    )
    const all = Object.fromEntries([...common, ...own])
    const [first, ...others] = Object.entries(body ?? {})
    const forms = others.map(([type]) => type).join(' or ')
    return [
      status,
      {
        description: forms === '' ? description : `${description} Also as ${forms}.`,
        ...(Object.keys(all).length === 0 ? {} : { headers: all }),
        // Generators take an answer of several types for a stream, or for a text.
        ...(first && { content: contentOf(Object.fromEntries([first]), components) }),
        ...(forms !== '' && { 'x-other-content': contentOf(Object.fromEntries(others), components) }),
      },
    ] as const
  })
  return Object.fromEntries([
    ...answered,
    ...(answered.some(([status]) => status.startsWith('2')) ? [] : [['default', otherwise] as const]),
    ...[...refused].map(
      ([status, some]) =>
        [String(status), components.problem(some, route.isPage, surroundings.csrfHeader)] as const,
    ),
  ])
}

/** The answer of a route that only redirects, or only says what Carrel doesn't have. */
const otherwise: Json = {
  description: 'A problem.',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
}

/**
 * The ways to authenticate. Generators send a token by every way that is listed, so an address has none twice: those that
 * answer with other content than JSON are opened without headers, and have the short-lived token besides.
 */
function securityOf(route: DescribedRoute, { answers }: Contract): readonly Json[] {
  const isOpened = Object.values(answers).some(({ body }) => body !== undefined && '*/*' in body)
  const names = ['bearer', ...(isOpened ? ['shortLivedToken'] : [])]
  const known = route.knowsCaller ? names.map(name => ({ [name]: [] })) : []
  return needsLogin(route.access) ? known : [{}, ...known]
}

const ofCallers = ['OnBehalfOf', 'OnBehalfOfReason']
const ofEmbeds = ['Embed', 'EmbedSize']

export const parameters: Readonly<Record<string, Json>> = {
  Embed: {
    name: 'embed',
    in: 'query',
    description:
      'A link of the resource, or of each in a list, whose answer is to be in `_embedded`; more with slashes.',
    schema: { type: 'array', items: { type: 'string' } },
    example: ['bundles/bitstreams'],
  },
  EmbedSize: {
    name: 'embed.size',
    in: 'query',
    description: 'The elements of an embedded list: its path, `=` and their number.',
    schema: { type: 'array', items: { type: 'string' } },
    example: ['bundles/bitstreams=5'],
  },

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
