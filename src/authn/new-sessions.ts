import type { FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { loginEvent } from '../http/audit.ts'
import { Problem } from '../http/problems.ts'
import { commandLineMethod, type LoginMethod, passwordMethod } from '../model/accounts.ts'
import { type AuditEvent, failedLogin } from '../model/audit-events.ts'
import type { Measures } from '../model/measures.ts'
import type { Identities } from '../storage/statements/identities.ts'
import type { NewSession, Sessions } from '../storage/statements/sessions.ts'
import type { Clock } from '../storage/storage.ts'
import type { Trail } from '../storage/trail.ts'
import { browserOf } from './browser.ts'
import type { Ready } from './logins-under-way.ts'
import { newSession } from './session-age.ts'
import type { SpecialGroups } from './special-groups.ts'
import type { Proven } from './tokens.ts'

/**
 * Begins sessions, once all is proved: every way to log in ends here. So this is where a login is
 * refused while a system-wide alert lets only administrators log in (S5, docs/decisions/0053): a wrong
 * password gets its usual answer. It also counts logins, so that the metrics agree with the audit trail.
 */
export interface NewSessions {
  /**
   * Begins the session of a login, and records it.
   * @returns undefined if the eperson has been disabled, deleted or logged out, or their password changed, since then
   * @throws Problem `logins-closed`
   */
  beginFor(login: Ready, request: FastifyRequest): Promise<Proven | undefined>
  /** Records a failed login. */
  fail(event: AuditEvent & { readonly method: LoginMethod }): Promise<void>
}

interface Parts {
  readonly clock: Clock
  readonly config: Pick<Config, 'tokenLifetime'>
  readonly identities: Pick<Identities, 'begin'>
  readonly measures: Pick<Measures, 'loginFailed' | 'loginSucceeded'>
  readonly sessions: Pick<Sessions, 'allowed' | 'begin' | 'of'>
  readonly specialGroups: Pick<SpecialGroups, 'ofLogin'>
  readonly trail: Pick<Trail, 'record'>
}

export function createNewSessions(parts: Parts): NewSessions {
  const { clock, config, identities, measures, sessions, specialGroups, trail } = parts

  const fail: NewSessions['fail'] = async event => {
    await trail.record(failedLogin(event))
    measures.loginFailed(event.method)
  }

  const begin = (login: Ready, begins: NewSession, event: AuditEvent) =>
    'session' in login
      ? identities.begin({ ...login, begins }, event)
      : sessions.begin({ ...login, begins }, event)

  /** The groups of a login with a second factor, or with a passkey, are those of a password. */
  const groupsOf = (login: Ready) =>
    'session' in login
      ? login.sg
      : specialGroups.ofLogin(login.method === commandLineMethod ? commandLineMethod : passwordMethod)

  return {
    fail,
    beginFor: async (login, request) => {
      const { uuid, method } = login
      const provider = 'session' in login ? login.session.provider : null
      const event = loginEvent(request, uuid, method, provider)
      const session = await sessions.of(uuid)
      // Read after the look-up, which brings it up to date.
      if (sessions.allowed() !== 'all' && !session?.administrator) {
        await fail({ ...event, reason: 'the system-wide alert' })
        throw new Problem(
          'logins-closed',
          'Only administrators can log in at the moment. The system-wide alert says why.',
        )
      }
      const browser = browserOf(request.headers['user-agent'])
      const begun = await begin(login, { ...newSession(clock.now(), config), browser }, event)
      if (begun) measures.loginSucceeded(method)
      // The store has recorded the failure.
      else measures.loginFailed(method)
      const proved = 'proved' in login && login.proved
      return begun && { ...begun, method, sg: groupsOf(login), ...(proved && { proved }) }
    },
  }
}
