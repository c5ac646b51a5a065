import { Command } from 'commander'
import { readJwt } from '../authn/jwt.ts'
import { newSession } from '../authn/session-age.ts'
import { createTickets } from '../authn/tickets.ts'
import { createTokens } from '../authn/tokens.ts'
import { commandLineMethod } from '../model/accounts.ts'
import { keyringOf } from '../model/keys.ts'
import { Failure, findEperson, isDisabled } from './failures.ts'
import { type Json, sayResult } from './output.ts'
import { commandEvent, withStore } from './store.ts'

/** `carrel token`: a login token for scripts that run where the store is. */
export function tokenCommand(): Command {
  return new Command('token')
    .argument('<email>', 'the eperson to log in')
    .description('Print a login token for scripts. It is valid for CARREL_TOKEN_LIFETIME; a logout ends it.')
    .option('--json', 'print the token and when it expires as JSON')
    .action((email: string, { json }: Json) =>
      withStore(async ({ people, sessions, clock, identities, secrets }, config) => {
        const known = await findEperson(people, email)
        const event = { ...commandEvent('login'), eperson: known.uuid, method: commandLineMethod }
        const begins = newSession(clock.now(), config)
        const begun = await sessions.begin({ ...known, renewedHash: null, begins }, event)
        if (!begun)
          throw known.enabled
            ? new Failure(`${email} was changed at the same moment; repeat the command`)
            : isDisabled(email)
        const tokens = createTokens({
          sessions,
          clock,
          config,
          keyring: keyringOf(config.tokenSecrets, secrets.current),
          loginMethods: config.loginMethods,
          tickets: createTickets(identities, clock),
          mayAct: config.loginOnBehalfOf,
          // This command checks no token.
          measures: { tokenRefused: () => {} },
        })
        // Special groups come from a login method or a provider (G2), and this login has neither.
        const verified = { ...begun, method: commandLineMethod, sg: [] }
        const token = tokens.mint('login', verified, config.tokenLifetime)
        const expires = new Date((readJwt(token)?.claims.exp ?? 0) * 1000).toISOString()
        sayResult(json, { token, expires }, token)
      }),
    )
}
