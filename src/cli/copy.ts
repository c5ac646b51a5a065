import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { type Config, toConfig } from '../config/config.ts'
import { placeText } from '../config/files-place.ts'
import { openFiles } from '../files/open-files.ts'
import { OtherStore } from '../files/owner.ts'
import { readDatabaseAddress } from '../lib/database-address.ts'
import { openDump } from '../storage/copy/dump.ts'
import { Failure, Misuse } from './failures.ts'
import { givenPath } from './given-path.ts'
import { withProgress } from './long-work.ts'
import { type Json, jsonOption, sayResult, tableOf } from './output.ts'
import { commandEvent, withStore } from './store.ts'

interface Options extends Json {
  readonly to?: string
  readonly passwordFile?: string
  readonly finish?: boolean
}

/** `carrel copy`: moves an embedded store to PostgreSQL, tokens included (docs/decisions/0016). */
export function copyCommand(): Command {
  return new Command('copy')
    .description(
      'Copy the embedded store of CARREL_DATA to an empty PostgreSQL database. The embedded store stays as it is.',
    )
    .option(
      '--to <url>',
      'the database, as postgres://user@host:port/database; its password comes from PGPASSWORD or a file',
    )
    .option('--password-file <file>', 'read the password from this file')
    .option(
      '--finish',
      'with the settings of the copy: give it the folder of files, which belongs to the embedded store until then',
    )
    .option(...jsonOption)
    .action(({ to, passwordFile, finish, json }: Options) => {
      if ((to === undefined) === (finish !== true)) throw new Misuse('give either --to <url> or --finish')
      if (to === undefined) return finishCopy(json)
      return copyTo(readAddress(to, passwordFile), toConfig(process.env), json)
    })
}

/** @throws Misuse for a password, too: all users of the machine can see the arguments of a process */
function readAddress(to: string, passwordFile: string | undefined): string {
  const url = URL.parse(to)
  if (!url || typeof readDatabaseAddress(to) !== 'object')
    throw new Misuse('--to takes postgres://user@host:port/database')
  if (url.password !== '' || url.searchParams.has('password'))
    throw new Misuse(
      'other users of this machine can see a password on the command line; leave it out of --to, ' +
        'and set PGPASSWORD or give --password-file',
    )
  if (passwordFile === undefined) return to
  try {
    const password = readFileSync(givenPath(passwordFile), 'utf8').replace(/\r?\n$/, '')
    url.password = encodeURIComponent(password)
  } catch (error) {
    throw new Failure(`${passwordFile} can't be read (${(error as NodeJS.ErrnoException).code})`)
  }
  return url.href
}

async function copyTo(url: string, config: Config, json: boolean | undefined): Promise<void> {
  if (config.database.kind !== 'embedded')
    throw new Failure('only an embedded store can be copied; unset CARREL_DATABASE_URL')
  const { copyToPostgres } = await import('../storage/copy/to-postgres.ts')
  const dump = openDump(config.dataFolder)
  try {
    const parts = await withProgress(({ update }) =>
      copyToPostgres(url, dump, config.tokenSecrets, commandEvent('store.copy'), update),
    )
    sayResult(
      json,
      { parts },
      `${tableOf(parts, {
        COPIED: one => one.part,
        ROWS: one => one.rows,
        'SHA-256, SENT AND READ BACK': one => one.sha256,
      })}\n\n${nextSteps(config)}`,
    )
  } finally {
    dump.close()
  }
}

const nextSteps = ({ files, tokenSecrets }: Config): string =>
  [
    'The embedded store was not changed. To switch to the copy:',
    `  1. Set CARREL_DATABASE_URL to the new database, and CARREL_FILES to ${placeText(files)}.`,
    ...(tokenSecrets.length > 0 ? ['     Keep CARREL_TOKEN_SECRET as it is.'] : []),
    '  2. Run `carrel copy --finish`, which gives the copy the files.',
    '  3. Start the service. Tokens stay valid.',
  ].join('\n')

const finishCopy = (json: boolean | undefined): Promise<void> =>
  withStore(async ({ repository }, { database, files: place }) => {
    if (database.kind === 'embedded')
      throw new Failure(
        '--finish is for the copy; set CARREL_DATABASE_URL to the database that was copied to',
      )
    if ((await repository.copiedFrom()) === null)
      throw new Failure('the store of CARREL_DATABASE_URL was not made by `carrel copy`')
    const files = await openFiles(place, repository)
    if (!(await files.takeOver())) throw new OtherStore(files.place)
    sayResult(
      json,
      { files: files.place, store: await repository.storeId() },
      `${files.place} now belongs to the copy. The embedded store no longer deletes anything there.`,
    )
  })
