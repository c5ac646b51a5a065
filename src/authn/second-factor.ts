import type { FastifyRequest } from 'fastify'
import { eventOf, loginEvent } from '../http/audit.ts'
import { Problem } from '../http/problems.ts'
import { passkeyMethod, passwordMethod, type Session, twoFactorMethod } from '../model/accounts.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { Authenticated } from '../model/caller.ts'
import { beganWithFactor, demandsFactor, type FactorPolicy } from '../model/factors.ts'
import type { Factors, FactorsOf } from '../storage/factors.ts'
import type { Credentials } from '../storage/people.ts'
import type { Login, Sessions } from '../storage/sessions.ts'
import type { Trail } from '../storage/trail.ts'
import type { FactorProofs, Proof } from './factor-proofs.ts'
import {
  keyIn,
  type LoginsUnderWay,
  type Pending,
  type RightPassword,
  sessionUnderWay,
  ticketRefused,
  underWay,
} from './logins-under-way.ts'
import type { NewSessions } from './new-sessions.ts'
import { credentialIn } from './passkeys.ts'
import { ownSession } from './session-routes.ts'
import type { SpecialGroups } from './special-groups.ts'
import type { Proven } from './tokens.ts'

/** The second step of logins, and the proofs that changes of factors ask for (L12–L18, docs/decisions/0081). */
export interface SecondFactor {
  /** True if an eperson needs a factor to log in with a password. */
  isRequired(session: Pick<Session, 'administrator'>): boolean
  /** Goes on with a login whose password was right. @throws Problem if a factor is missing or wrong */
  afterPassword(
    login: RightPassword,
    known: Pick<Credentials, 'hasFactor' | 'sessionKey'>,
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
  readonly specialGroups: Pick<SpecialGroups, 'ofLogin'>
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
  const { challengeWith, factors, logins, newSessions, proofs, specialGroups, trail } = parts

  async function begin(
    login: Omit<Login, 'begins'>,
    method: string,
    request: FastifyRequest,
  ): Promise<Proven | undefined> {
    const begun = await newSessions.byPassword(login, loginEvent(request, login.uuid, method), request)
    return begun && { ...begun, method, sg: specialGroups.ofLogin(passwordMethod) }
  }

  /** Begins the session, or returns the one that was begun, after the factor was proved. */
  async function finish(login: Pending, request: FastifyRequest): Promise<Proven | undefined> {
    if ('passwordStamp' in login)
      return begin({ ...login, sessionKey: keyIn(login) }, twoFactorMethod, request)
    // Its token is made with the key of this session, so an ending from now on ends the token.
    const session = await logins.sessionOf(login)
    const { begun, method, sg } = login
    return session && { session, begun, method, sg, proved: true }
  }

  /** Asks the eperson to enrol a factor, before there is a session. */
  async function askToEnrol(login: Pending, event: AuditEvent): Promise<Problem> {
    await trail.record({ ...event, event: 'factor.ask' })
    return mustEnrol(await logins.issueToEnrol(login))
  }

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

  return { begin, finish, askToEnrol, secondStep, missing }
}

export function createSecondFactor(parts: Parts): SecondFactor {
  const { config, factors, logins, newSessions, proofs, sessions } = parts
  const { begin, finish, askToEnrol, secondStep, missing } = createSteps(parts)
  const isOff = config.secondFactor === 'off'
  return {
    isRequired: session => demandsFactor(config, session),

    afterPassword: async (login, { hasFactor, sessionKey }, proof, request) => {
      if (isOff) return begin(login, passwordMethod, request)
      const pending = underWay(login, sessionKey)
      if (hasFactor) return secondStep(pending, proof, request)
      const session = config.secondFactor === 'administrators' ? await sessions.of(login.uuid) : undefined
      if (!demandsFactor(config, { administrator: session?.administrator === true }))
        return begin(login, passwordMethod, request)
      throw await askToEnrol(pending, loginEvent(request, login.uuid, passwordMethod))
    },

    afterProvider: async (proven, proof, request) => {
      if (isOff || config.secondFactorLogins !== 'all') return proven
      const { session, begun, method, sg } = proven
      const login = underWay({ uuid: session.eperson.uuid, begun, method, sg }, session.sessionKey)
      const { factors: known } = await factors.of(login.uuid)
      if (known.length > 0) return secondStep(login, proof, request)
      if (!demandsFactor(config, session)) return proven
      throw await askToEnrol(login, loginEvent(request, login.uuid, method))
    },

    byTicket: async (ticket, proof, request) => {
      if (isOff) throw ticketRefused()
      const login = await logins.take(ticket)
      // A login that has enrolled a factor has proved it, unless the factor was removed since.
      const hasProved = login.proven && (await factors.of(login.uuid)).factors.length > 0
      const proven = hasProved ? await finish(login, request) : await secondStep(login, proof, request)
      if (proven) return proven
      throw ticketRefused()
    },

    byPasskey: async (assertion, request) => {
      const credential = isOff ? undefined : credentialIn(assertion)
      const found = credential === undefined ? undefined : await factors.withCredential(credential)
      if (found?.alone) {
        const fault = await proofs.faultOfPasskey(assertion, 'alone', found, null)
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
