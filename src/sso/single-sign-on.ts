import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { NewSessions } from '../authn/new-sessions.ts'
import type { SpecialGroups } from '../authn/special-groups.ts'
import { createTickets } from '../authn/tickets.ts'
import type { Config } from '../config/config.ts'
import { allowedAddress, type SingleSignOnConfig } from '../config/providers.ts'
import type { Addresses } from '../http/addresses.ts'
import { quote } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import type { Threads } from '../lib/threads/thread.ts'
import type { Keyring } from '../model/keys.ts'
import type { Limits } from '../model/limits.ts'
import type { Measures } from '../model/measures.ts'
import type { Identities } from '../storage/statements/identities.ts'
import type { Sessions } from '../storage/statements/sessions.ts'
import type { Clock } from '../storage/storage.ts'
import { signOnAddresses } from './addresses.ts'
import { createLastProvider, signOnCookies } from './cookies.ts'
import { providerLogoutRoutes } from './logouts.ts'
import { createPendingLogins } from './pending-logins.ts'
import { createProviderLogins, type ProviderLogins } from './provider-logins.ts'
import { createProviderMetadata } from './provider-metadata.ts'
import { createProviders } from './providers.ts'
import { noteRepeats } from './refusals.ts'
import { returnRoutes } from './returns.ts'
import { samlLogoutRoutes } from './saml-logouts.ts'
import { createSamlMessages } from './saml-messages.ts'
import { startRoutes } from './start.ts'

/** Single sign-on as the rest of authentication sees it (contract section 15, docs/decisions/0010). */
export interface SingleSignOn extends Pick<ProviderLogins, 'trade' | 'offerLogout'> {
  register(app: FastifyInstance): void
}

export interface SingleSignOnParts {
  readonly addresses: Addresses
  readonly config: Pick<Config, 'allowedOrigins' | 'baseUrl' | 'dataFolder' | 'realm'> & {
    readonly singleSignOn: SingleSignOnConfig
  }
  readonly clock: Clock
  readonly keyring: Keyring
  readonly limits: Pick<Limits, 'loops'>
  readonly log: FastifyBaseLogger
  readonly measures: Pick<Measures, 'queue'>
  readonly identities: Identities
  readonly newSessions: NewSessions
  readonly sessions: Sessions
  readonly specialGroups: SpecialGroups
  readonly threads: Threads
}

export function createSingleSignOn(parts: SingleSignOnParts): SingleSignOn {
  const { clock, keyring, limits, log, measures, identities, newSessions, sessions, specialGroups, threads } =
    parts
  const { singleSignOn: config, dataFolder, realm } = parts.config
  const addresses = signOnAddresses(parts.addresses)
  const cookies = signOnCookies(parts.config.baseUrl)
  const tickets = createTickets(identities, clock)
  const messages = createSamlMessages({
    threads,
    loops: limits.loops,
    measures: measures.queue('saml messages'),
  })
  const metadata = config.providers.some(({ kind }) => kind === 'saml')
    ? createProviderMetadata({ dataFolder, log, providers: config.providers, threads })
    : undefined
  const providers = createProviders(config, addresses, metadata, messages)
  const lastProvider = createLastProvider(cookies)
  const logins = createProviderLogins({
    addresses,
    clock,
    cookies,
    lastProvider,
    providers,
    identities,
    newSessions,
    sessions,
    specialGroups,
    tickets,
  })
  const pendingLogins = createPendingLogins(cookies, keyring, clock)
  const redirects = createRedirects(parts.config)
  return {
    trade: logins.trade,
    offerLogout: logins.offerLogout,
    register: app => {
      app.addHook('onClose', async () => {
        await metadata?.close()
        await messages.close()
        await noteRepeats(log)
      })
      startRoutes(app, {
        addresses,
        pendingLogins,
        config,
        lastProvider,
        logins,
        providers,
        realm,
        redirects,
      })
      returnRoutes(app, { addresses, pendingLogins, config, logins, providers, tickets })
      providerLogoutRoutes(app, { addresses, config, logins, providers, identities, tickets })
      const saml = providers.filter(one => one.kind === 'saml')
      if (saml.length > 0) samlLogoutRoutes(app, { config, providers: saml, identities, messages, tickets })
    },
  }
}

/**
 * @returns a function that reads a `redirectUrl` in the form in which it will be sent, and throws Problem 400
 *   if it isn't allowed
 */
const createRedirects =
  (config: Pick<Config, 'allowedOrigins' | 'baseUrl'>) =>
  (given: string): string => {
    const address = allowedAddress(given, config)
    if (address !== undefined) return address
    throw new Problem(
      'redirect-not-allowed',
      `redirectUrl ${quote(given)} must be an address of an origin in CARREL_ALLOWED_ORIGINS.`,
      { members: { parameter: 'redirectUrl' } },
    )
  }
