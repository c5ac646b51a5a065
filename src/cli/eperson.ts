import { randomBytes } from 'node:crypto'
import { Command } from 'commander'
import { passwordFault } from '../authn/password-rules.ts'
import { hashPassword } from '../authn/passwords.ts'
import type { Sessions } from '../storage/sessions.ts'
import type { Storage } from '../storage/storage.ts'
import { Failure, Misuse } from './failures.ts'
import { type Json, jsonOption, sayList, sayResult, table } from './output.ts'
import { commandEvent, withStore, withStoreOrNew } from './store.ts'

/** `carrel eperson …`: the users who may log in. */
export function epersonCommand(): Command {
  const command = new Command('eperson').description('Manage epersons (users).')

  command
    .command('add <email>')
    .description('Add an eperson. Without --password-stdin a password is generated and printed.')
    .option('--password-stdin', 'read the password from standard input')
    .option('--no-password', 'add an account that cannot log in by password')
    .option('--first-name <name>', 'their first name')
    .option('--last-name <name>', 'their last name')
    .option('--admin', 'make them an administrator')
    .option(...jsonOption)
    .action(async (email: string, options: AddOptions) => {
      if (!/^[^\s@]+@[^\s@]+$/.test(email))
        throw new Misuse(`${JSON.stringify(email)} is not an email address`)
      const { password, generated } =
        options.password === false ? noPassword : await choosePassword(email, options)
      await withStoreOrNew(async ({ people }) => {
        const added = await people.addEperson(
          {
            email,
            firstName: options.firstName ?? null,
            lastName: options.lastName ?? null,
            passwordHash: password && (await hashPassword(password)),
            administrator: options.admin === true,
          },
          commandEvent('eperson.add'),
        )
        if (added === 'exists')
          throw new Failure(
            `an eperson ${email} already exists; \`carrel eperson password ${email}\` sets their password`,
          )
        const { profile: _, ...shown } = added
        sayResult(
          options.json,
          { ...shown, administrator: options.admin === true, ...withPassword(generated) },
          `Added ${options.admin ? 'administrator' : 'eperson'} ${email} (${added.uuid}).${inWords(generated)}`,
        )
      })
    })

  command
    .command('list')
    .description('List all epersons.')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) =>
      withStore(async ({ people }) => {
        const epersons = await people.listEpersons()
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
        enabled ? 'Let the eperson log in again.' : 'End all tokens of the eperson and refuse their logins.',
      )
      .option(...jsonOption)
      .action((email: string, { json }: Json) =>
        withStore(async ({ people }) => {
          const event = commandEvent(enabled ? 'eperson.enable' : 'eperson.disable')
          const changed = await people.setEnabled(email, enabled, event)
          if (changed === 'no-eperson') throw noEperson(email)
          const [already, state] = [
            changed === 'unchanged' ? 'already ' : '',
            enabled ? 'enabled' : 'disabled',
          ]
          sayResult(
            json,
            { email, enabled, changed: changed === 'changed' },
            `${email} is ${already}${state}.`,
          )
        }),
      )

  command
    .command('logout')
    .argument('[email]', 'whose tokens end')
    .description('End all tokens of an eperson, or of everybody with --all, at once and on every device.')
    .option('--all', 'end the tokens of everybody')
    .option(...jsonOption)
    .action((email: string | undefined, { all = false, json }: LogoutOptions) => {
      if ((email === undefined) !== all) throw new Misuse('name one eperson, or give --all')
      return withStore(({ people, sessions }) =>
        email === undefined ? logoutAll(sessions, json) : logout({ people, sessions }, email, json),
      )
    })

  command
    .command('delete <email>')
    .description('Delete the eperson. Their tokens end at once.')
    .option(...jsonOption)
    .action((email: string, { json }: Json) =>
      withStore(async ({ people }) => {
        const deleted = await people.deleteEperson(email, commandEvent('eperson.delete'))
        if (deleted === 'no-eperson') throw noEperson(email)
        sayResult(json, { email, deleted: true }, `Deleted ${email}.`)
      }),
    )

  command
    .command('password <email>')
    .description(
      'Set a new password. Earlier tokens end at once. Without --password-stdin it is generated and printed.',
    )
    .option('--password-stdin', 'read the password from standard input')
    .option(...jsonOption)
    .action(async (email: string, options: AddOptions) => {
      const { password, generated } = await choosePassword(email, options)
      await withStore(async ({ people }) => {
        const event = commandEvent('eperson.password')
        const changed = await people.setPassword({ email }, await hashPassword(password), event)
        if (changed === 'no-eperson') throw noEperson(email)
        sayResult(
          options.json,
          { email, ...withPassword(generated) },
          `Set the password of ${email}.${inWords(generated)}`,
        )
      })
    })

  command
    .command('factors <email>')
    .description('List the second factors of an eperson, and how many recovery codes are left.')
    .option(...jsonOption)
    .action((email: string, { json }: Json) =>
      withStore(async ({ factors, people }) => {
        const known = await people.credentials(email)
        if (!known) throw noEperson(email)
        const { factors: found, recoveryCodes } = await factors.of(known.uuid)
        const list = found.map(({ id, kind, name, alone, created, used }) => ({
          id,
          kind,
          name,
          alone,
          created: new Date(created).toISOString(),
          lastUsed: used === null ? null : new Date(used).toISOString(),
        }))
        sayResult(
          json,
          { email, factors: list, recoveryCodes },
          list.length === 0
            ? `${email} has no second factor.`
            : `${table(
                ['KIND', 'NAME', 'INSTEAD OF PASSWORD', 'CREATED', 'LAST USED'],
                list.map(one => [
                  one.kind,
                  one.name,
                  one.alone ? 'yes' : 'no',
                  one.created,
                  one.lastUsed ?? '',
                ]),
              )}\nRecovery codes left: ${recoveryCodes}`,
        )
      }),
    )

  command
    .command('reset-factors <email>')
    .description(
      'Remove all second factors and recovery codes of an eperson who has lost them. Their tokens end at once.',
    )
    .option(...jsonOption)
    .action((email: string, { json }: Json) =>
      withStore(async ({ factors, people }) => {
        const known = await people.credentials(email)
        if (!known) throw noEperson(email)
        const event = { ...commandEvent('factor.reset'), eperson: known.uuid }
        const removed = await factors.reset(known.uuid, event)
        sayResult(json, { email, removed }, `Removed ${removed} second factors of ${email}.`)
      }),
    )
  return command
}

interface LogoutOptions extends Json {
  all?: boolean
}

async function logout(
  { people, sessions }: Pick<Storage, 'people' | 'sessions'>,
  email: string,
  json: boolean | undefined,
): Promise<void> {
  const known = await people.credentials(email)
  if (!known) throw noEperson(email)
  await sessions.logout(known.uuid, { ...commandEvent('logout'), eperson: known.uuid })
  sayResult(json, { email, loggedOut: true }, `Ended all tokens of ${email}.`)
}

async function logoutAll(sessions: Sessions, json: boolean | undefined): Promise<void> {
  const epersons = await sessions.endAll(commandEvent('logout', 'everybody'))
  sayResult(json, { epersons, loggedOut: true }, `Ended all tokens of all ${epersons} epersons.`)
}

interface AddOptions extends Json {
  passwordStdin?: boolean
  password?: boolean
  firstName?: string
  lastName?: string
  admin?: boolean
}

const noPassword = { password: null, generated: null }

const noEperson = (email: string) =>
  new Failure(`there is no eperson ${email}; \`carrel eperson list\` shows all`)

/** A generated password is shown once; one that was given is never shown. */
const withPassword = (generated: string | null) => (generated === null ? {} : { password: generated })
const inWords = (generated: string | null) => (generated === null ? '' : `\nPassword: ${generated}`)

/**
 * Makes a password of 120 random bits, without characters that shells treat specially or that are easily
 * misread.
 */
export const generatePassword = (): string =>
  randomBytes(15).toString('base64url').replaceAll('_', 'A').replaceAll('-', 'B')

async function choosePassword(email: string, { passwordStdin }: AddOptions) {
  if (!passwordStdin) {
    const generated = generatePassword()
    return { password: Buffer.from(generated), generated }
  }
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  const input = Buffer.concat(chunks)
  // The final line ending comes from the terminal or from echo. The rest is the password, byte for byte.
  const end = input.at(-1) === 0x0a ? (input.at(-2) === 0x0d ? -2 : -1) : input.length
  const password = input.subarray(0, end)
  if (password.length === 0) throw new Misuse('standard input is empty; pipe the password into the command')
  const fault = await passwordFault(password, email)
  if (fault !== undefined) throw new Misuse(`the password ${fault}`)
  return { password, generated: null }
}
