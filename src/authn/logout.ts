import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Config } from '../config/config.ts'
import type { Csrf } from '../http/csrf.ts'
import { ignoreBody } from '../http/ignore-body.ts'
import type { LoginMethod } from '../model/accounts.ts'
import type { ProviderSession } from '../model/identities.ts'
import type { Accounts } from '../storage/accounts.ts'
import { eventOf } from './audit.ts'
import type { Trade } from './login.ts'

interface Parts {
  readonly accounts: Accounts
  readonly config: Pick<Config, 'logoutPageUrl'>
  readonly csrf: Csrf
  readonly trade: Trade | undefined
  /** Tells the client where the session that began at a provider can be ended there, too. */
  readonly offerLogout:
    | ((session: ProviderSession, method: LoginMethod, reply: FastifyReply) => Promise<void>)
    | undefined
}

/**
 * `POST /api/authn/logout` (O1–O3): ends every token of the caller. Its body and its parameters `action` and `return`
 * change nothing, and nothing is ever redirected to what a client sends.
 */
export function logoutRoutes(
  app: FastifyInstance,
  { accounts, config, csrf, offerLogout, trade }: Parts,
): void {
  app.post(
    '/logout',
    { config: { actsOnlyAsItself: true }, preParsing: ignoreBody },
    async (request, reply) => {
      const { caller } = request
      csrf.issue(request, reply)
      await trade?.drop(request, reply)
      // Whoever acts as somebody doesn't end that somebody's sessions (O3).
      if (caller.kind !== 'eperson') return reply.code(204).send()
      // Not before the new session key is on disk: from then on no node accepts an earlier token (T4).
      const last = await accounts.logout(
        caller.session.eperson.uuid,
        eventOf(caller, request, { event: 'logout', outcome: 'success' }),
      )
      if (last) await offerLogout?.(last, caller.method, reply)
      return config.logoutPageUrl === null
        ? reply.code(204).send()
        : reply.code(302).header('location', config.logoutPageUrl).send()
    },
  )
}
