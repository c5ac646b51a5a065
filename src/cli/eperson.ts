import { randomBytes } from 'node:crypto'
import { Command } from 'commander'
import { passwordFault } from '../authn/password-rules.ts'
import { hashPassword } from '../authn/passwords.ts'
import type { Eperson } from '../model/accounts.ts'
import { Failure, findEperson, Misuse, noEperson } from './failures.ts'
import { type Json, jsonOption, sayResult, sayTable, tableOf } from './output.ts'
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
    .action(add)

  command.command('list').description('List all epersons.').option('--json', 'print JSON').action(list)

  command
    .command('disable <email>')
    .description('End all tokens of the eperson and refuse their logins.')
    .option(...jsonOption)
    .action((email: string, { json }: Json) => setEnabled(email, false, json))

  command
    .command('enable <email>')
    .description('Let the eperson log in again.')
    .option(...jsonOption)
    .action((email: string, { json }: Json) => setEnabled(email, true, json))

  command
    .command('logout')
    .argument('[email]', 'whose tokens end')
    .description('End all tokens of an eperson, or of everybody with --all, at once and on every device.')
    .option('--all', 'end the tokens of everybody')
    .option(...jsonOption)
    .action(logout)

  command
    .command('delete <email>')
    .description('Delete the eperson. Their tokens end at once.')
    .option(...jsonOption)
    .action(remove)

  command
    .command('password <email>')
    .description(
      'Set a new password. Earlier tokens end at once. Without --password-stdin it is generated and printed.',
    )
    .option('--password-stdin', 'read the password from standard input')
    .option(...jsonOption)
    .action(setPassword)

  command
    .command('factors <email>')
    .description('List the second factors of an eperson, and how many recovery codes are left.')
    .option(...jsonOption)
    .action(listFactors)

  command
    .command('reset-factors <email>')
    .description(
      'Remove all second factors and recovery codes of an eperson who has lost them. Their tokens end at once.',
    )
    .option(...jsonOption)
    .action(resetFactors)
  return command
}

interface AddOptions extends Json {
  passwordStdin?: boolean
  password?: boolean
  firstName?: string
  lastName?: string
  admin?: boolean
}

async function add(email: string, options: AddOptions): Promise<void> {
  if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw new Misuse(`${JSON.stringify(email)} is not an email address`)
  const { password, generated } =
    options.password === false ? noPassword : await choosePassword(email, options)
  const administrator = options.admin === true
  await withStoreOrNew(async ({ people }) => {
    const added = await people.addEperson(
      {
        email,
        firstName: options.firstName ?? null,
        lastName: options.lastName ?? null,
        passwordHash: password && (await hashPassword(password)),
        administrator,
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
      { ...shown, administrator, ...withPassword(generated) },
      `Added ${administrator ? 'administrator' : 'eperson'} ${email} (${added.uuid}).${inWords(generated)}`,
    )
  })
}

const list = ({ json }: Json): Promise<void> =>
  withStore(async ({ people }) =>
    sayTable(json, await people.listEpersons(), {
      ...epersonColumns,
      GROUPS: one => one.groups.join(', '),
      UUID: one => one.uuid,
    }),
  )

/** The first columns of every list of epersons. */
export const epersonColumns = {
  EMAIL: (one: Eperson): string => one.email,
  NAME: (one: Eperson): string => [one.firstName, one.lastName].filter(Boolean).join(' '),
  ENABLED: (one: Eperson): string => (one.enabled ? 'yes' : 'no'),
}

const setEnabled = (email: string, enabled: boolean, json: boolean | undefined): Promise<void> =>
  withStore(async ({ people }) => {
    const event = commandEvent(enabled ? 'eperson.enable' : 'eperson.disable')
    const outcome = await people.setEnabled(email, enabled, event)
    if (outcome === 'no-eperson') throw noEperson(email)
    const changed = outcome === 'changed'
    const state = `${changed ? '' : 'already '}${enabled ? 'enabled' : 'disabled'}`
    sayResult(json, { email, enabled, changed }, `${email} is ${state}.`)
  })

function logout(email: string | undefined, { all = false, json }: Json & { all?: boolean }): Promise<void> {
  if ((email === undefined) !== all) throw new Misuse('name one eperson, or give --all')
  return withStore(async ({ people, sessions }) => {
    if (email === undefined) {
      const epersons = await sessions.endAll(commandEvent('logout', 'everybody'))
      sayResult(json, { epersons, loggedOut: true }, `Ended all tokens of all ${epersons} epersons.`)
      return
    }
    const { uuid } = await findEperson(people, email)
    await sessions.logout(uuid, { ...commandEvent('logout'), eperson: uuid })
    sayResult(json, { email, loggedOut: true }, `Ended all tokens of ${email}.`)
  })
}

const remove = (email: string, { json }: Json): Promise<void> =>
  withStore(async ({ people }) => {
    const deleted = await people.deleteEperson(email, commandEvent('eperson.delete'))
    if (deleted === 'no-eperson') throw noEperson(email)
    sayResult(json, { email, deleted: true }, `Deleted ${email}.`)
  })

async function setPassword(email: string, options: AddOptions): Promise<void> {
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
}

const listFactors = (email: string, { json }: Json): Promise<void> =>
  withStore(async ({ factors, people }) => {
    const { uuid } = await findEperson(people, email)
    const { factors: found, recoveryCodes } = await factors.of(uuid)
    const list = found.map(({ id, kind, name, alone, created, used }) => ({
      id,
      kind,
      name,
      alone,
      created: new Date(created).toISOString(),
      lastUsed: used === null ? null : new Date(used).toISOString(),
    }))
    const asTable = () =>
      tableOf(list, {
        KIND: one => one.kind,
        NAME: one => one.name,
        'INSTEAD OF PASSWORD': one => (one.alone ? 'yes' : 'no'),
        CREATED: one => one.created,
        'LAST USED': one => one.lastUsed ?? '',
      })
    sayResult(
      json,
      { email, factors: list, recoveryCodes },
      list.length === 0
        ? `${email} has no second factor.`
        : `${asTable()}\nRecovery codes left: ${recoveryCodes}`,
    )
  })

const resetFactors = (email: string, { json }: Json): Promise<void> =>
  withStore(async ({ factors, people }) => {
    const { uuid } = await findEperson(people, email)
    const removed = await factors.reset(uuid, { ...commandEvent('factor.reset'), eperson: uuid })
    sayResult(json, { email, removed }, `Removed ${removed} second factors of ${email}.`)
  })

const noPassword = { password: null, generated: null }

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
