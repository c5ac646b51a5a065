import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Query, tokenParameter } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { countHeader } from '../http/refuse-malformed.ts'
import type { Acting, Authenticated, Caller } from '../model/caller.ts'
import type { Accounts } from '../storage/accounts.ts'
import type { OnBehalfOf } from './on-behalf-of.ts'
import { clientAddress, type SpecialGroups, withoutRepeats } from './special-groups.ts'
import type { Tokens, Verified } from './tokens.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is asking; set before the handler of every route inside of the scope that authenticates. */
    caller: Caller
  }
  interface FastifyContextConfig {
    /** Authorization may hold a short-lived token without a scheme. */
    takesBareToken?: boolean
  }
}

interface Parts {
  readonly accounts: Accounts
  readonly tokens: Tokens
  readonly specialGroups: SpecialGroups
  readonly onBehalfOf: OnBehalfOf
}

/** @returns a hook that sets `request.caller`; no valid token means anonymous, not an error */
export function authenticate({ accounts, tokens, specialGroups, onBehalfOf }: Parts) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const ipGroups = specialGroups.ofAddress(clientAddress(request.ip))
    const verified = await verifiedToken(tokens, request)
    const caller: Caller = verified
      ? await callerOf(accounts, verified, ipGroups)
      : ipGroups.length === 0
        ? nobody
        : { kind: 'anonymous', specialGroups: ipGroups }
    if (caller.kind === 'acting') reply.header('x-acting-as', caller.session.eperson.uuid)
    request.caller =
      request.headers['x-on-behalf-of'] === undefined
        ? caller
        : await onBehalfOf(caller, ipGroups, request, reply)
  }
}

const nobody: Caller = { kind: 'anonymous', specialGroups: [] }

/** The header decides where there is one, even if it is no good (T10). */
function verifiedToken(tokens: Tokens, request: FastifyRequest) {
  if (request.headers.authorization !== undefined) {
    const bare = request.routeOptions.config.takesBareToken ? bareToken(request) : undefined
    if (bare !== undefined) return tokens.verify('short-lived', bare)
    const token = bearerToken(request)
    return token === undefined ? undefined : tokens.verify('login', token)
  }
  const [token, ...more] = (request.query as Query).values.get(tokenParameter) ?? []
  return token === undefined || more.length > 0 ? undefined : tokens.verify('short-lived', token)
}

/** RFC 6750 §2.1; the scheme in any case (RFC 9110 §11.1). Two headers are none (T9). */
export function bearerToken(request: FastifyRequest): string | undefined {
  if (countHeader(request.raw, 'authorization') !== 1) return undefined
  return /^bearer +([A-Za-z0-9._~+/=-]+)$/i.exec(request.headers.authorization ?? '')?.[1]
}

/**
 * A token without a scheme in front of it: so DSpace's Python client sends a short-lived token for a download. On routes
 * that take it, it is one and nothing else (docs/decisions/0013).
 */
function bareToken(request: FastifyRequest): string | undefined {
  if (countHeader(request.raw, 'authorization') !== 1) return undefined
  return /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/.exec(request.headers.authorization ?? '')?.[0]
}

/** Remembered with the token it came from: the same token asks again and again. */
const withoutAddress = new WeakMap<Verified, Authenticated>()

export async function authenticated(
  accounts: Accounts,
  verified: Verified,
  ipGroups: Caller['specialGroups'],
): Promise<Authenticated> {
  let caller = withoutAddress.get(verified)
  if (!caller) {
    const specialGroups = verified.sg.length === 0 ? [] : await accounts.groupsByUuid(verified.sg)
    caller = { kind: 'eperson', ...verified, specialGroups }
    withoutAddress.set(verified, caller)
  }
  if (ipGroups.length === 0) return caller
  return { ...caller, specialGroups: withoutRepeats([...caller.specialGroups, ...ipGroups]) }
}

/** Whoever a token stands for, and who acts as them, where somebody does. */
export async function callerOf(
  accounts: Accounts,
  verified: Verified,
  ipGroups: Caller['specialGroups'],
): Promise<Authenticated | Acting> {
  const caller = await authenticated(accounts, verified, ipGroups)
  return verified.acting ? { ...caller, ...verified.acting, kind: 'acting' } : caller
}

/** Logging in and making short-lived tokens is not open to a short-lived token, whatever else comes along (T10). */
export async function refuseShortLivedToken(request: FastifyRequest): Promise<void> {
  if ((request.query as Query).values.has(tokenParameter))
    throw new Problem(
      'short-lived-token-refused',
      `?${tokenParameter}= is refused here; send Authorization: Bearer.`,
    )
}
