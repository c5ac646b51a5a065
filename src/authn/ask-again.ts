import type { FastifyRequest } from 'fastify'
import { requireEperson } from '../http/require-eperson.ts'
import { type Acting, type Authenticated, grantOf } from '../model/caller.ts'
import { isAlive, isAllowed } from '../model/sessions.ts'
import type { AccessTokens } from '../storage/access-tokens.ts'
import type { Accounts } from '../storage/accounts.ts'
import { ownSession } from './session-routes.ts'

interface Parts {
  readonly accessTokens: Pick<AccessTokens, 'find'>
  readonly accounts: Pick<Accounts, 'allowedSessions' | 'session'>
}

/**
 * Who sends a request, asked once more: a body may arrive for hours, and meanwhile somebody may have logged out, been
 * disabled, or lost a right. A token that has only expired since counts, or no long upload would ever end.
 */
export type AskAgain = (request: FastifyRequest) => Promise<void>

/** @returns what brings `request.caller` up to date @throws Problem 401 if they are nobody any more */
export function createAskAgain({ accessTokens, accounts }: Parts): AskAgain {
  async function current(caller: ReturnType<typeof requireEperson>) {
    const session = await accounts.session(caller.session.eperson.uuid)
    if (!session || !isAllowed(accounts.allowedSessions(), whoseSession(caller, session))) return undefined
    if (caller.kind === 'acting') {
      const actor = await accounts.session(caller.actor.eperson.uuid)
      const isActor = actor?.administrator === true && isStill(actor, { ...caller, session: caller.actor })
      // B2: nobody acts on behalf of an administrator.
      return isActor && !session.administrator ? { ...caller, session, actor } : undefined
    }
    const grant = grantOf(caller)
    const isThere = grant ? (await accessTokens.find(grant.id)) !== undefined : isStill(session, caller)
    return isThere ? { ...caller, session } : undefined
  }

  return async request => {
    request.caller = (await current(requireEperson(request.caller))) ?? {
      kind: 'anonymous',
      specialGroups: [],
    }
    requireEperson(request.caller)
  }
}

/** An administrator who acts is one. */
const whoseSession = (caller: Authenticated | Acting, session: Authenticated['session']) =>
  caller.kind === 'acting' ? { session, acting: caller.actor } : { session }

/** Whether nobody has ended it (T4, T6, N2). */
const isStill = (session: Authenticated['session'], caller: Pick<Authenticated, 'session' | 'begun'>) =>
  isAlive(session, ownSession(caller))
