import type { FastifyReply, FastifyRequest } from 'fastify'
import { faultOfGrant } from '../http/guard.ts'
import { type Query, tokenParameter } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { countHeader } from '../http/refuse-malformed.ts'
import { clientAddress } from '../lib/addresses.ts'
import { type Awaitable, andThen } from '../lib/awaitable.ts'
import { type Grant, isAccessToken } from '../model/access-tokens.ts'
import type { Acting, Authenticated, Caller } from '../model/caller.ts'
import type { FactorPolicy } from '../model/factors.ts'
import type { Measures } from '../model/measures.ts'
import type { Accounts } from '../model/people.ts'
import { isAllowed } from '../model/sessions.ts'
import type { Sessions } from '../storage/statements/sessions.ts'
import type { OnBehalfOf } from './on-behalf-of.ts'
import { type SpecialGroups, withoutRepeats } from './special-groups.ts'
import type { Tokens, Verified } from './tokens.ts'
import type { VerifyAccessToken } from './verify-access-token.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The sender of the request; set before the handler of every route in the scope that authenticates. */
    caller: Caller
  }
  interface FastifyContextConfig {
    /** True if the header Authorization may be a short-lived token without a scheme. */
    takesBareToken?: boolean
    /** True if the route ends the session, so that an alert keeps no token out (T4). */
    endsSession?: boolean
    /** True if the route itself says what a session lacks that everybody must have (L17). */
    refreshes?: boolean
  }
}

interface Parts extends Verifying {
  readonly config: Pick<FactorPolicy, 'secondFactor'>
  readonly people: Accounts
  readonly sessions: Sessions
  readonly measures: Pick<Measures, 'tokenRefused'>
  readonly specialGroups: SpecialGroups
  readonly onBehalfOf: OnBehalfOf
}

interface Verifying {
  readonly tokens: Tokens
  readonly verifyAccessToken: VerifyAccessToken
}

/** @returns a hook that sets `request.caller`; without a valid token, the caller is anonymous, which is no error */
export function authenticate({ config, people, sessions, measures, ...parts }: Parts) {
  const { specialGroups, onBehalfOf, ...verifying } = parts
  /**
   * True if a system-wide alert keeps the token out. A logout still ends the session: its token must not be
   * valid again when the alert is gone (T4).
   */
  function isKeptOut(verified: Verified, { routeOptions }: FastifyRequest): boolean {
    if (isAllowed(sessions.allowed(), verified) || routeOptions.config.endsSession) return false
    measures.tokenRefused(verified.grant ? 'access' : 'login', 'alert')
    return true
  }
  /**
   * @returns `verified`; undefined if an access token counts as none on this route
   * @throws Problem 403 if the access token isn't for this request (K2)
   */
  function admittedProgram<T>(request: FastifyRequest, grant: Grant, verified: T): T | undefined {
    const { access } = request.routeOptions.config
    if (!access || (access.tokens !== 'ignored' && access.tokens.access === 'anonymous')) return undefined
    const fault =
      request.headers['x-on-behalf-of'] === undefined
        ? faultOfGrant(access, request, grant)
        : 'No access token acts on behalf of another user.'
    if (fault === undefined) return verified
    measures.tokenRefused('access', 'scope')
    throw new Problem('access-token-refused', `This access token can’t be used for this request. ${fault}`)
  }
  function callerOfToken(
    request: FastifyRequest,
    reply: FastifyReply,
    found: Verified | undefined,
    ipGroups: Caller['specialGroups'],
  ): Awaitable<Caller> {
    const admitted = found?.grant ? admittedProgram(request, found.grant, found) : found
    const verified = admitted && isKeptOut(admitted, request) ? undefined : admitted
    const lacks = verified && missesAll(config, verified, request) ? verified.lacks : undefined
    const caller: Awaitable<Caller> =
      verified && !lacks
        ? callerOf(people, verified, ipGroups)
        : ipGroups.length === 0 && !lacks
          ? nobody
          : { kind: 'anonymous', specialGroups: ipGroups, ...(lacks && { lacks }) }
    if (request.headers['x-on-behalf-of'] === undefined && !(caller instanceof Promise))
      return caller.kind === 'acting' ? shown(caller, reply) : caller
    return onBehalf(request, reply, caller, ipGroups)
  }

  async function onBehalf(
    request: FastifyRequest,
    reply: FastifyReply,
    caller: Awaitable<Caller>,
    ipGroups: Caller['specialGroups'],
  ): Promise<Caller> {
    const own = shown(await caller, reply)
    return request.headers['x-on-behalf-of'] === undefined ? own : onBehalfOf(own, ipGroups, request, reply)
  }

  // Most tokens are verified without waiting: then the request goes on without a turn of the microtasks.
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    // Both run at the same time: if the store has to be asked, one look-up answers both.
    const groups = specialGroups.ofAddress(request.ip)
    const found = verifiedToken(verifying, request)
    const caller =
      groups instanceof Promise || found instanceof Promise
        ? Promise.all([groups, found]).then(([ipGroups, one]) => callerOfToken(request, reply, one, ipGroups))
        : callerOfToken(request, reply, found, groups)
    const goOn = (one: Caller) => {
      request.caller = one
      done()
    }
    if (caller instanceof Promise) caller.then(goOn, done)
    else goOn(caller)
  }
}

/** True if the session lacks what is demanded of everybody: its caller is then anonymous (L17). */
const missesAll = (
  { secondFactor }: Pick<FactorPolicy, 'secondFactor'>,
  { lacks }: Pick<Verified, 'lacks'>,
  { routeOptions }: FastifyRequest,
): boolean =>
  lacks !== undefined &&
  secondFactor === 'everybody' &&
  !routeOptions.config.endsSession &&
  !routeOptions.config.refreshes

const nobody: Caller = { kind: 'anonymous', specialGroups: [] }

/** Tells the client for whom an administrator acts, if any. */
function shown(caller: Caller, reply: FastifyReply): Caller {
  if (caller.kind === 'acting') reply.header('x-acting-as', caller.session.eperson.uuid)
  return caller
}

/** Verifies the token of a request. An Authorization header takes precedence, even if it is not valid (T10). */
function verifiedToken(
  { tokens, verifyAccessToken }: Verifying,
  request: FastifyRequest,
): Awaitable<Verified | undefined> {
  const verify = (token: string) =>
    isAccessToken(token) ? verifyAccessToken(token, clientAddress(request.ip)) : tokens.verify('login', token)
  if (request.headers.authorization !== undefined) {
    const bare = request.routeOptions.config.takesBareToken ? bareToken(request) : undefined
    if (bare !== undefined) return tokens.verify('short-lived', bare)
    return verify(bearerToken(request) ?? '')
  }
  // PuppetDB's clients send their token in X-Authentication (Q24). A header that is sent twice counts as no
  // token.
  const given = request.headers['x-authentication']
  if (given !== undefined)
    return countHeader(request.raw, 'x-authentication') === 1 ? verify(String(given)) : undefined
  const [token, ...more] = (request.query as Query).values.get(tokenParameter) ?? []
  return token === undefined || more.length > 0 ? undefined : tokens.verify('short-lived', token)
}

/**
 * Reads a bearer token (RFC 6750 §2.1); the scheme may be in any case (RFC 9110 §11.1). Two headers count as none (T9).
 */
function bearerToken(request: FastifyRequest): string | undefined {
  if (countHeader(request.raw, 'authorization') !== 1) return undefined
  const { authorization = '' } = request.headers
  // The usual form is cut off instead of matched: a token is compared with the one that was issued in any case.
  if (authorization.startsWith(usualScheme) && !authorization.includes(' ', usualScheme.length))
    return authorization.slice(usualScheme.length)
  return /^bearer +([A-Za-z0-9._~+/=-]+)$/i.exec(authorization)?.[1]
}

const usualScheme = 'Bearer '

/**
 * Reads a token without a scheme: DSpace's Python client sends a short-lived token for a download like this.
 * On the routes that accept it, it can only be a short-lived token (docs/decisions/0013).
 */
function bareToken(request: FastifyRequest): string | undefined {
  if (countHeader(request.raw, 'authorization') !== 1) return undefined
  return /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/.exec(request.headers.authorization ?? '')?.[0]
}

/**
 * Callers without their address's groups, cached for each verified token: clients send the same token again and again.
 */
const withoutAddress = new WeakMap<Verified, Authenticated>()

export function authenticated(
  people: Accounts,
  verified: Verified,
  ipGroups: Caller['specialGroups'],
): Awaitable<Authenticated> {
  const known = withoutAddress.get(verified)
  if (known) return ipGroups.length === 0 ? known : withAddress(known, ipGroups)
  return firstCaller(people, verified).then(caller => withAddress(caller, ipGroups))
}

async function firstCaller(people: Accounts, verified: Verified): Promise<Authenticated> {
  const specialGroups = verified.sg.length === 0 ? [] : await people.groupsByUuid(verified.sg)
  const caller: Authenticated = { kind: 'eperson', ...verified, specialGroups }
  withoutAddress.set(verified, caller)
  return caller
}

const withAddress = (caller: Authenticated, ipGroups: Caller['specialGroups']): Authenticated =>
  ipGroups.length === 0
    ? caller
    : { ...caller, specialGroups: withoutRepeats([...caller.specialGroups, ...ipGroups]) }

/** The eperson of a token, and the administrator who acts on their behalf, if any. */
export function callerOf(
  people: Accounts,
  verified: Verified,
  ipGroups: Caller['specialGroups'],
): Awaitable<Authenticated | Acting> {
  const caller = authenticated(people, verified, ipGroups)
  const { acting } = verified
  if (!acting) return caller
  const by = (one: Authenticated): Acting => ({ ...one, ...acting, kind: 'acting' })
  return andThen(caller, by)
}
