import type { FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { eventOf, loginEvent } from '../http/audit.ts'
import { Problem } from '../http/problems.ts'
import {
  commandLineMethod,
  passkeyMethod,
  passwordMethod,
  type Session,
  twoFactorMethod,
} from '../model/accounts.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { Authenticated } from '../model/caller.ts'
import type { Factors, FactorsOf } from '../storage/factors.ts'
import type { Login, Sessions } from '../storage/sessions.ts'
import type { Clock } from '../storage/storage.ts'
import type { Trail } from '../storage/trail.ts'
import type { FactorProofs, Proof } from './factor-proofs.ts'
import type { NewSessions } from './new-sessions.ts'
import { credentialIn } from './passkeys.ts'
import type { SpecialGroups } from './special-groups.ts'
import type { Tickets } from './tickets.ts'
import type { Proven } from './tokens.ts'

/** A login whose password was right. */
export type RightPassword = Omit<Login, 'begins'>
/** A session that a directory or a provider has begun, and whose token waits for the factor. */
interface Vouched extends Pick<Proven, 'begun' | 'method' | 'sg'> {
  readonly uuid: string
  /** In base64url: a logout since then has replaced it. */
  readonly sessionKey: string
}
/** A login that a ticket stands for. */
export type Pending = (RightPassword | Vouched) & {
  /** True if a factor was proved, by enrolling it. */
  readonly proven?: true
  /** Time in ms since 1970 at which the tickets end that follow each other when a factor is wrong. */
  readonly until?: number
}

/** The second step of logins, and the proofs that changes of factors ask for (L12–L18, docs/decisions/0081). */
export interface SecondFactor {
  /** True if an eperson needs a factor to log in with a password. */
  isRequired(session: Pick<Session, 'administrator'>): boolean
  /** Goes on with a login whose password was right. @throws Problem if a factor is missing or wrong */
  afterPassword(
    login: RightPassword,
    hasFactor: boolean,
    proof: Proof | undefined,
    request: FastifyRequest,
  ): Promise<Proven | undefined>
  /** Does the same after a directory or a provider has vouched, if the setting says so. */
  afterProvider(
    proven: Proven,
    proof: Proof | undefined,
    request: FastifyRequest,
  ): Promise<Proven | undefined>
  /** Goes on with a login by the ticket that stands for its password. */
  byTicket(ticket: string, proof: Proof | undefined, request: FastifyRequest): Promise<Proven>
  /** Logs in with a passkey that stands alone. */
  byPasskey(assertion: unknown, request: FastifyRequest): Promise<Proven>
  /** @throws Problem if the session began without the factor that it needs to be refreshed */
  requireToRefresh(caller: Began): Promise<void>
  /** @throws Problem if the session began without a factor though its eperson has one, or must have one */
  requireForTokens(caller: Authenticated): Promise<void>
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
  /** Returns the ticket of a login that has just enrolled a factor. */
  ticketOf(login: Pending): Promise<string>
}

type Began = Pick<Authenticated, 'begun' | 'method' | 'session'>

interface Parts {
  readonly clock: Pick<Clock, 'now'>
  readonly config: Pick<Config, 'secondFactor' | 'secondFactorLogins'>
  readonly factors: Factors
  readonly newSessions: NewSessions
  readonly proofs: FactorProofs
  /** The value of WWW-Authenticate that names factors beside the ways to log in. */
  readonly challengeWith: (schemes: readonly string[]) => string
  readonly sessions: Pick<Sessions, 'of'>
  readonly specialGroups: Pick<SpecialGroups, 'ofLogin'>
  readonly tickets: Tickets
  readonly trail: Pick<Trail, 'record'>
}

/** Lifetimes of tickets in seconds. */
const ticketLifetime = 180
const enrolLifetime = 900
/** Methods of sessions that began with a factor, or that the operator began. */
const exempt: ReadonlySet<string> = new Set([twoFactorMethod, passkeyMethod, commandLineMethod])
const keyOf = ({ sessionKey }: Session) => Buffer.from(sessionKey).toString('base64url')
export function createSecondFactor(parts: Parts): SecondFactor {
  const { challengeWith, clock, config, factors, newSessions, proofs, sessions } = parts
  const { specialGroups, tickets, trail } = parts
  const isOff = config.secondFactor === 'off'

  const isRequired: SecondFactor['isRequired'] = ({ administrator }) =>
    config.secondFactor === 'everybody' || (config.secondFactor === 'administrators' && administrator)

  const schemesOf = ({ factors: known, recoveryCodes }: FactorsOf) => [
    ...(known.some(({ kind }) => kind === 'totp') ? ['totp'] : []),
    ...(known.some(({ kind }) => kind === 'passkey') ? ['webauthn'] : []),
    ...(recoveryCodes > 0 ? ['recovery'] : []),
  ]

  async function begin(
    login: RightPassword,
    method: string,
    request: FastifyRequest,
  ): Promise<Proven | undefined> {
    const begun = await newSessions.byPassword(login, loginEvent(request, login.uuid, method), request)
    return begun && { ...begun, method, sg: specialGroups.ofLogin(passwordMethod) }
  }

  function issue(login: Pending): Promise<string> {
    const { until = clock.now() + ticketLifetime * 1000 } = login
    return tickets.issue('second-factor', { ...login, until }, Math.ceil((until - clock.now()) / 1000))
  }

  /** Begins the session, or returns the one that was begun, after the factor was proved. */
  async function finish(login: Pending, request: FastifyRequest): Promise<Proven | undefined> {
    if ('passwordStamp' in login) return begin(login, twoFactorMethod, request)
    const { uuid, begun, method, sg } = login
    const session = await sessions.of(uuid)
    const isAlive = session && keyOf(session) === login.sessionKey && !session.ended.has(begun)
    return isAlive ? { session, begun, method, sg } : undefined
  }

  /** Asks the eperson to enrol a factor, before there is a session. */
  async function askToEnrol(login: Pending, event: AuditEvent): Promise<Problem> {
    await trail.record({ ...event, event: 'factor.ask' })
    return mustEnrol(await tickets.issue('must-enrol', login, enrolLifetime))
  }

  /** True if the session may have begun without a factor. Enrolling one proves it, too. */
  const beganWithout = ({ begun, method }: Began, { factors: known }: FactorsOf): boolean =>
    method === passwordMethod ||
    (config.secondFactorLogins === 'all' &&
      !exempt.has(method) &&
      !known.some(({ created }) => created < begun + enrolLifetime * 1000))

  async function secondStep(
    login: Pending,
    proof: Proof | undefined,
    request: FastifyRequest,
  ): Promise<Proven | undefined> {
    const { uuid } = login
    const known = await factors.of(uuid)
    // The last factor was removed since the password was verified.
    if (known.factors.length === 0) return undefined
    const event = loginEvent(request, uuid, 'method' in login ? login.method : twoFactorMethod)
    const ask = async (detail: string) => missing(known, detail, await issue(login))
    if (!proof) {
      await trail.record({ ...event, event: 'factor.ask' })
      throw await ask('The login also needs a second factor. Repeat it with one of those in `factors`.')
    }
    const fault = await proofs
      .faultOf({ uuid, known: known.factors, purpose: 'login', event }, proof)
      .catch(async error => {
        if (!(error instanceof Problem)) throw error
        const ticket = await issue(login)
        throw new Problem(error.code, error.message, { headers: error.headers, members: { ticket } })
      })
    if (fault === undefined) return finish(login, request)
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

  return {
    isRequired,
    ticketOf: login => issue({ ...login, proven: true }),

    afterPassword: async (login, hasFactor, proof, request) => {
      if (isOff) return begin(login, passwordMethod, request)
      if (hasFactor) return secondStep(login, proof, request)
      const session = config.secondFactor === 'administrators' ? await sessions.of(login.uuid) : undefined
      if (!isRequired({ administrator: session?.administrator === true }))
        return begin(login, passwordMethod, request)
      throw await askToEnrol(login, loginEvent(request, login.uuid, passwordMethod))
    },

    afterProvider: async (proven, proof, request) => {
      if (isOff || config.secondFactorLogins !== 'all') return proven
      const { session, begun, method, sg } = proven
      const login = { uuid: session.eperson.uuid, begun, method, sg, sessionKey: keyOf(session) }
      const { factors: known } = await factors.of(login.uuid)
      if (known.length > 0) return secondStep(login, proof, request)
      if (!isRequired(session)) return proven
      throw await askToEnrol(login, loginEvent(request, login.uuid, method))
    },

    byTicket: async (ticket, proof, request) => {
      const login = isOff ? undefined : await tickets.take<Pending>('second-factor', ticket)
      const proven = login?.proven
        ? await finish(login, request)
        : login && (await secondStep(login, proof, request))
      if (proven) return proven
      throw ticketRefused()
    },

    byPasskey: async (assertion, request) => {
      const credential = isOff ? undefined : credentialIn(assertion)
      const found = credential === undefined ? undefined : await factors.withCredential(credential)
      if (found?.alone) {
        const fault = await proofs.faultOfPasskey(assertion, 'alone', found)
        const { eperson: uuid, passwordStamp } = found
        if (fault !== undefined)
          await newSessions.fail({ ...loginEvent(request, uuid, passkeyMethod), reason: fault })
        const begun =
          fault === undefined
            ? await begin({ uuid, passwordStamp, renewedHash: null }, passkeyMethod, request)
            : undefined
        if (begun) return begun
      }
      throw new Problem('login-failed', 'The passkey is not valid here, or does not stand for a password.')
    },

    requireToRefresh: async caller => {
      if (!isRequired(caller.session) || exempt.has(caller.method)) return
      const known = await factors.of(caller.session.eperson.uuid)
      if (!beganWithout(caller, known)) return
      if (known.factors.length === 0) throw mustEnrol()
      throw missing(known, 'This session began without the second factor. Log in again with it.')
    },

    requireForTokens: async caller => {
      if (isOff || exempt.has(caller.method)) return
      const known = await factors.of(caller.session.eperson.uuid)
      if (!isRequired(caller.session) && known.factors.length === 0) return
      if (beganWithout(caller, known))
        throw new Problem(
          'second-factor-missing',
          'This session began without the second factor. Log in again with it to make an access token.',
        )
    },

    prove: async (caller, proof, change, request) => {
      const { uuid } = caller.session.eperson
      const event = eventOf(caller, request, { event: change, outcome: 'failure' })
      const known = await factors.of(uuid)
      const fault =
        known.factors.length > 0
          ? await proofs.faultOf({ uuid, known: known.factors, purpose: 'proof', event }, proof)
          : await proofs.faultOfLogin(caller, proof, request)
      if (fault === undefined) return known
      await trail.record({ ...event, reason: fault })
      throw new Problem('proof-refused', `The proof is wrong, missing, or was used before: ${fault}.`, {
        members: { factors: known.factors.length > 0 ? schemesOf(known) : ['password'] },
      })
    },
  }
}

const mustEnrol = (ticket?: string) =>
  new Problem(
    'second-factor-enrolment-required',
    'This account needs a second factor to log in, and has none yet. Enrol one, then log in again.',
    { members: ticket === undefined ? {} : { ticket } },
  )

export const ticketRefused = () =>
  new Problem('login-failed', 'The ticket is used up, too old, or void. Log in again.')
