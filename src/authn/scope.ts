import type { FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { Problem } from '../http/problems.ts'
import type { ApiPart, Grant, ScopeMethod } from '../model/access-tokens.ts'
import { type Caller, grantOf } from '../model/caller.ts'
import type { Measures } from '../model/measures.ts'

/**
 * A group of routes that access tokens may reach (K2, docs/decisions/0040), whatever their eperson may do.
 * This is decided here, before any route runs; a route that isn't in the table is never reached with an
 * access token.
 */
interface Place {
  /** Beginnings of route patterns, in whole segments. */
  readonly below: readonly string[]
  /** The part of the API that the token's scope must include; undefined if every token may read here. */
  readonly part?: ApiPart
  /** True if no access token may change anything here. */
  readonly readOnly?: true
}

const placesOf = ({ queryBase }: Pick<Config, 'queryBase'>): readonly Place[] => [
  // The first match counts: the query endpoints may be below any of the others.
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
  // Read-only: a token that could change an address, a password or the members of Administrator would give
  // all rights for good.
  { below: ['/api/eperson/epersons', '/api/eperson/groups'], part: 'people', readOnly: true },
  // The audit trail shows every eperson's actions and networks to all its readers, so it belongs to
  // administration.
  { below: ['/api/system/auditevents'], part: 'administration', readOnly: true },
  // Signing secrets, sessions, single sign-on and tokens: no access token may change them.
  {
    below: ['/api/admin/secret', '/api/admin/sessions', '/api/admin/sso', '/api/admin/tokens'],
    part: 'administration',
    readOnly: true,
  },
  { below: ['/api/admin', '/api/uploads', '/api/system/systemwidealerts'], part: 'administration' },
  { below: ['/api/system/processes', '/api/system/scripts'], part: 'processes' },
]

/** The root, which access tokens may read. It isn't in the table, because everything else is below it. */
const root = '/api'
/**
 * The address of logout, which always answers (O1). It concerns only logins, so an access token counts as
 * none there.
 */
export const logoutUrl = '/api/authn/logout'

const isBelow = (url: string, beginning: string) => url === beginning || url.startsWith(`${beginning}/`)

export type Scopes = ReturnType<typeof createScopes>

export function createScopes(config: Pick<Config, 'queryBase'>, measures: Pick<Measures, 'tokenRefused'>) {
  const places = placesOf(config)
  /** Places by route pattern. */
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

  /** @returns the reason for refusing the token; undefined if the token is for this request */
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
    // Reading is decided where each query asks which entities the caller may read.
    const { entity } = params as { readonly entity?: string }
    return entity !== undefined && scope.entities.includes(entity) ? undefined : 'It is not for this entity.'
  }

  return {
    /**
     * Checks that an access token is for this request.
     * @returns `verified`; undefined if the request counts as one without a token
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
    /** Returns true if the caller's token allows reading at addresses with this pattern. */
    reaches: (caller: Caller, pattern: string): boolean => {
      const grant = grantOf(caller)
      return grant === undefined || faultOf({ method: 'GET', pattern, params: {} }, grant) === undefined
    },
  }
}
