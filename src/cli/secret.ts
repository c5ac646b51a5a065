import { Command } from 'commander'
import { Failure } from './failures.ts'
import { say } from './output.ts'
import { commandEvent, withStore } from './store.ts'

/** `carrel secret rotate`: a new signing secret, without logging anyone out (T7). */
export function secretCommand(): Command {
  const command = new Command('secret').description('Manage the secret that tokens are signed with.')
  command
    .command('rotate')
    .description(
      'Sign with a new secret from now on. Tokens made with the old one stay valid until they expire.',
    )
    .action(() =>
      withStore(async ({ secrets }, config) => {
        if (config.tokenSecrets.length > 0)
          throw new Failure(
            'the secret is set by CARREL_TOKEN_SECRET; put a new one in front of it there, with a comma',
          )
        const accepted = await secrets.rotate(commandEvent('secret.rotate'))
        say(`A new secret is in use within three seconds; ${accepted} are accepted.`)
      }),
    )
  return command
}
