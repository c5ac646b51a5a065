import type { FastifyRequest } from 'fastify'
import { eventOf, loginEvent } from '../http/audit.ts'
import { Problem } from '../http/problems.ts'
import { passkeyMethod, passwordMethod, type Session, twoFactorMethod } from '../model/accounts.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { Authenticated } from '../model/caller.ts'
import { beganWithFactor, demandsFactor, type FactorPolicy } from '../model/factors.ts'
import { isAlive } from '../model/sessions.ts'
import type { Sessions } from '../storage/statements/sessions.ts'
import type { Trail } from '../storage/trail.ts'
import type { FactorProofs, Proof } from './factor-proofs.ts'
import type { Factors, FactorsOf } from './factor-statements.ts'
import {
  keyIn,
  type LoginsUnderWay,
  type Pending,
  type Ready,
  sessionUnderWay,
  ticketRefused,
} from './logins-under-way.ts'
import type { NewSessions } from './new-sessions.ts'
import { credentialIn } from './passkeys.ts'
import { ownSession } from './session-routes.ts'

/** The second step of logins, and the proofs that changes of factors ask for (L12–L18, docs/decisions/0081). */
export interface SecondFactor {
  /** True if an eperson needs a factor to log in with a password. */
  isRequired(session: Pick<Session, 'administrator'>): boolean
  /**
   * Decides about the factor of a login whose first step is proved.
   * @param hasFactor undefined if it isn't known yet
   * @returns undefined if the last factor was removed meanwhile
   * @throws Problem if a factor is missing or wrong, or has to be enrolled first
   */
  check(
    login: Pending,
    hasFactor: boolean | undefined,
    proof: Proof | undefined,
    request: FastifyRequest,
  ): Promise<Ready | undefined>
  /** Does the same for the login that a ticket stands for. */
  byTicket(ticket: string, proof: Proof | undefined, request: FastifyRequest): Promise<Ready | undefined>
  /** Verifies a passkey that stands alone. @returns undefined if it is none, or not valid */
  byPasskey(assertion: unknown, request: FastifyRequest): Promise<Ready | undefined>
  /** @throws Problem if the session began without the factor that it needs to be refreshed */
  requireToRefresh(caller: Pick<Authenticated, 'lacks' | 'session'>): Promise<void>
  /** @throws Problem if the session began without a factor though its eperson has one, or must have one */
  requireForTokens(caller: Authenticated): void
  /**
   * Demands a factor of the caller, or what stands for one while there is none.
   * @param change the event of the change
   * @throws Problem if the proof is wrong
   */
  prove(
    caller: Authenticated,
    proof: Proof,
    change: AuditEvent['event'],
    request: FastifyRequest,
  ): Promise<FactorsOf>
}

interface Parts {
  readonly config: FactorPolicy
  readonly factors: Factors
  readonly newSessions: NewSessions
  readonly proofs: FactorProofs
  /** The value of WWW-Authenticate that names factors beside the ways to log in. */
  readonly challengeWith: (schemes: readonly string[]) => string
  readonly sessions: Pick<Sessions, 'of'>
  readonly logins: LoginsUnderWay
  readonly trail: Pick<Trail, 'record'>
}

const schemesOf = ({ factors: known, recoveryCodes }: FactorsOf) => [
  ...(known.some(({ kind }) => kind === 'totp') ? ['totp'] : []),
  ...(known.some(({ kind }) => kind === 'passkey') ? ['webauthn'] : []),
  ...(recoveryCodes > 0 ? ['recovery'] : []),
]

/** The steps of a login after its first proof. */
function createSteps(parts: Parts) {
  const { challengeWith, factors, logins, newSessions, proofs, trail } = parts

  /** Asks the eperson to enrol a factor, before there is a session. */
  async function askToEnrol(login: Pending, event: AuditEvent): Promise<Problem> {
    await trail.record({ ...event, event: 'factor.ask' })
    return mustEnrol(await logins.issueToEnrol(login))
  }

  async function secondStep(
    login: Pending,
    proof: Proof | undefined,
    request: FastifyRequest,
  ): Promise<Ready | undefined> {
    const { uuid } = login
    const known = await factors.of(uuid)
    const method = 'session' in login ? login.method : twoFactorMethod
    const event = loginEvent(request, uuid, method, providerOf(login))
    if (known.factors.length === 0) {
      // The last factor was removed since the password was verified.
      if ('session' in login) await newSessions.fail(event)
      return undefined
    }
    const ask = async (detail: string) => missing(known, detail, await logins.issue(login))
    if (!proof) {
      await trail.record({ ...event, event: 'factor.ask' })
      throw await ask('The login also needs a second factor. Repeat it with one of those in `factors`.')
    }
    const fault = await proofs
      .faultOf({ uuid, ...sessionUnderWay(login), known: known.factors, purpose: 'login', event }, proof)
      .catch(async error => {
        if (!(error instanceof Problem)) throw error
        const ticket = await logins.issue(login)
        throw new Problem(error.code, error.message, { headers: error.headers, members: { ticket } })
      })
    if (fault === undefined) return withFactor(login)
    await newSessions.fail({ ...event, reason: fault })
    throw await ask(`The second factor is wrong, or was used before: ${fault}.`)
  }

  function missing(known: FactorsOf, detail: string, ticket?: string): Problem {
    const schemes = schemesOf(known)
    return new Problem('second-factor-required', detail, {
      headers: { 'www-authenticate': challengeWith(schemes) },
      members: { factors: schemes, ...(ticket !== undefined && { ticket }) },
    })
  }

  return { askToEnrol, secondStep, missing }
}

export function createSecondFactor(parts: Parts): SecondFactor {
  const { config, factors, logins, newSessions, proofs, sessions } = parts
  const { askToEnrol, secondStep, missing } = createSteps(parts)
  const isOff = config.secondFactor === 'off'
  return {
    isRequired: session => demandsFactor(config, session),

    check: async (login, hasFactor, proof, request) => {
      if (isOff || ('session' in login && config.secondFactorLogins !== 'all')) return withoutFactor(login)
      const needsSession = hasFactor === undefined || config.secondFactor === 'administrators'
      const session = needsSession ? await sessions.of(login.uuid) : undefined
      if ('session' in login && !(session && isAlive(session, sessionUnderWay(login)))) {
        await newSessions.fail(loginEvent(request, login.uuid, login.method, providerOf(login)))
        return undefined
      }
      if (hasFactor ?? session?.hasFactor) return secondStep(login, proof, request)
      if (!demandsFactor(config, { administrator: session?.administrator === true }))
        return withoutFactor(login)
      const method = 'session' in login ? login.method : passwordMethod
      throw await askToEnrol(login, loginEvent(request, login.uuid, method, providerOf(login)))
    },

    byTicket: async (ticket, proof, request) => {
      if (isOff) throw ticketRefused()
      const login = await logins.take(ticket)
      // A login that has enrolled a factor has proved it, unless the factor was removed since.
      const hasProved = login.proven && (await factors.of(login.uuid)).factors.length > 0
      return hasProved ? withFactor(login) : secondStep(login, proof, request)
    },

    byPasskey: async (assertion, request) => {
      const credential = isOff ? undefined : credentialIn(assertion)
      const found = credential === undefined ? undefined : await factors.withCredential(credential)
      if (!found?.alone) return undefined
      const fault = await proofs.faultOfPasskey(assertion, 'alone', found, null)
      const { eperson: uuid, passwordStamp } = found
      if (fault === undefined) return { uuid, passwordStamp, renewedHash: null, method: passkeyMethod }
      await newSessions.fail({ ...loginEvent(request, uuid, passkeyMethod), reason: fault })
      return undefined
    },

    requireToRefresh: async ({ lacks, session }) => {
      if (lacks === 'enrolment') throw mustEnrol()
      if (lacks === 'factor')
        throw missing(
          await factors.of(session.eperson.uuid),
          'This session began without the second factor. Log in again with it.',
        )
    },

    requireForTokens: caller => {
      if (isOff || beganWithFactor(config, caller)) return
      if (demandsFactor(config, caller.session) || caller.session.hasFactor)
        throw new Problem(
          'second-factor-missing',
          'This session began without the second factor. Log in again with it to make an access token.',
        )
    },

    prove: (caller, proof, change, request) => prove(parts, caller, proof, change, request),
  }
}

/** The provider that vouched for a login; null for a password. */
const providerOf = (login: Pending): string | null => ('session' in login ? login.session.provider : null)

/** A login whose factor was proved. An ending of sessions since its first step ends it. */
const withFactor = ({ sessionKey, proven: _, until: __, ...login }: Pending): Ready => {
  const key = keyIn({ sessionKey })
  return 'session' in login
    ? { ...login, sessionKey: key, proved: true }
    : { ...login, sessionKey: key, method: twoFactorMethod }
}

/** A login that needs no factor. A password that was just sent is a new login, which no ending ends. */
const withoutFactor = ({ sessionKey, ...login }: Pending): Ready =>
  'session' in login ? { ...login, sessionKey: keyIn({ sessionKey }) } : { ...login, method: passwordMethod }

async function prove(
  { factors, proofs, trail }: Parts,
  caller: Authenticated,
  proof: Proof,
  change: AuditEvent['event'],
  request: FastifyRequest,
): Promise<FactorsOf> {
  const { uuid } = caller.session.eperson
  const event = eventOf(caller, request, { event: change, outcome: 'failure' })
  const known = await factors.of(uuid)
  const fault =
    known.factors.length > 0
      ? await proofs.faultOf(
          { uuid, ...ownSession(caller), known: known.factors, purpose: 'proof', event },
          proof,
        )
      : await proofs.faultOfLogin(caller, proof, request)
  if (fault === undefined) return known
  await trail.record({ ...event, reason: fault })
  throw new Problem('proof-refused', `The proof is wrong, missing, or was used before: ${fault}.`, {
    members: { factors: known.factors.length > 0 ? schemesOf(known) : ['password'] },
  })
}

const mustEnrol = (ticket?: string) =>
  new Problem(
    'second-factor-enrolment-required',
    'This account needs a second factor to log in, and has none yet. Enrol one, then log in again.',
    { members: ticket === undefined ? {} : { ticket } },
  )
