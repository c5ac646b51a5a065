import { Command } from 'commander'
import { readToken } from '../authn/new-access-token.ts'
import { Problem } from '../http/problems.ts'
import { maxAccessTokens, newAccessToken, shownAccessToken } from '../model/access-tokens.ts'
import { Failure, findEperson, isDisabled, Misuse } from './failures.ts'
import { type Json, jsonOption, sayResult, sayTable } from './output.ts'
import { commandEvent, withStore } from './store.ts'

interface AddOptions extends Json {
  readonly name: string
  readonly methods?: string
  readonly parts?: string
  readonly entities?: string
  readonly networks?: string
  readonly expires?: string
}

/** `carrel access-token …`: tokens for programs (K1–K6). */
export function accessTokenCommand(): Command {
  const command = new Command('access-token').description('Manage access tokens of programs.')

  command
    .command('add <email>')
    .description('Make an access token and print it, once. Without --methods it only reads.')
    .requiredOption('--name <name>', 'what it is for; no two of an eperson have the same')
    .option('--methods <methods>', 'such as GET,POST; the default is GET')
    .option('--parts <parts>', 'parts of the API, such as query,items; the default is all')
    .option('--entities <entities>', 'only these entities of the query endpoints')
    .option('--networks <networks>', 'only from these addresses and networks, such as 192.0.2.0/24')
    .option('--expires <time>', 'such as 2030-01-31T12:00Z; the default is in 30 days')
    .option(...jsonOption)
    .action(add)

  command
    .command('list [email]')
    .description('List the access tokens of an eperson, or of all. Their secrets are never shown again.')
    .option(...jsonOption)
    .action(list)

  command
    .command('revoke [id]')
    .description('Revoke an access token, or with --all <email> every one of an eperson, at once.')
    .option('--all <email>', 'the eperson')
    .option(...jsonOption)
    .action(revoke)
  return command
}

const add = (email: string, options: AddOptions): Promise<void> =>
  withStore(async ({ accessTokens, people, clock }, { accessTokenLifetime }) => {
    if (accessTokenLifetime === 0)
      throw new Failure('CARREL_ACCESS_TOKEN_LIFETIME is 0, so there are no access tokens')
    const { uuid: eperson } = await findEperson(people, email)
    const created = clock.now()
    const wanted = await readOptions(options, created, accessTokenLifetime * 1000)
    const { id, token, hash } = newAccessToken()
    const event = { ...commandEvent('token.add', id), eperson }
    const outcome = await accessTokens.add({ ...wanted, id, hash, eperson, created }, event)
    if (outcome === 'name-taken')
      throw new Failure(`${email} has an access token of this name; choose another one, or revoke it`)
    if (outcome === 'too-many')
      throw new Failure(
        `${email} has ${maxAccessTokens} access tokens; \`carrel access-token list ${email}\` shows them`,
      )
    if (outcome === 'no-eperson') throw isDisabled(email)
    sayResult(options.json, { id, token, expires: inWords(wanted.expires) }, token)
  })

const list = (email: string | undefined, { json }: Json): Promise<void> =>
  withStore(async ({ accessTokens, people }) => {
    const owner = email === undefined ? null : (await findEperson(people, email)).uuid
    const emails = new Map((await people.listEpersons()).map(one => [one.uuid, one.email]))
    const found = (await accessTokens.list(owner)).map(({ id, eperson, name, scope, ...token }) => ({
      id,
      email: emails.get(eperson) ?? eperson,
      name,
      prefix: shownAccessToken(id),
      ...scope,
      networks: token.networks,
      created: inWords(token.created),
      expires: inWords(token.expires),
      lastUsed: token.used === null ? null : inWords(token.used),
    }))
    sayTable(json, found, {
      ID: one => one.id,
      EMAIL: one => one.email,
      NAME: one => one.name,
      METHODS: one => one.methods.join(','),
      EXPIRES: one => one.expires,
      'LAST USED': one => one.lastUsed ?? '',
    })
  })

function revoke(id: string | undefined, { all, json }: Json & { all?: string }): Promise<void> {
  if ((id === undefined) === (all === undefined))
    throw new Misuse('name either the id of an access token or, with --all, an eperson')
  return withStore(async ({ accessTokens, people }) => {
    if (id !== undefined) {
      if (!(await accessTokens.revoke(id, null, commandEvent('token.revoke', id))))
        throw new Failure(`there is no access token ${id}; \`carrel access-token list\` shows all`)
      sayResult(json, { id, revoked: true }, `Revoked ${id}.`)
      return
    }
    const { uuid } = await findEperson(people, all ?? '')
    const event = { ...commandEvent('token.revoke', 'all'), eperson: uuid }
    const revoked = await accessTokens.revokeAll(uuid, event)
    sayResult(json, { email: all, revoked }, `Revoked ${revoked} access tokens of ${all}.`)
  })
}

async function readOptions({ json: _, name, expires, ...lists }: AddOptions, now: number, longest: number) {
  const given = Object.fromEntries(
    Object.entries(lists).map(([option, text]) => [option, text.split(',').map((one: string) => one.trim())]),
  )
  try {
    return await readToken(
      { ...given, name, ...(expires === undefined ? {} : { expires }) },
      { now, longest },
    )
  } catch (error) {
    if (error instanceof Problem) throw new Misuse(error.message)
    throw error
  }
}

const inWords = (time: number) => new Date(time).toISOString()
