import type { FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { eventOf, loginEvent } from '../http/audit.ts'
import { clientOf } from '../http/connection.ts'
import { Problem } from '../http/problems.ts'
import { clientAddress } from '../lib/addresses.ts'
import { passkeyMethod, passwordMethod, type Session, twoFactorMethod } from '../model/accounts.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { Authenticated } from '../model/caller.ts'
import type { Factors, FactorsOf } from '../storage/factors.ts'
import type { People } from '../storage/people.ts'
import type { Login, Sessions } from '../storage/sessions.ts'
import type { Clock } from '../storage/storage.ts'
import type { Trail } from '../storage/trail.ts'
import type { FactorProofs, Proof } from './factor-proofs.ts'
import type { NewSessions } from './new-sessions.ts'
import { credentialIn } from './passkeys.ts'
import type { Passwords } from './passwords.ts'
import type { SpecialGroups } from './special-groups.ts'
import type { Throttle } from './throttle.ts'
import type { Tickets } from './tickets.ts'
import type { Proven } from './tokens.ts'

/** A login whose password was right. */
export type RightPassword = Omit<Login, 'begins'>
/** The content of a ticket of such a login. @property proven true if a factor was proved, by enrolling it */
type Pending = RightPassword & { readonly proven?: true }

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
  /** Goes on with a login by the ticket that stands for its password. */
  byTicket(ticket: string, proof: Proof | undefined, request: FastifyRequest): Promise<Proven>
  /** Logs in with a passkey that stands alone. */
  byPasskey(assertion: unknown, request: FastifyRequest): Promise<Proven>
  /** @throws Problem if the session began without the factor that it needs to be refreshed */
  requireToRefresh(caller: Pick<Authenticated, 'method' | 'session'>): Promise<void>
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
  ticketOf(login: RightPassword): Promise<string>
}

interface Parts {
  readonly clock: Clock
  readonly config: Pick<Config, 'secondFactor'>
  readonly factors: Factors
  readonly newSessions: NewSessions
  readonly proofs: FactorProofs
  readonly passwords: Passwords
  readonly people: Pick<People, 'credentials'>
  /** The value of WWW-Authenticate that names factors beside the ways to log in. */
  readonly challengeWith: (schemes: readonly string[]) => string
  readonly sessions: Pick<Sessions, 'of'>
  readonly specialGroups: Pick<SpecialGroups, 'ofLogin'>
  readonly throttle: Throttle
  readonly tickets: Tickets
  readonly trail: Pick<Trail, 'record'>
}

/** Lifetime of a ticket in seconds. */
const ticketLifetime = 180
/** Age in ms up to which the login of a session without a password is proof enough for a first factor. */
const freshFor = 600_000

export function createSecondFactor(parts: Parts): SecondFactor {
  const { clock, config, factors, newSessions, passwords, people, proofs, sessions } = parts
  const { challengeWith, specialGroups, throttle, tickets, trail } = parts
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

  async function secondStep(
    login: RightPassword,
    proof: Proof | undefined,
    request: FastifyRequest,
  ): Promise<Proven | undefined> {
    const { uuid } = login
    const known = await factors.of(uuid)
    // The last factor was removed since the password was verified.
    if (known.factors.length === 0) return undefined
    const event = loginEvent(request, uuid, twoFactorMethod)
    const ask = async (detail: string) =>
      missing(known, detail, await tickets.issue('second-factor', login, ticketLifetime))
    if (!proof) {
      await trail.record({ ...event, event: 'factor.ask' })
      throw await ask('The login also needs a second factor. Repeat it with one of those in `factors`.')
    }
    const fault = await proofs
      .faultOf({ uuid, known: known.factors, purpose: 'login', event }, proof)
      .catch(async error => {
        if (!(error instanceof Problem)) throw error
        const ticket = await tickets.issue('second-factor', login, ticketLifetime)
        throw new Problem(error.code, error.message, { headers: error.headers, members: { ticket } })
      })
    if (fault === undefined) return begin(login, twoFactorMethod, request)
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
    ticketOf: login =>
      tickets.issue('second-factor', { ...login, proven: true } satisfies Pending, ticketLifetime),

    afterPassword: async (login, hasFactor, proof, request) => {
      if (isOff) return begin(login, passwordMethod, request)
      if (hasFactor) return secondStep(login, proof, request)
      const session = config.secondFactor === 'administrators' ? await sessions.of(login.uuid) : undefined
      if (!isRequired({ administrator: session?.administrator === true }))
        return begin(login, passwordMethod, request)
      await trail.record({ ...loginEvent(request, login.uuid, passwordMethod), event: 'factor.ask' })
      throw mustEnrol(await tickets.issue('must-enrol', login, ticketLifetime * 5))
    },

    byTicket: async (ticket, proof, request) => {
      const login = isOff ? undefined : await tickets.take<Pending>('second-factor', ticket)
      const proven = login?.proven
        ? await begin(login, twoFactorMethod, request)
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

    requireToRefresh: async ({ method, session }) => {
      if (method !== passwordMethod || !isRequired(session)) return
      const known = await factors.of(session.eperson.uuid)
      if (known.factors.length === 0) throw mustEnrol()
      throw missing(known, 'This session began without the second factor. Log in again with it.')
    },

    requireForTokens: async ({ method, session }) => {
      if (isOff || method !== passwordMethod) return
      if (!isRequired(session) && (await factors.of(session.eperson.uuid)).factors.length === 0) return
      throw new Problem(
        'second-factor-missing',
        'This session began without the second factor. Log in again with it to make an access token.',
      )
    },

    prove: async (caller, proof, change, request) => {
      const { uuid, email } = caller.session.eperson
      const event = eventOf(caller, request, { event: change, outcome: 'failure' })
      const known = await factors.of(uuid)
      const fault =
        known.factors.length > 0
          ? await proofs.faultOf({ uuid, known: known.factors, purpose: 'proof', event }, proof)
          : await faultOfLogin(caller, email, proof, request)
      if (fault === undefined) return known
      await trail.record({ ...event, reason: fault })
      throw new Problem('proof-refused', `The proof is wrong, missing, or was used before: ${fault}.`, {
        members: { factors: known.factors.length > 0 ? schemesOf(known) : ['password'] },
      })
    },
  }

  /** Verifies the password; without one, the login must be fresh. */
  async function faultOfLogin(
    { begun, session }: Authenticated,
    user: string,
    { password }: Proof,
    request: FastifyRequest,
  ): Promise<string | undefined> {
    const eperson = session.eperson.uuid
    const stored = isOff ? undefined : await people.credentials(user)
    if (stored?.uuid !== eperson || stored.passwordHash === null)
      return clock.now() - begun < freshFor ? undefined : 'the login is more than ten minutes ago'
    if (password === undefined) return 'the password'
    const client = clientOf(request)
    const address = clientAddress(request.ip)
    await using turn = await throttle.turn(
      { user, eperson, method: passwordMethod, address, client },
      passwords.queue,
    )
    if (await passwords.verify(Buffer.from(password), stored.passwordHash, turn)) {
      await turn.takeBack()
      return undefined
    }
    return (await turn.wrong()) ?? 'the password'
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
