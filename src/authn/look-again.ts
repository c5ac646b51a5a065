import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../http/problems.ts'
import { clientAddress } from '../lib/addresses.ts'
import type { Awaitable } from '../lib/awaitable.ts'
import { type Acting, type Authenticated, type Caller, grantOf, sessionsOf } from '../model/caller.ts'
import { RightsChanged } from '../model/errors.ts'
import { isAlive, isAllowed } from '../model/sessions.ts'
import type { AccessTokens } from '../storage/access-tokens.ts'
import type { Accounts } from '../storage/accounts.ts'
import type { Clock } from '../storage/clock.ts'
import { callerOf } from './authenticate.ts'
import { ownSession } from './session-routes.ts'
import type { SpecialGroups } from './special-groups.ts'

interface Parts {
  readonly accessTokens: Pick<AccessTokens, 'find'>
  readonly accounts: Accounts
  readonly clock: Clock
  readonly specialGroups: SpecialGroups
}

export interface LookAgain {
  /**
   * Brings `request.caller` up to date with the store, and repeats the checks of the route if anything has changed.
   * @returns whether it has
   * @throws Problem as those checks do
   */
  afterWaiting(request: FastifyRequest, reply: FastifyReply): Promise<boolean>
  /** The same where a token counts that has only expired since the request began, or no long upload would ever end. */
  thoughExpired(request: FastifyRequest, reply: FastifyReply): Promise<boolean>
  /** @returns whether the caller of a long answer may still be shown what comes next */
  isStill(caller: Caller): Promise<boolean>
  /** Makes every route of this scope, and of those in it, look again. To be called before routes are added. */
  guard(app: FastifyInstance): void
}

/** How often a handler runs whose change met other rights than those that it began with. */
const attempts = 3

/** Adds a check of the caller to every route of a scope. To be called before routes are added. */
export function checkEach(app: FastifyInstance, check: Check): void {
  app.addHook('onRoute', route => {
    route.preParsing = [check, ...[route.preParsing ?? []].flat()]
  })
}

/**
 * Who sends a request is known when its head has come. Its body may come much later, and meanwhile a session may have
 * ended, or a right may have been taken away. So the caller is looked up again when the whole body is there (T12,
 * docs/decisions/0056), and once more in the transaction of each change (`requireRights` in the engines).
 */
export function createLookAgain({ accessTokens, accounts, clock, specialGroups }: Parts): LookAgain {
  /** What tells whether anything about the caller has changed: a look-up that the requests of a turn share. */
  function isAsBefore(caller: Caller): Awaitable<boolean> {
    if (caller.kind === 'anonymous') return caller.specialGroups.length === 0
    const sessions = sessionsOf(caller)
    const stamps = sessions.map(({ eperson }) => accounts.stampOf(eperson.uuid))
    const isSame = (now: readonly (number | undefined)[]) =>
      now.every((stamp, at) => stamp === sessions[at]?.stamp) && isLetIn(caller)
    return stamps.some(stamp => stamp instanceof Promise)
      ? Promise.all(stamps).then(isSame)
      : isSame(stamps as readonly (number | undefined)[])
  }

  /** True unless a system-wide alert keeps the caller out. Administrators who act are themselves. */
  const isLetIn = (caller: Authenticated | Acting) =>
    isAllowed(accounts.allowedSessions(), {
      session: caller.kind === 'acting' ? caller.actor : caller.session,
    })

  const hasExpired = (caller: Caller) => caller.kind !== 'anonymous' && clock.now() >= caller.ends

  /** Who they are now. */
  async function current(request: FastifyRequest): Promise<Caller> {
    const { caller } = request
    const ipGroups = await specialGroups.ofAddress(clientAddress(request.ip))
    const nobody = { kind: 'anonymous', specialGroups: ipGroups } as const
    if (caller.kind === 'anonymous') return nobody
    const session = await accounts.session(caller.session.eperson.uuid)
    if (!session) return nobody
    const { method, sg, begun, ends } = caller
    const grant = grantOf(caller)
    const known = { session, method, sg, begun, ends, ...(grant && { grant }) }
    if (caller.kind === 'acting') {
      const actor = await accounts.session(caller.actor.eperson.uuid)
      const isActor = actor?.administrator === true && isStillAlive(actor, caller.actor, caller.begun)
      // B2: nobody acts on behalf of an administrator.
      if (!isActor || session.administrator) return nobody
      return letIn(await callerOf(accounts, { ...known, acting: { actor, reason: caller.reason } }, ipGroups))
    }
    const isThere = grant
      ? (await accessTokens.find(grant.id)) !== undefined
      : isStillAlive(session, caller.session, caller.begun)
    return isThere ? letIn(await callerOf(accounts, known, ipGroups)) : nobody

    function letIn(one: Authenticated | Acting): Caller {
      return isLetIn(one) ? one : nobody
    }
  }

  async function bringUpToDate(request: FastifyRequest, reply: FastifyReply, caller: Caller): Promise<void> {
    request.caller = caller
    if (caller.kind !== 'acting') reply.removeHeader('x-acting-as')
    const { checks } = request.routeOptions.config
    for (const check of checks?.() ?? []) await check(request, reply)
  }

  async function afterWaiting(request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
    const { caller } = request
    if (caller.kind === 'anonymous' || !hasExpired(caller)) return thoughExpired(request, reply)
    // Otherwise the token would be valid again when the clock is set back (T11).
    await clock.keep(caller.ends)
    const ipGroups = await specialGroups.ofAddress(clientAddress(request.ip))
    await bringUpToDate(request, reply, { kind: 'anonymous', specialGroups: ipGroups })
    return true
  }

  async function thoughExpired(request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
    if (await isAsBefore(request.caller)) return false
    await bringUpToDate(request, reply, await current(request))
    return true
  }

  return {
    afterWaiting,
    thoughExpired,
    isStill: async (caller: Caller) => !hasExpired(caller) && (await isAsBefore(caller)),
    guard: app => {
      app.addHook('onRoute', route => {
        // Read when it is needed: scopes inside add their own checks to the route.
        const checks = () => [route.preParsing ?? []].flat() as unknown as readonly Check[]
        route.config = { ...route.config, checks }
        if (route.method === 'GET' || route.method === 'HEAD') return
        const { handler } = route
        route.handler = async function (request, reply) {
          for (let attempt = 1; ; attempt++)
            try {
              return await handler.call(this, request, reply)
            } catch (error) {
              if (!(error instanceof RightsChanged)) throw error
              // What a handler has read from the connection isn't there a second time.
              const canRepeat = Buffer.isBuffer(request.body) || !request.raw.readableDidRead
              if (attempt === attempts || !canRepeat) throw rightsChanged()
              await bringUpToDate(request, reply, await current(request))
            }
        }
      })
      app.addHook('preValidation', (request, reply, done) => {
        if (request.body === undefined) return done()
        const { caller } = request
        if (!hasExpired(caller) && isAsBefore(caller) === true) return done()
        afterWaiting(request, reply).then(() => done(), done)
      })
    },
  }
}

/** A hook that runs before the body is read. None uses the scope or the body. */
type Check = (request: FastifyRequest, reply: FastifyReply) => Promise<void>

/** False once the session has been ended (T4, T6, N2). @param before the session as it was verified */
const isStillAlive = (now: Authenticated['session'], before: Authenticated['session'], begun: number) =>
  isAlive(now, ownSession({ session: before, begun }))

const rightsChanged = () =>
  new Problem(
    'busy',
    'Your session or your groups changed while this request was being carried out. Repeat it.',
    {
      headers: { 'retry-after': '1' },
    },
  )

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the route checks of its caller before it reads the body. */
    checks?: () => readonly Check[]
  }
}
