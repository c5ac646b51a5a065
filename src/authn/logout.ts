import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Config } from '../config/config.ts'
import { acceptsShortLived, changes } from '../http/access.ts'
import { eventOf } from '../http/audit.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import type { Csrf } from '../http/csrf.ts'
import type { LoginMethod } from '../model/accounts.ts'
import type { ProviderSession } from '../model/identities.ts'
import type { Sessions } from '../storage/statements/sessions.ts'
import type { Trade } from './logins-under-way.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly sessions: Sessions
  readonly config: Pick<Config, 'logoutPageUrl'>
  readonly csrf: Csrf
  readonly trade: Trade | undefined
  /** Tells the client where to end the session at the identity provider, too. */
  readonly offerLogout:
    | ((session: ProviderSession, method: LoginMethod, reply: FastifyReply) => Promise<void>)
    | undefined
}

/**
 * `POST /api/authn/logout` (O1–O3): ends every token of the caller. The body and the parameters `action` and
 * `return` make no difference, and a client is never redirected to an address that it sent.
 */
export function logoutRoutes(
  app: FastifyInstance,
  { sessions, config, csrf, offerLogout, trade }: Parts,
): void {
  routesOf(app).post(
    '/logout',
    {
      config: {
        ...route(
          'logOut',
          acceptsShortLived(changes('anybody', 'anonymous', 'ignored', { onBehalf: 'ignored' })),
        ).config,
        endsSession: true,
      },
    },
    async (request, reply) => {
      const { caller } = request
      // A caller who acts on behalf of an eperson doesn't end that eperson's sessions (O3).
      if (caller.kind === 'eperson') {
        // The response waits until the new session key is on disk. From then on, no node accepts an earlier
        // token (T4).
        const last = await sessions.logout(
          caller.session.eperson.uuid,
          eventOf(caller, request, { event: 'logout', outcome: 'success' }),
        )
        if (last) await offerLogout?.(last, caller.method, reply)
      }
      await trade?.drop(request, reply)
      // Issued last: if the store refuses the logout, the client can repeat it with its present pair.
      csrf.issue(request, reply)
      const page = caller.kind === 'eperson' ? config.logoutPageUrl : null
      return page === null ? reply.code(204).send() : reply.code(302).header('location', page).send()
    },
  )
}
