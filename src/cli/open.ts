import { spawn } from 'node:child_process'
import { Command } from 'commander'
import { issueLoginLink, linkLifetime } from '../authn/login.ts'
import { createTickets } from '../authn/tickets.ts'
import { toConfig } from '../config/config.ts'
import { isLocal } from '../http/same-machine.ts'
import { Failure, findEperson, isDisabled } from './failures.ts'
import { type Json, jsonOption, sayResult } from './output.ts'
import { withStore } from './store.ts'

/** `carrel open`: the console of the service, for an eperson who need not type a password (L11). */
export function openCommand(): Command {
  return new Command('open')
    .argument('[email]', 'an eperson to log in, once and within a minute, on the machine of the service')
    .description('Print the address of the console, and open it in a browser if this is a terminal.')
    .option(...jsonOption)
    .action(async (email: string | undefined, { json }: Json) => {
      const config = toConfig(process.env)
      const { baseUrl } = config
      if (!config.console)
        throw new Failure('the console is switched off; CARREL_CONSOLE=true switches it on')
      if (email !== undefined && !isLocal(config))
        throw new Failure(
          'a login link works only where CARREL_BASE_URL is a loopback address and CARREL_TRUSTED_PROXIES is not set; log in with a password instead',
        )
      const address = email === undefined ? `${baseUrl}/` : await linkFor(email, baseUrl)
      sayResult(json, { address }, address)
      if (process.stdout.isTTY) openInBrowser(address)
    })
}

const linkFor = (email: string, baseUrl: string): Promise<string> =>
  withStore(async ({ people, clock, identities }) => {
    const known = await findEperson(people, email)
    if (!known.enabled) throw isDisabled(email)
    process.stderr.write(`The link logs ${email} in once, within ${linkLifetime} seconds.\n`)
    return issueLoginLink(createTickets(identities, clock), baseUrl, known)
  })

/** Commands that open an address in the user's browser. A machine without a desktop may lack them. */
const openers: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['explorer'],
}

function openInBrowser(address: string): void {
  const [program, ...args] = openers[process.platform] ?? ['xdg-open']
  spawn(program, [...args, address], { detached: true, stdio: 'ignore' })
    .on('error', () => {})
    .unref()
}
