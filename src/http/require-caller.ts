import { type Authenticated, type Caller, isAdministrator } from '../model/caller.ts'
import type { FactorLack } from '../model/factors.ts'
import { Problem } from './problems.ts'

export type LoggedIn = Exclude<Caller, { kind: 'anonymous' }>

/**
 * Returns the caller, who must be logged in.
 * @throws Problem 401 for an anonymous caller
 */
export function requireCaller(caller: Caller): LoggedIn {
  if (caller.kind === 'anonymous' && caller.lacks) throw lacksFactor(caller.lacks)
  if (caller.kind === 'anonymous')
    throw new Problem(
      'authentication-required',
      'Authentication is required: the request has no valid token.',
    )
  return caller
}

/** The answer to a session that lacks the second factor that is demanded of its eperson (L17). */
export const lacksFactor = (lack: FactorLack): Problem =>
  lack === 'factor'
    ? new Problem(
        'second-factor-required',
        'This session began without the second factor that this needs. Log in again with it.',
      )
    : new Problem(
        'second-factor-enrolment-required',
        'This needs a second factor, and the account has none. Log in again, and enrol one.',
      )

/**
 * Returns the caller, who must be an administrator, where a handler decides that itself. Elsewhere the access of the
 * route says so.
 * @param to completes the message "Only administrators may …"
 * @throws Problem 401 for an anonymous caller, 403 for any other eperson
 */
export function requireAdministrator(caller: Caller, to = 'read this list'): LoggedIn {
  const loggedIn = requireCaller(caller)
  if (!isAdministrator(caller)) throw new Problem('access-denied', `Only administrators may ${to}.`)
  return loggedIn
}

/**
 * Returns the caller of a route that allows neither access tokens nor acting on behalf of another eperson.
 * @throws Problem 401 for any other caller
 */
export function ownLogin(caller: Caller): Authenticated {
  const loggedIn = requireCaller(caller)
  if (loggedIn.kind === 'acting')
    throw new Problem('on-behalf-of-refused', 'This can’t be done on behalf of another user.')
  return loggedIn
}
