import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  RouteOptions,
} from 'fastify'
import type { Grant, ScopeMethod } from '../model/access-tokens.ts'
import { type Caller, grantOf } from '../model/caller.ts'
import { type Access, methodNeeded, needsLogin, takesNoShortLived } from './access.ts'
import { type Query, tokenParameter } from './parameters.ts'
import { Problem } from './problems.ts'
import { ownLogin, requireAdministrator, requireCaller } from './require-caller.ts'

/**
 * The one guard of all routes that know their caller (docs/decisions/0067): it enforces the access that each route
 * states, before a byte of the body is read. What depends only on the route is decided when the route is registered.
 */
type Guard = (request: FastifyRequest) => void

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Enforces the route's access. A route without it is open to every caller and takes every body. */
    guard?: Guard | undefined
    /** Brings the caller up to date, and repeats the route's checks if they have changed. */
    lookAgain?: (request: FastifyRequest, reply: FastifyReply) => Promise<boolean>
  }
}

/**
 * Looks the caller up again after a handler has waited for a body that it reads itself, or for its turn
 * (docs/decisions/0056). A token that has only expired meanwhile is accepted: otherwise no long upload would end.
 * @throws Problem as the checks of the route do
 */
export async function lookAgain(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { lookAgain: look } = request.routeOptions.config
  if (!look) throw new Error('the route does not know its caller')
  await look(request, reply)
}

/** Makes every route of this scope, and of scopes inside it, enforce its access. Call it before routes are added. */
export function guardRoutes(app: FastifyInstance): void {
  app.addHook('onRoute', route => {
    const access = route.config?.access
    if (!access) throw new Error(`${route.method} ${route.url} doesn’t state who may use it`)
    const guard = guardOf(access, route.method === 'OPTIONS')
    route.config = { ...route.config, access, guard }
    // Hooks of a route run after those of its scopes, so the caller is known.
    if (guard) route.onRequest = [hookOf(guard), ...[route.onRequest ?? []].flat()]
  })
}

/** The hooks made here, which `hasOwnHooks` doesn't count. */
const made = new WeakSet<object>()

function hookOf(guard: Guard): onRequestHookHandler {
  const hook: onRequestHookHandler = (request, _reply, done) => {
    try {
      guard(request)
      done()
    } catch (error) {
      done(error as Error)
    }
  }
  made.add(hook)
  return hook
}

/** True if a route makes checks of its own before its handler, besides those of the guard. */
export const hasOwnHooks = ({ onRequest, preParsing, preHandler }: RouteOptions): boolean =>
  [onRequest, preParsing, preHandler].flat().some(hook => hook !== undefined && !made.has(hook))

/** @param isOptions the framework would read the body of OPTIONS, which has no meaning */
function guardOf(access: Access, isOptions: boolean): Guard | undefined {
  const refusesShortLived = takesNoShortLived(access)
  const ignoresBody = access.does === 'read' ? isOptions : access.body === 'ignored'
  const isForSome = needsLogin(access)
  if (!refusesShortLived && !ignoresBody && !isForSome) return undefined
  return request => {
    if (refusesShortLived) refuseShortLivedToken(request)
    if (isForSome) requireRight(access, request.caller)
    if (ignoresBody) ignoreBody(request)
  }
}

/**
 * Refuses a caller who may not use the route, whatever the token.
 * @throws Problem 401 or 403
 */
function requireRight({ who, onBehalf, to }: Access, caller: Caller): void {
  if (who === 'administrator') requireAdministrator(caller, to)
  if (onBehalf === 'refused') ownLogin(caller)
  else requireCaller(caller)
}

/** Refuses a short-lived token, even beside a bearer token (T10). */
function refuseShortLivedToken(request: FastifyRequest): void {
  if ((request.query as Query).values.has(tokenParameter))
    throw new Problem(
      'short-lived-token-refused',
      `This endpoint does not accept ?${tokenParameter}=; send a login token as Authorization: Bearer.`,
    )
}

/** Makes the framework see no body, whatever its type and form (O1). Node reads and discards it. */
function ignoreBody({ raw }: FastifyRequest): void {
  for (const name of ['content-type', 'content-length', 'transfer-encoding']) delete raw.headers[name]
}

/** @returns the reason for refusing the access token (K2); undefined if the token is for this request */
export function faultOfGrant(
  access: Access,
  { method, params }: { readonly method: string; readonly params: unknown },
  { scope }: Grant,
): string | undefined {
  if (access.tokens === 'ignored') return undefined
  const part = access.tokens.access
  if (part === 'none' || part === 'anonymous')
    return access.does === 'read'
      ? 'No access token can do this. Log in.'
      : 'No access token can change anything here. Log in.'
  if (part === 'any') return undefined
  const needed = methodNeeded(access, method)
  if (!scope.parts.includes(part)) return `It is not for the part ${part} of the API.`
  if (!scope.methods.includes(needed as ScopeMethod)) return `It is not for the method ${needed}.`
  if (!scope.entities || needed === 'GET') return undefined
  // Reading is decided where each query asks which entities the caller may read.
  const { entity } = params as { readonly entity?: string }
  return entity !== undefined && scope.entities.includes(entity) ? undefined : 'It is not for this entity.'
}

/** True if the caller may read at a route with this access; an answer that embeds another asks this. */
export function mayCall(caller: Caller, access: Access): boolean {
  const grant = grantOf(caller)
  if (grant && faultOfGrant(access, { method: 'GET', params: {} }, grant) !== undefined) return false
  if (!needsLogin(access)) return true
  try {
    requireRight(access, caller)
    return true
  } catch (error) {
    if (error instanceof Problem) return false
    throw error
  }
}
