import { randomBytes } from 'node:crypto'
import { Command } from 'commander'
import { createPasswords } from '../authn/passwords.ts'
import type { Changed } from '../storage/accounts.ts'
import { Failure, Misuse } from './failures.ts'
import { say, sayList, table } from './output.ts'
import { commandEvent, withStore, withStoreOrNew } from './store.ts'

/** `carrel eperson …`: who may log in. */
export function epersonCommand(): Command {
  const command = new Command('eperson').description('Manage epersons (users).')

  command
    .command('add <email>')
    .description('Add an eperson. Without --password-stdin a password is generated and printed.')
    .option('--password-stdin', 'read the password from standard input')
    .option('--no-password', 'an account that can not log in by password')
    .option('--first-name <name>')
    .option('--last-name <name>')
    .option('--admin', 'make it an administrator')
    .action(async (email: string, options: AddOptions) => {
      if (!/^[^\s@]+@[^\s@]+$/.test(email))
        throw new Misuse(`${JSON.stringify(email)} is not an e-mail address`)
      const { password, generated } = options.password === false ? noPassword : await choosePassword(options)
      await withStoreOrNew(async ({ accounts }) => {
        const added = await accounts.addEperson(
          {
            email,
            firstName: options.firstName ?? null,
            lastName: options.lastName ?? null,
            passwordHash: password && (await hash(password)),
            administrator: options.admin === true,
          },
          commandEvent('eperson.add'),
        )
        if (added === 'exists')
          throw new Failure(
            `there is an eperson ${email} already; change it with «carrel eperson password ${email}»`,
          )
        say(`Added ${options.admin ? 'administrator' : 'eperson'} ${email} (${added.uuid}).`)
        if (generated !== null) say(`Password: ${generated}`)
      })
    })

  command
    .command('list')
    .description('List all epersons.')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) =>
      withStore(async ({ accounts }) => {
        const epersons = await accounts.listEpersons()
        sayList(json, epersons, () =>
          table(
            ['EMAIL', 'NAME', 'ENABLED', 'GROUPS', 'UUID'],
            epersons.map(one => [
              one.email,
              [one.firstName, one.lastName].filter(Boolean).join(' '),
              one.enabled ? 'yes' : 'no',
              one.groups.join(', '),
              one.uuid,
            ]),
          ),
        )
      }),
    )

  for (const [verb, enabled] of [
    ['disable', false],
    ['enable', true],
  ] as const)
    command
      .command(`${verb} <email>`)
      .description(
        enabled ? 'Let the eperson log in again.' : 'End all tokens of the eperson and refuse its logins.',
      )
      .action((email: string) =>
        withStore(async ({ accounts }) => {
          const event = commandEvent(enabled ? 'eperson.enable' : 'eperson.disable')
          const changed = await accounts.setEnabled(email, enabled, event)
          tell(
            changed,
            email,
            `${email} is ${enabled ? 'enabled' : 'disabled'}${changed === 'unchanged' ? ' already' : ''}.`,
          )
        }),
      )

  command
    .command('delete <email>')
    .description('Delete the eperson; its tokens end at once.')
    .action((email: string) =>
      withStore(async ({ accounts }) =>
        tell(await accounts.deleteEperson(email, commandEvent('eperson.delete')), email, `Deleted ${email}.`),
      ),
    )

  command
    .command('password <email>')
    .description(
      'Set a new password; tokens made before end at once. Without --password-stdin it is generated and printed.',
    )
    .option('--password-stdin', 'read the password from standard input')
    .action(async (email: string, options: AddOptions) => {
      const { password, generated } = await choosePassword(options)
      await withStore(async ({ accounts }) => {
        tell(
          await accounts.setPassword(email, await hash(password), commandEvent('eperson.password')),
          email,
          `Set the password of ${email}.`,
        )
        if (generated !== null) say(`Password: ${generated}`)
      })
    })
  return command
}

interface AddOptions {
  passwordStdin?: boolean
  password?: boolean
  firstName?: string
  lastName?: string
  admin?: boolean
}

const noPassword = { password: null, generated: null }

function tell(changed: Changed, email: string, done: string): void {
  if (changed === 'no-eperson')
    throw new Failure(`there is no eperson ${email}; «carrel eperson list» shows all`)
  say(done)
}

const hash = (password: Uint8Array) => createPasswords({ atOnce: 1, waiting: 0 }).hash(password)

/** 120 random bits, without characters that shells or eyes trip over. */
export const generatePassword = (): string =>
  randomBytes(15).toString('base64url').replaceAll('_', 'A').replaceAll('-', 'B')

async function choosePassword({ passwordStdin }: AddOptions) {
  if (!passwordStdin) {
    const generated = generatePassword()
    return { password: Buffer.from(generated), generated }
  }
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  const input = Buffer.concat(chunks)
  // The line end is the terminal's (or echo's), the rest is the password, byte by byte.
  const end = input.at(-1) === 0x0a ? (input.at(-2) === 0x0d ? -2 : -1) : input.length
  const password = input.subarray(0, end)
  if (password.length === 0) throw new Misuse('standard input is empty; pipe the password into the command')
  return { password, generated: null }
}
