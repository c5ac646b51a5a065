import type { FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { Problem } from '../http/problems.ts'
import type { LoginMethod } from '../model/accounts.ts'
import { type AuditEvent, failedLogin } from '../model/audit-events.ts'
import type { Measures } from '../model/measures.ts'
import type { Begun } from '../model/sessions.ts'
import type { Identities, ProviderLogin } from '../storage/identities.ts'
import type { Login, Sessions } from '../storage/sessions.ts'
import type { Clock } from '../storage/storage.ts'
import type { Trail } from '../storage/trail.ts'
import { browserOf } from './browser.ts'
import { newSession } from './session-age.ts'

/** A login's event in the audit trail. */
type LoginEvent = AuditEvent & { readonly method: LoginMethod }
/** The login request, whose `User-Agent` names the browser of the session (N1). */
type From = Pick<FastifyRequest, 'headers'>

/**
 * Begins sessions, after the eperson is known: every way to log in ends here. So this is where a login is
 * refused while a system-wide alert lets only administrators log in (S5, docs/decisions/0053): a wrong
 * password gets its usual answer. It also counts logins, so that the metrics agree with the audit trail.
 */
export interface NewSessions {
  /**
   * Begins a session after the password was verified.
   * @returns undefined if the eperson has been disabled or deleted, or their password changed, since then
   * @throws Problem `logins-closed`
   */
  byPassword(login: Omit<Login, 'begins'>, event: LoginEvent, request: From): Promise<Begun | undefined>
  /**
   * Begins a session that a provider vouched for.
   * @returns undefined if the eperson has been disabled, deleted or logged out since then
   * @throws Problem `logins-closed`
   */
  byProvider(
    login: Omit<ProviderLogin, 'begins'>,
    event: LoginEvent,
    request: From,
  ): Promise<Begun | undefined>
  /** Records a failed login. */
  fail(event: LoginEvent): Promise<void>
}

interface Parts {
  readonly clock: Clock
  readonly config: Pick<Config, 'tokenLifetime'>
  readonly identities: Pick<Identities, 'begin'>
  readonly measures: Pick<Measures, 'loginFailed' | 'loginSucceeded'>
  readonly sessions: Pick<Sessions, 'allowed' | 'begin' | 'of'>
  readonly trail: Pick<Trail, 'record'>
}

export function createNewSessions({ clock, config, measures, ...storage }: Parts): NewSessions {
  const { identities, sessions, trail } = storage

  async function begin<T extends { readonly uuid: string }>(
    login: T,
    event: LoginEvent,
    { headers }: From,
    store: { begin(login: T & Pick<Login, 'begins'>, event: AuditEvent): Promise<Begun | undefined> },
  ): Promise<Begun | undefined> {
    const session = await sessions.of(login.uuid)
    // Read after the look-up, which brings it up to date.
    if (sessions.allowed() !== 'all' && !session?.administrator) {
      await fail({ ...event, reason: 'the system-wide alert' })
      throw new Problem(
        'logins-closed',
        'Only administrators can log in at the moment. The system-wide alert says why.',
      )
    }
    const begins = { ...newSession(clock.now(), config), browser: browserOf(headers['user-agent']) }
    const begun = await store.begin({ ...login, begins }, event)
    if (begun) measures.loginSucceeded(event.method)
    // The store has recorded the failure.
    else measures.loginFailed(event.method)
    return begun
  }

  async function fail(event: LoginEvent): Promise<void> {
    await trail.record(failedLogin(event))
    measures.loginFailed(event.method)
  }

  return {
    byPassword: (login, event, request) => begin(login, event, request, sessions),
    byProvider: (login, event, request) => begin(login, event, request, identities),
    fail,
  }
}
