import { createTickets } from '../authn/tickets.ts'
import type { Config } from '../config/config.ts'
import type { Store } from '../features.ts'
import { isLocal } from '../http/same-machine.ts'
import { administrator, type Demo, type NoDemo } from './demo.ts'
import { ownCommand } from './given-path.ts'
import { announce } from './output.ts'
import { placeOf } from './store.ts'

/**
 * Prints a link that logs in as the demo's administrator once (L11). It is for a person who starts the demo on
 * their own machine, so it is printed on a terminal only.
 */
export async function inviteAdministrator(
  config: Config,
  { people, clock, identities }: Store,
): Promise<void> {
  const terminal = terminalOf()
  if (!terminal.isTTY || !config.console || !isLocal(config)) return
  const known = await people.credentials(administrator)
  if (!known?.enabled) return
  const { issueLoginLink } = await import('../authn/login.ts')
  const link = await issueLoginLink(createTickets(identities, clock), config.baseUrl, known)
  terminal.write(`To log in there as ${administrator}, once and within a minute, open ${link}\n`)
}

/** Says what became of the demo that was asked for. */
export async function tellDemo(created: Demo | NoDemo, config: Config): Promise<void> {
  if (created === 'in use')
    announce(
      'info',
      'The store was in use before, so nothing was added. For a new password of a demo eperson, run ' +
        `\`${ownCommand()} eperson password reader@example.org\`.`,
      { msg: 'the store was in use before: no demo was added' },
    )
  else if (created === 'incomplete')
    announce('warn', 'The demo is incomplete, and was left so, because the store was used since.', {
      msg: 'the demo is incomplete: the store was used since',
    })
  else if (created === 'elsewhere')
    announce('info', 'Another process is adding the demo, which was left to it.', {
      msg: 'another process is adding the demo',
    })
  else if (created !== 'stopped' && (await introduce(created, config))) await created.finish()
}

/** The stream for what a person reads at the start. */
const terminalOf = () => (process.stdout.isTTY ? process.stdout : process.stderr)

/**
 * Prints the introduction, which is for a person, to standard error if the output is a log. Passwords are
 * shown on a terminal only: a program that starts a service is likely to keep the output (L10).
 * @returns true once it has been written
 */
function introduce(demo: Demo, config: Config): Promise<boolean> {
  const stream = terminalOf()
  const text = demo.introduction({
    store: placeOf(config),
    withPasswords: stream.isTTY,
  })
  return new Promise(resolve => stream.write(`${text}\n`, fault => resolve(!fault)))
}
