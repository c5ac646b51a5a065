import type { FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { Problem } from '../http/problems.ts'
import type { ApiPart, Grant, ScopeMethod } from '../model/access-tokens.ts'
import { type Caller, grantOf } from '../model/caller.ts'
import type { Measures } from '../model/measures.ts'

/**
 * What access tokens reach (K2, docs/decisions/0040), whatever their eperson may do: decided here and before any route
 * runs. A route that isn't in this table is never reached by one.
 */
interface Place {
  /** Beginnings of the patterns of routes, whole segments. */
  readonly below: readonly string[]
  /** undefined: every token may read here. */
  readonly part?: ApiPart
  /** Nothing is changed here by any access token. */
  readonly readOnly?: true
}

const placesOf = ({ queryBase }: Pick<Config, 'queryBase'>): readonly Place[] => [
  // In this order: the query endpoints may be below any of the others.
  { below: [queryBase], part: 'query' },
  {
    below: [
      '/api/problems',
      '/api/openapi.json',
      '/api/docs',
      '/api/security/csrf',
      '/api/authn/status',
      '/api/core/sites',
      '/status/v1',
      '/metrics/v2',
    ],
    readOnly: true,
  },
  { below: [`${queryBase.replace(/\/query\/v4$/, '')}/meta/v1`], readOnly: true },
  { below: ['/api/core', '/api/authz/resourcepolicies', '/api/dso', '/api/pid'], part: 'items' },
  // Who can change an address, a password or the members of Administrator has all rights, for ever.
  { below: ['/api/eperson/epersons', '/api/eperson/groups'], part: 'people', readOnly: true },
  // Who did what from where is the business of administrators, and the same for everybody on every page.
  { below: ['/api/system/auditevents'], part: 'administration', readOnly: true },
  // Whose tokens end, and what they are signed with.
  {
    below: ['/api/admin/secret', '/api/admin/sessions', '/api/admin/sso', '/api/admin/tokens'],
    part: 'administration',
    readOnly: true,
  },
  { below: ['/api/admin', '/api/uploads', '/api/system/systemwidealerts'], part: 'administration' },
  { below: ['/api/system/processes', '/api/system/scripts'], part: 'processes' },
]

/** The one place below which there is everything else. */
const root = '/api'
/** Always answers, and is only about those who have logged in (O1). */
export const logoutUrl = '/api/authn/logout'

const isBelow = (url: string, beginning: string) => url === beginning || url.startsWith(`${beginning}/`)

export type Scopes = ReturnType<typeof createScopes>

export function createScopes(config: Pick<Config, 'queryBase'>, measures: Pick<Measures, 'tokenRefused'>) {
  const places = placesOf(config)
  /** Of each pattern, once. */
  const known = new Map<string, Place | undefined>()
  function placeOf(url: string): Place | undefined {
    if (url === root || url === `${root}/`) return { below: [root], readOnly: true }
    if (!known.has(url))
      known.set(
        url,
        places.find(({ below }) => below.some(beginning => isBelow(url, beginning))),
      )
    return known.get(url)
  }

  /** @returns why not; undefined if the token is for this */
  function faultOf(
    { method, pattern, params }: { method: string; pattern: string; params: unknown },
    { scope }: Grant,
  ): string | undefined {
    const place = placeOf(pattern)
    if (!place) return 'No access token can do this. Log in.'
    const isQuestion = place.part === 'query' && method === 'POST'
    const needed = method === 'HEAD' || isQuestion ? 'GET' : method
    if (place.readOnly && needed !== 'GET') return 'No access token can change anything here. Log in.'
    if (!place.part) return undefined
    if (!scope.parts.includes(place.part)) return `It is not for the part ${place.part} of the API.`
    if (!scope.methods.includes(needed as ScopeMethod)) return `It is not for the method ${needed}.`
    if (!scope.entities || needed === 'GET') return undefined
    // What is read is decided where each query asks which entities the caller may read.
    const { entity } = params as { readonly entity?: string }
    return entity !== undefined && scope.entities.includes(entity) ? undefined : 'It is not for this entity.'
  }

  return {
    /**
     * @returns what was verified; undefined where the request counts as one without a token
     * @throws Problem 403 if the token isn't for this request
     */
    admit: <T>(request: FastifyRequest, grant: Grant, verified: T): T | undefined => {
      if (request.routeOptions.url === logoutUrl) return undefined
      const { method, params, routeOptions } = request
      const fault =
        request.headers['x-on-behalf-of'] === undefined
          ? faultOf({ method, params, pattern: routeOptions.url ?? '' }, grant)
          : 'No access token acts on behalf of somebody.'
      if (fault === undefined) return verified
      measures.tokenRefused('access', 'scope')
      throw new Problem('access-token-refused', `This access token can’t be used for this request. ${fault}`)
    },
    /** Says whether the caller may read at addresses with this pattern, as far as their token decides it. */
    reaches: (caller: Caller, pattern: string): boolean => {
      const grant = grantOf(caller)
      return grant === undefined || faultOf({ method: 'GET', pattern, params: {} }, grant) === undefined
    },
  }
}
