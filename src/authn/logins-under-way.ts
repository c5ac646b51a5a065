import { Problem } from '../http/problems.ts'
import type { KeptSession, Session } from '../model/accounts.ts'
import { isAlive } from '../model/sessions.ts'
import type { Login, Sessions } from '../storage/sessions.ts'
import type { Clock } from '../storage/storage.ts'
import type { Tickets } from './tickets.ts'
import type { Proven } from './tokens.ts'

/** A login whose password was right. */
export type RightPassword = Omit<Login, 'begins' | 'sessionKey'>
/** A session that a directory or a provider has begun, and whose token waits for the factor. */
interface Vouched extends Pick<Proven, 'begun' | 'method' | 'sg'> {
  readonly uuid: string
}
/** A login that a ticket stands for. Whatever ends sessions ends it (T12, docs/decisions/0081). */
export type Pending<Kind = RightPassword | Vouched> = Kind & {
  /** The session key when it began, in base64url. */
  readonly sessionKey: string
  /** True if a factor was proved, by enrolling it. */
  readonly proven?: true
  /** Time in ms since 1970 at which the tickets end that follow each other when a factor is wrong. */
  readonly until?: number
}

/** Lifetimes of tickets in seconds. */
const ticketLifetime = 180
const enrolLifetime = 900

export const underWay = <Kind extends RightPassword | Vouched>(
  login: Kind,
  sessionKey: Uint8Array,
): Pending<Kind> => ({ ...login, sessionKey: Buffer.from(sessionKey).toString('base64url') })

/** The key of a login under way. Tickets from before an upgrade lack it, and are void. */
export const keyIn = ({ sessionKey }: Pick<Pending, 'sessionKey'>): Uint8Array =>
  Buffer.from(String(sessionKey), 'base64url')

/** The session of a login under way, in the form by which the store tells that it was ended; 0: it has none yet. */
export const sessionUnderWay = (login: Pending): KeptSession => ({
  begun: 'begun' in login ? login.begun : 0,
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
  /** The session of the eperson; undefined if the login was ended since it began. */
  sessionOf(login: Pending): Promise<Session | undefined>
}

interface Parts {
  readonly clock: Pick<Clock, 'now'>
  readonly sessions: Pick<Sessions, 'of'>
  readonly tickets: Tickets
}

export function createLoginsUnderWay({ clock, sessions, tickets }: Parts): LoginsUnderWay {
  async function sessionOf(login: Pending): Promise<Session | undefined> {
    const session = await sessions.of(login.uuid)
    return session && isAlive(session, sessionUnderWay(login)) ? session : undefined
  }
  // Decides early, before a proof is used up; the transaction that uses the login compares again.
  async function alive(login: Pending | undefined): Promise<Pending> {
    if (login && (await sessionOf(login))) return login
    throw ticketRefused()
  }
  return {
    sessionOf,
    issue: login => {
      const { until = clock.now() + ticketLifetime * 1000 } = login
      return tickets.issue('second-factor', { ...login, until }, Math.ceil((until - clock.now()) / 1000))
    },
    issueToEnrol: login => tickets.issue('must-enrol', login, enrolLifetime),
    read: async (purpose, ticket) => alive(await tickets.read<Pending>(purpose, ticket)),
    take: async ticket => alive(await tickets.take<Pending>('second-factor', ticket)),
  }
}

export const ticketRefused = () =>
  new Problem('login-failed', 'The ticket is used up, too old, or void. Log in again.')
