import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'
import { addressesOf } from '../http/addresses.ts'
import { createCsrf } from '../http/csrf.ts'
import type { LoginMethod } from '../model/accounts.ts'
import { factorMethods } from '../model/factors.ts'
import { keyringOf } from '../model/keys.ts'
import type { Limits } from '../model/limits.ts'
import type { Measures } from '../model/measures.ts'
import type { Accounts } from '../model/people.ts'
import type { Storage } from '../storage/statements/parts.ts'
import { accessTokenRoutes } from './access-token-routes.ts'
import type { Attempts } from './attempt-statements.ts'
import { createFactorProofs } from './factor-proofs.ts'
import { factorRoutes } from './factor-routes.ts'
import type { Factors } from './factor-statements.ts'
import { loginRoutes } from './login.ts'
import { createLoginsUnderWay } from './logins-under-way.ts'
import { logoutRoutes } from './logout.ts'
import { createLookAgain } from './look-again.ts'
import { createNewSessions } from './new-sessions.ts'
import { createOnBehalfOf } from './on-behalf-of.ts'
import { keepOffer } from './passkey-offer.ts'
import { createPasskeys } from './passkeys.ts'
import { createPasswords, type PasswordCost } from './passwords.ts'
import { createSealedSecrets } from './sealed-secrets.ts'
import { createSecondFactor } from './second-factor.ts'
import { sessionRoutes } from './session-routes.ts'
import { shortLivedTokenRoutes } from './short-lived-tokens.ts'
import { createSpecialGroups } from './special-groups.ts'
import { statusRoutes } from './status.ts'
import { createThrottle } from './throttle.ts'
import { createTickets } from './tickets.ts'
import { createTokens } from './tokens.ts'
import { createVerifyAccessToken } from './verify-access-token.ts'

/** A login method, and the address where it starts, unless the client has its own form for it. */
export interface Way {
  readonly method: LoginMethod
  readonly location?: string
}

interface Parts {
  readonly config: Config
  readonly limits: Pick<Limits, 'passwords'>
  readonly measures: Measures
  readonly passwordCost: PasswordCost | undefined
  readonly storage: Storage & {
    readonly attempts: Attempts
    readonly factors: Factors
    readonly people: Accounts
  }
  readonly ways: readonly Way[]
}

/** Creates the parts of authentication: secrets, passwords, tokens, special groups and the throttle. */
export async function createAuthentication({ config, limits, measures, passwordCost, storage, ways }: Parts) {
  const { accessTokens, attempts, clock, factors, groupTree, identities, people, secrets, sessions, trail } =
    storage
  const keyring = keyringOf(config.tokenSecrets, secrets.current)
  const passwords = createPasswords(limits.passwords, passwordCost)
  const tickets = createTickets(identities, clock)
  const specialGroups = await createSpecialGroups(config, people, groupTree)
  const throttle = createThrottle({
    attempts,
    keyring,
    measures,
    refusal: passwords.refusal,
    holdsWrong: Boolean(config.singleSignOn?.directory),
  })
  const newSessions = createNewSessions({ ...storage, config, measures, specialGroups })
  const passkeys = createPasskeys({ clock, config, keyring, tickets })
  const sealed = createSealedSecrets(keyring)
  const addresses = addressesOf(config)
  const challenge = challengeOf(ways, config.realm)
  const challengeWith = (schemes: readonly string[]) =>
    [challenge, ...schemes.filter(one => one !== 'recovery').map(one => factorScheme(one))].join(', ')
  const factorScheme = (scheme: string) =>
    schemeOf(scheme, config.realm, scheme === 'webauthn' ? `${addresses.authn}/challenges` : undefined)
  const logins = createLoginsUnderWay({ clock, identities, sessions, tickets })
  const secondFactor = createSecondFactor({
    challengeWith,
    config,
    factors,
    logins,
    newSessions,
    sessions,
    trail,
    proofs: createFactorProofs({ clock, factors, passkeys, passwords, people, sealed, throttle }),
  })
  return {
    keyring,
    passwords,
    tickets,
    offer:
      config.secondFactor !== 'off' && passkeys.arePossible
        ? await keepOffer(factors, challenge, challengeWith(['webauthn']))
        : { challenge: () => challenge, challengeNow: () => challenge },
    csrf: createCsrf(config, keyring),
    throttle,
    newSessions,
    factorParts: {
      addresses,
      clock,
      config,
      factors,
      logins,
      passkeys,
      people,
      sealed,
      secondFactor,
      sessions,
      tickets,
    },
    specialGroups,
    tokens: createTokens({
      clock,
      config,
      keyring,
      measures,
      sessions,
      tickets,
      loginMethods: [...config.loginMethods, ...factorMethods(config.secondFactor)],
      mayAct: config.loginOnBehalfOf,
    }),
    verifyAccessToken: createVerifyAccessToken({ accessTokens, clock, config, measures, sessions }),
    onBehalfOf: createOnBehalfOf({ config, people, sessions, trail }),
    lookAgain: createLookAgain({ accessTokens, clock, config, people, sessions, specialGroups }),
  }
}

type RouteParts = Parameters<typeof loginRoutes>[1] &
  Parameters<typeof logoutRoutes>[1] &
  Parameters<typeof statusRoutes>[1] &
  Parameters<typeof sessionRoutes>[1] &
  Parameters<typeof accessTokenRoutes>[1] & {
    readonly factorParts: Parameters<typeof factorRoutes>[1]
  } & Parameters<typeof shortLivedTokenRoutes>[1]

/** The routes below `{api}/authn`, except those of single sign-on. */
export function authnRoutes(app: FastifyInstance, parts: RouteParts): void {
  loginRoutes(app, parts)
  logoutRoutes(app, parts)
  statusRoutes(app, parts)
  sessionRoutes(app, parts)
  accessTokenRoutes(app, parts)
  factorRoutes(app, parts.factorParts)
  shortLivedTokenRoutes(app, parts)
}

/**
 * The value of WWW-Authenticate (L4, RFC 9110 §11.6.1): the login methods in the configured order.
 * @param realm printable ASCII
 */
const challengeOf = (ways: readonly Way[], realm: string): string =>
  ways.map(({ method, location }) => schemeOf(method, realm, location)).join(', ')

const schemeOf = (scheme: string, realm: string, location: string | undefined): string =>
  `${scheme} realm="${quoted(realm)}"${location === undefined ? '' : `, location="${quoted(location)}"`}`

const quoted = (text: string) => text.replace(/["\\]/g, '\\$&')
