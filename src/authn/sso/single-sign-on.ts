import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Config } from '../../config/config.ts'
import type { SignOnConfig } from '../../config/providers.ts'
import type { Addresses } from '../../http/addresses.ts'
import type { Keyring } from '../../model/keys.ts'
import type { SignOn } from '../../storage/identities.ts'
import type { Accounts } from '../../storage/storage.ts'
import type { SpecialGroups } from '../special-groups.ts'
import { createTickets } from '../tickets.ts'
import { signOnAddresses } from './addresses.ts'
import { createSignOnPath, type SignOnPath } from './finish-login.ts'
import { providerLogoutRoutes } from './logouts.ts'
import { createAttempts, signOnCookies } from './pending-logins.ts'
import { createProviders } from './providers.ts'
import { createRedirects } from './redirects.ts'
import { returnRoutes } from './returns.ts'
import { startRoutes } from './start.ts'

/** Single sign-on as the rest of authentication sees it (contract section 10, docs/decisions/0010). */
export interface SingleSignOn extends Pick<SignOnPath, 'trade' | 'offerLogout'> {
  register(app: FastifyInstance): void
}

export interface SingleSignOnParts {
  readonly accounts: Accounts
  readonly addresses: Addresses
  readonly config: Pick<Config, 'allowedOrigins' | 'baseUrl' | 'realm'> & { readonly signOn: SignOnConfig }
  readonly keyring: Keyring
  readonly log: FastifyBaseLogger
  readonly signOn: SignOn
  readonly specialGroups: SpecialGroups
}

export function createSingleSignOn(parts: SingleSignOnParts): SingleSignOn {
  const { accounts, keyring, log, signOn, specialGroups } = parts
  const { signOn: config, realm } = parts.config
  const addresses = signOnAddresses(parts.addresses)
  const cookies = signOnCookies(parts.config.baseUrl)
  const tickets = createTickets(signOn)
  const providers = createProviders(config, addresses, log)
  const path = createSignOnPath({ accounts, addresses, cookies, providers, signOn, specialGroups, tickets })
  const attempts = createAttempts(cookies, keyring)
  const redirects = createRedirects(parts.config)
  return {
    trade: path.trade,
    offerLogout: path.offerLogout,
    register: app => {
      startRoutes(app, { addresses, attempts, config, path, providers, realm, redirects })
      returnRoutes(app, { addresses, attempts, config, path, providers, tickets })
      providerLogoutRoutes(app, { addresses, config, path, providers, signOn, tickets })
    },
  }
}
