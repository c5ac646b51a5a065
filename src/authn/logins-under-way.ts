import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../http/problems.ts'
import type { KeptSession, LoginMethod } from '../model/accounts.ts'
import type { ProviderSession } from '../model/identities.ts'
import { isAlive } from '../model/sessions.ts'
import type { Identities, ProviderLogin } from '../storage/statements/identities.ts'
import type { Login, Sessions } from '../storage/statements/sessions.ts'
import type { Clock } from '../storage/storage.ts'
import type { Guess } from './throttle.ts'
import type { Tickets } from './tickets.ts'
import type { Proven } from './tokens.ts'

/** A login whose password was right. */
export type RightPassword = Omit<Login, 'begins' | 'sessionKey'>
/** A login that a directory or a provider has vouched for. */
export interface Vouched
  extends Omit<ProviderLogin, 'begins' | 'sessionKey'>,
    Pick<Proven, 'method' | 'sg'> {}

/**
 * A login whose first step is proved, in the form in which a ticket stands for it. Whatever ends sessions ends it
 * (T12, docs/decisions/0081).
 */
export type Pending<Kind = RightPassword | Vouched> = Kind & {
  /** The session key when it began, in base64. */
  readonly sessionKey: string
  /** True if a factor was proved, by enrolling it. */
  readonly proven?: true
  /** Time in ms since 1970 at which the tickets end that follow each other when a factor is wrong. */
  readonly until?: number
}

/** A login of which all is proved: its session may begin. Without a session key, no ending of sessions ends it. */
export type Ready =
  | (RightPassword & { readonly method: LoginMethod; readonly sessionKey?: Uint8Array })
  | (Vouched & { readonly sessionKey: Uint8Array; readonly proved?: true })

/** An LDAP directory that verifies passwords (docs/decisions/0033). */
export interface DirectoryLogins {
  /**
   * Verifies a password in a turn at the throttle, and records a failure.
   * @returns undefined if the password is wrong, or belongs to no account
   * @throws Problem
   */
  verify(
    guess: Omit<Guess, 'method'>,
    password: Uint8Array,
    request: FastifyRequest,
  ): Promise<Pending<Vouched> | undefined>
}

/** Finished logins at an identity provider, which a cookie exchanges for a token (X2). */
export interface Trade {
  /** Returns the login that the cookie stands for. The cookie stays valid. */
  waiting(request: FastifyRequest): Promise<Proven | undefined>
  /** Uses up and clears the cookies of this browser, one after the other, the newest first. */
  pickUp(request: FastifyRequest, reply: FastifyReply): AsyncIterable<Pending<Vouched>>
  /** Remembers the provider at which a session of this browser began (X6). */
  remember(session: ProviderSession, reply: FastifyReply): void
  /** Discards the login when the caller logs out. */
  drop(request: FastifyRequest, reply: FastifyReply): Promise<void>
}

/** Lifetimes of tickets in seconds. */
const ticketLifetime = 180
const enrolLifetime = 900

export const underWay = <Kind extends RightPassword | Vouched>(
  login: Kind,
  sessionKey: Uint8Array,
): Pending<Kind> => ({ ...login, sessionKey: Buffer.from(sessionKey).toString('base64') })

/** The key of a login under way. Tickets from before an upgrade lack it, and are void. */
export const keyIn = ({ sessionKey }: Pick<Pending, 'sessionKey'>): Uint8Array =>
  Buffer.from(String(sessionKey), 'base64')

/** A login under way, in the form by which the store tells that a session was ended: it has begun none yet. */
export const sessionUnderWay = (login: Pick<Pending, 'sessionKey'>): KeptSession => ({
  begun: 0,
  key: keyIn(login),
})

/** Logins whose second step is to come, and the tickets that stand for them. */
export interface LoginsUnderWay {
  /** Issues a ticket for the second step. */
  issue(login: Pending): Promise<string>
  /** Issues a ticket that enrols a first factor. */
  issueToEnrol(login: Pending): Promise<string>
  /** Reads the login that a ticket stands for. @throws Problem 401 if it was used, is too old, or was ended */
  read(purpose: 'must-enrol' | 'second-factor', ticket: string): Promise<Pending>
  /** Uses up a ticket of the second step. @throws Problem in the same way */
  take(ticket: string): Promise<Pending>
}

interface Parts {
  readonly clock: Pick<Clock, 'now'>
  readonly identities: Pick<Identities, 'noteAtProvider'>
  readonly sessions: Pick<Sessions, 'of'>
  readonly tickets: Tickets
}

export function createLoginsUnderWay({ clock, identities, sessions, tickets }: Parts): LoginsUnderWay {
  // Decides early, before a proof is used up; the transaction that uses the login compares again.
  async function alive(login: Pending | undefined): Promise<Pending> {
    const session = login && (await sessions.of(login.uuid))
    // A ticket from before an upgrade may be of a session that has begun.
    if (session && !('begun' in login) && isAlive(session, sessionUnderWay(login))) return login
    throw ticketRefused()
  }
  // A logout at the provider ends the login, as it will end its session.
  const note = async (login: Pending) => {
    if ('session' in login) await identities.noteAtProvider(login.uuid, login.session)
  }
  return {
    issue: async login => {
      if (login.until === undefined) await note(login)
      const { until = clock.now() + ticketLifetime * 1000 } = login
      return tickets.issue('second-factor', { ...login, until }, Math.ceil((until - clock.now()) / 1000))
    },
    issueToEnrol: async login => {
      await note(login)
      return tickets.issue('must-enrol', login, enrolLifetime)
    },
    read: async (purpose, ticket) => alive(await tickets.read<Pending>(purpose, ticket)),
    take: async ticket => alive(await tickets.take<Pending>('second-factor', ticket)),
  }
}

export const ticketRefused = () =>
  new Problem('login-failed', 'The ticket is used up, too old, or void. Log in again.')
