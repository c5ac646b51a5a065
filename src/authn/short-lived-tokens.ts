import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'
import { changes } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { eventOf } from '../http/audit.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import type { Trail } from '../storage/trail.ts'
import type { Tokens } from './tokens.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly trail: Trail
  readonly addresses: Addresses
  readonly config: Pick<Config, 'shortTokenLifetime'>
  readonly tokens: Tokens
}

/** `POST /api/authn/shortlivedtokens` (H1, H2): issues a token for an address that is requested without headers. */
export function shortLivedTokenRoutes(
  app: FastifyInstance,
  { trail, addresses, config, tokens }: Parts,
): void {
  const href = `${addresses.authn}/shortlivedtokens`

  routesOf(app).post(
    '/shortlivedtokens',
    route('issueShortLivedToken', changes('eperson', 'none', 'unused')),
    async request => {
      const { caller } = request
      await trail.record(eventOf(caller, request, { event: 'short-lived-token', outcome: 'success' }))
      const lifetime = config.shortTokenLifetime
      const token =
        caller.kind === 'acting'
          ? await tokens.mintActing('short-lived', caller, lifetime)
          : tokens.mint('short-lived', caller, lifetime)
      return { token, type: 'shortlivedtoken', _links: { self: { href } } }
    },
  )
}
