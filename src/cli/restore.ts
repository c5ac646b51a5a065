import { Command } from 'commander'
import { openBackups } from '../admin/backup/open-backups.ts'
import { type RestoreReport, restore } from '../admin/backup/restore.ts'
import { openStream } from '../admin/backup/stream.ts'
import { type Config, toConfig } from '../config/config.ts'
import { placeText } from '../config/files-place.ts'
import { openFiles } from '../files/open-files.ts'
import { shellQuoted } from '../items/ingest/readers.ts'
import type { ExposedEntity } from '../storage/copy/snapshot.ts'
import { Failure } from './failures.ts'
import { givenPlace } from './given-path.ts'
import { withProgress } from './long-work.ts'
import { type Json, jsonOption, printable, sayResult } from './output.ts'
import { commandEvent, placeOf, restorePlace, withStore } from './store.ts'

interface Options extends Json {
  readonly backup?: string
  readonly keepSessions?: boolean
}

/** `carrel restore` (D8, docs/decisions/0025). */
export function restoreCommand(): Command {
  return new Command('restore')
    .description('Make a store from a backup, in an empty data folder or an empty PostgreSQL database.')
    .argument(
      '<folder|->',
      'a folder of backups, or a bucket as s3://bucket/prefix; -: a tar archive on standard input',
    )
    .option('--backup <name>', 'which backup of the folder (default: the newest)')
    .option(
      '--keep-sessions',
      'let tokens from before the backup stay valid, including those that have been logged out since (default: everyone logs in again)',
    )
    .option(...jsonOption)
    .action(restoreFrom)
}

async function restoreFrom(from: string, { backup, keepSessions, json }: Options): Promise<void> {
  const config = toConfig(process.env)
  const report = await withProgress(({ update }) =>
    restore(
      work =>
        from === '-' ? openStream(process.stdin, work) : openBackups(givenPlace(from, config), 'read'),
      restorePlace(config),
      {
        name: backup,
        endSessions: keepSessions !== true,
        tokenSecrets: config.tokenSecrets,
        event: commandEvent('store.restore'),
      },
      update,
    ),
  )
  // The restored store opens, and owns the folder of files from now on.
  const ownsFiles = await withStore(async ({ repository }) =>
    (await openFiles(config.files, repository)).claim(),
  )
  const { name, manifest } = report
  const { contents, lost, exposed } = manifest
  sayResult(json, { name, contents, lost, exposed }, describe(report, config, keepSessions === true))
  if (!ownsFiles)
    throw new Failure(
      `the store was restored, but ${placeText(config.files)} has got another owner meanwhile, so no files can be added`,
    )
}

function describe({ name, manifest }: RestoreReport, config: Config, keptSessions: boolean): string {
  const { contents, lost, exposed } = manifest
  return [
    `Restored ${name} into ${placeOf(config)}: ${contents.count.toLocaleString('en')} files in ${placeText(config.files)}.`,
    ...lost.map(
      ({ sha256, files }) =>
        `Not in the backup, because the store had lost it: ${sha256} of ${files.map(printable).join('; ')}`,
    ),
    ...(exposed.length === 0
      ? []
      : ['Tables of your own are not in a backup. Where they are in this database, expose them again:']),
    ...exposed.map(exposeAgain),
    keptSessions
      ? 'Tokens from before the backup are valid, including those that have been logged out since.'
      : 'Everyone has to log in again.',
  ].join('\n')
}

/** Writes the command that made an exposed table an entity. */
const exposeAgain = ({ name, schema, table, key, fields, read }: ExposedEntity): string => {
  const quoted = (text: string) => shellQuoted(printable(text))
  const part = (text: string) => (/[."]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  return (
    `  carrel expose ${quoted(`${part(schema)}.${part(table)}`)} --entity ${name} --key ${quoted([key].flat().join(','))} ` +
    `--fields ${quoted(fields.join(','))} --read ${quoted(read)}`
  )
}
