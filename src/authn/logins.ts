import type { Config } from '../config/config.ts'
import { createCsrf } from '../http/csrf.ts'
import { keyringOf } from '../model/keys.ts'
import type { Limits } from '../model/limits.ts'
import type { Measures } from '../model/measures.ts'
import type { Storage } from '../storage/storage.ts'
import type { Way } from './challenge.ts'
import { challengeOf } from './challenge.ts'
import { createLookAgain } from './look-again.ts'
import { createNewSessions } from './new-sessions.ts'
import { createOnBehalfOf } from './on-behalf-of.ts'
import { createPasswords, type PasswordCost } from './passwords.ts'
import { createPrograms } from './programs.ts'
import { createSpecialGroups } from './special-groups.ts'
import { createThrottle } from './throttle.ts'
import { createTickets } from './tickets.ts'
import { createTokens } from './tokens.ts'

interface Parts {
  readonly config: Config
  readonly limits: Pick<Limits, 'passwords'>
  readonly measures: Measures
  readonly passwordCost: PasswordCost | undefined
  readonly storage: Storage
  readonly ways: readonly Way[]
}

/** Creates the parts that logins share: secrets, passwords, tokens, special groups and the throttle. */
export async function createLogins({ config, limits, measures, passwordCost, storage, ways }: Parts) {
  const { accessTokens, attempts, clock, identities, people, secrets, sessions, trail } = storage
  const keyring = keyringOf(config.tokenSecrets, secrets.current)
  const passwords = createPasswords(limits.passwords, passwordCost)
  const tickets = createTickets(identities, clock)
  const specialGroups = await createSpecialGroups(config, people)
  return {
    keyring,
    passwords,
    tickets,
    challenge: challengeOf(ways, config.realm),
    csrf: createCsrf(config, keyring),
    throttle: createThrottle({
      attempts,
      keyring,
      measures,
      refusal: passwords.refusal,
      holdsWrong: Boolean(config.singleSignOn?.directory),
    }),
    newSessions: createNewSessions({ clock, config, identities, measures, sessions, trail }),
    specialGroups,
    tokens: createTokens({
      ...{ clock, config, keyring, measures, sessions, tickets },
      loginMethods: config.loginMethods,
      mayAct: config.loginOnBehalfOf,
    }),
    programs: createPrograms({ accessTokens, clock, config, measures, sessions }),
    onBehalfOf: createOnBehalfOf({ config, people, sessions, trail }),
    lookAgain: createLookAgain({ accessTokens, clock, people, sessions, specialGroups }),
  }
}
