import { Command } from 'commander'
import { Failure } from './failures.ts'
import { type Json, jsonOption, sayResult } from './output.ts'
import { commandEvent, withStore } from './store.ts'

/** `carrel secret rotate`: a new signing secret, without logging anyone out (T7). */
export function secretCommand(): Command {
  const command = new Command('secret').description('Manage the secret that tokens are signed with.')
  command
    .command('rotate')
    .description(
      'Sign with a new secret. Tokens that were signed with an old one stay valid until they expire.',
    )
    .option(...jsonOption)
    .action(({ json }: Json) =>
      withStore(async ({ secrets }, config) => {
        if (config.tokenSecrets.length > 0)
          throw new Failure(
            'CARREL_TOKEN_SECRET sets the secret; to rotate it, write a new one and a comma before the old one there',
          )
        const accepted = await secrets.rotate(commandEvent('secret.rotate'))
        sayResult(
          json,
          { accepted },
          `Tokens are signed with a new secret within three seconds. ${accepted} secrets are accepted.`,
        )
      }),
    )
  return command
}
