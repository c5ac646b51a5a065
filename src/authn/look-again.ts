import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../http/problems.ts'
import { RightsChanged } from '../lib/errors.ts'
import { type Acting, type Authenticated, type Caller, grantOf, sessionsOf } from '../model/caller.ts'
import { type FactorPolicy, lackOf } from '../model/factors.ts'
import type { Accounts } from '../model/people.ts'
import { isAlive, isAllowed } from '../model/sessions.ts'
import type { AccessTokens } from '../storage/statements/access-tokens.ts'
import type { Sessions } from '../storage/statements/sessions.ts'
import type { Clock } from '../storage/storage.ts'
import { callerOf } from './authenticate.ts'
import { ownSession } from './session-routes.ts'
import type { SpecialGroups } from './special-groups.ts'

interface Parts {
  readonly accessTokens: Pick<AccessTokens, 'find'>
  readonly config: FactorPolicy
  readonly people: Accounts
  readonly sessions: Sessions
  readonly clock: Clock
  readonly specialGroups: SpecialGroups
}

export interface LookAgain {
  /**
   * Brings `request.caller` up to date with the store, and repeats the checks of the route if the caller has changed.
   * @returns true if the caller has changed
   * @throws Problem as those checks do
   */
  afterWaiting(request: FastifyRequest, reply: FastifyReply): Promise<boolean>
  /** @returns true while the caller of a long answer may still see the rest of it */
  isStill(request: Pick<FastifyRequest, 'caller' | 'ip'>): Promise<boolean>
  /**
   * Makes every route of this scope, and of scopes inside it, look the caller up again. Call it before routes
   * are added.
   */
  guard(app: FastifyInstance): void
}

/** Maximum number of times that a handler runs if the caller's rights change while it runs. */
const attempts = 3

function createLookUp({ accessTokens, config, people, sessions, specialGroups }: Parts) {
  /** True if nothing about the caller has changed. Requests of the same turn of the event loop share the look-up. */
  async function isAsBefore(caller: Caller): Promise<boolean> {
    if (caller.kind === 'anonymous') return caller.specialGroups.length === 0
    const involved = sessionsOf(caller)
    const stamps = await Promise.all(involved.map(({ eperson }) => sessions.stampOf(eperson.uuid)))
    return involved.every(({ stamp }, at) => stamps[at] === stamp) && isLetIn(caller)
  }

  /**
   * True unless a system-wide alert keeps the caller out. An administrator who acts on behalf of an eperson
   * counts as an administrator.
   */
  const isLetIn = (caller: Authenticated | Acting) =>
    isAllowed(
      sessions.allowed(),
      caller.kind === 'acting' ? { session: caller.actor } : { session: caller.session, lacks: caller.lacks },
    )

  /** Looks the caller up in the store, without the token. */
  async function current(request: FastifyRequest): Promise<Caller> {
    const { caller } = request
    const ipGroups = await specialGroups.ofAddress(request.ip)
    const nobody = { kind: 'anonymous', specialGroups: ipGroups } as const
    if (caller.kind === 'anonymous') return nobody
    const session = await sessions.of(caller.session.eperson.uuid)
    if (!session) return nobody
    const { method, proved, sg, begun, ends } = caller
    const grant = grantOf(caller)
    const began = { method, ...(proved && { proved }) }
    const lacks = grant || caller.kind === 'acting' ? undefined : lackOf(config, { session, ...began })
    const known = {
      session,
      ...began,
      sg,
      begun,
      ends,
      ...(grant && { grant }),
      ...(lacks && { lacks }),
    }
    if (caller.kind === 'acting') {
      const actor = await sessions.of(caller.actor.eperson.uuid)
      const isActor = actor?.administrator === true && isStillAlive(actor, caller.actor, caller.begun)
      // B2: administrators can't be acted on behalf of.
      if (!isActor || session.administrator || lackOf(config, { session: actor, ...began })) return nobody
      return letIn(await callerOf(people, { ...known, acting: { actor, reason: caller.reason } }, ipGroups))
    }
    const isThere = grant
      ? (await accessTokens.find(grant.id)) !== undefined
      : isStillAlive(session, caller.session, caller.begun)
    if (isThere && lacks && config.secondFactor === 'everybody') return { ...nobody, lacks }
    return isThere ? letIn(await callerOf(people, known, ipGroups)) : nobody

    function letIn(one: Authenticated | Acting): Caller {
      return isLetIn(one) ? one : nobody
    }
  }

  return { isAsBefore, current }
}

/**
 * Looks callers up again. The caller is identified from the head of a request; the body may arrive much later, and
 * meanwhile the session may have ended, or a right may have been taken away. So the caller is looked up again when the
 * body is complete (T12, docs/decisions/0056), and once more in the transaction of each change (the step `rights`).
 */
export function createLookAgain(parts: Parts): LookAgain {
  const { clock, specialGroups } = parts
  const { isAsBefore, current } = createLookUp(parts)
  const hasExpired = (caller: Caller) => caller.kind !== 'anonymous' && clock.afterLookUp() >= caller.ends

  async function bringUpToDate(request: FastifyRequest, reply: FastifyReply, caller: Caller): Promise<void> {
    request.caller = caller
    if (caller.kind !== 'acting') reply.removeHeader('x-acting-as')
    const { checks, guard } = request.routeOptions.config
    guard?.(request)
    for (const check of checks?.() ?? []) await check(request, reply)
  }

  async function afterWaiting(request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
    const { caller } = request
    const isSame = await isAsBefore(caller)
    // Checked after the look-up, which shows how far time has advanced elsewhere.
    if (caller.kind === 'anonymous' || !hasExpired(caller)) return isSame ? false : update(request, reply)
    // Otherwise the token would be valid again if the clock is set back (T11).
    await clock.keep(caller.ends)
    const ipGroups = await specialGroups.ofAddress(request.ip)
    await bringUpToDate(request, reply, { kind: 'anonymous', specialGroups: ipGroups })
    return true
  }

  async function thoughExpired(request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
    return (await isAsBefore(request.caller)) ? false : update(request, reply)
  }

  async function update(request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
    await bringUpToDate(request, reply, await current(request))
    return true
  }

  return {
    afterWaiting,
    isStill: async ({ caller, ip }) => {
      if (caller.kind === 'anonymous' && caller.specialGroups.length > 0)
        return JSON.stringify(await specialGroups.ofAddress(ip)) === JSON.stringify(caller.specialGroups)
      return (await isAsBefore(caller)) && !hasExpired(caller)
    },
    guard: app => {
      app.addHook('onRoute', route => {
        // Evaluated when needed: scopes inside add their own checks to the route.
        const checks = () => [route.preParsing ?? []].flat() as unknown as readonly Check[]
        route.config = { ...route.config, checks, lookAgain: thoughExpired }
        if (route.method === 'GET' || route.method === 'HEAD') return
        const { handler } = route
        route.handler = async function (request, reply) {
          for (let attempt = 1; ; attempt++)
            try {
              return await handler.call(this, request, reply)
            } catch (error) {
              if (!(error instanceof RightsChanged)) throw error
              // A body that the handler has read from the connection can't be read again.
              const canRepeat = Buffer.isBuffer(request.body) || !request.raw.readableDidRead
              if (attempt === attempts || !canRepeat) throw rightsChanged()
              await bringUpToDate(request, reply, await current(request))
            }
        }
      })
      app.addHook('preValidation', (request, reply, done) => {
        if (request.body === undefined) done()
        else afterWaiting(request, reply).then(() => done(), done)
      })
    },
  }
}

/** A hook that runs before the body is read. No such hook uses `this` or the body. */
type Check = (request: FastifyRequest, reply: FastifyReply) => Promise<void>

/** True unless the session has been ended (T4, T6, N2). @param before the session as it was verified */
const isStillAlive = (now: Authenticated['session'], before: Authenticated['session'], begun: number) =>
  isAlive(now, ownSession({ session: before, begun }))

const rightsChanged = () =>
  new Problem(
    'busy',
    'Your session or your groups changed while this request was being carried out. Repeat it.',
    { headers: { 'retry-after': '1' } },
  )

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The checks that the route makes before it reads the body. */
    checks?: () => readonly Check[]
  }
}
