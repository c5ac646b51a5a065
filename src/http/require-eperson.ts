import type { Caller } from '../model/caller.ts'
import { Problem } from './problems.ts'

/**
 * The caller, who must be logged in.
 * @throws Problem 401 for anonymous
 */
export function requireEperson(caller: Caller): Exclude<Caller, { kind: 'anonymous' }> {
  if (caller.kind === 'anonymous')
    throw new Problem(
      'authentication-required',
      'Authentication is required: no valid token came with the request.',
    )
  return caller
}
