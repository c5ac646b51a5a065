import type { FastifyRequest } from 'fastify'
import { type Caller, isAdministrator } from '../model/caller.ts'
import { Problem } from './problems.ts'

export type LoggedIn = Exclude<Caller, { kind: 'anonymous' }>

/**
 * Returns the caller, who must be logged in.
 * @throws Problem 401 for an anonymous caller
 */
export function requireEperson(caller: Caller): LoggedIn {
  if (caller.kind === 'anonymous')
    throw new Problem(
      'authentication-required',
      'Authentication is required: the request has no valid token.',
    )
  return caller
}

/**
 * Returns the caller, who must be an administrator.
 * @param to completes the message "Only administrators may …"
 * @throws Problem 401 for an anonymous caller, 403 for any other eperson
 */
export function requireAdministrator(caller: Caller, to = 'read this list'): LoggedIn {
  const loggedIn = requireEperson(caller)
  if (!isAdministrator(caller)) throw new Problem('access-denied', `Only administrators may ${to}.`)
  return loggedIn
}

/** Makes a hook that refuses others before the body is read, so that their body is never parsed. */
export const mayAdminister = (to: string) => async (request: FastifyRequest) => {
  requireAdministrator(request.caller, to)
}
