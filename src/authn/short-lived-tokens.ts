import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'
import type { Addresses } from '../http/addresses.ts'
import { eventOf } from '../http/audit.ts'
import { contractsIn } from '../http/contract.ts'
import { requireEperson } from '../http/require-eperson.ts'
import type { Trail } from '../storage/trail.ts'
import { refuseShortLivedToken } from './authenticate.ts'
import type { Tokens } from './tokens.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly trail: Trail
  readonly addresses: Addresses
  readonly config: Pick<Config, 'shortTokenLifetime'>
  readonly tokens: Tokens
}

/**
 * `POST /api/authn/shortlivedtokens` (H1, H2): issues a token for an address that is requested without
 * headers.
 */
export function shortLivedTokenRoutes(
  app: FastifyInstance,
  { trail, addresses, config, tokens }: Parts,
): void {
  const href = `${addresses.authn}/shortlivedtokens`

  app.post(
    '/shortlivedtokens',
    { ...route('issueShortLivedToken'), preParsing: refuseShortLivedToken },
    async request => {
      const caller = requireEperson(request.caller)
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
