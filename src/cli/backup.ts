import { Command, InvalidArgumentError } from 'commander'
import { type BackupReport, backUpTo } from '../admin/backup/backup.ts'
import { type Made, type Progress, sourceOf } from '../admin/backup/make.ts'
import { openBackups } from '../admin/backup/open-backups.ts'
import { backUpToStream } from '../admin/backup/stream.ts'
import { type VerifiedBackup, verifyBackups } from '../admin/backup/verify.ts'
import { toConfig } from '../config/config.ts'
import type { Store } from '../features.ts'
import { quantity } from '../lib/quantities.ts'
import { Misuse } from './failures.ts'
import { givenPlace } from './given-path.ts'
import { asProcess, withProgress } from './long-work.ts'
import { type Json, jsonOption, printable, sayResult } from './output.ts'
import { commandEvent, withStore } from './store.ts'

interface Options extends Json {
  readonly keep: number
}

/** `carrel backup` (D8, docs/decisions/0025). */
export function backupCommand(): Command {
  const command = new Command('backup')
    .description('Back up the whole store, while it is in use: accounts, entities, items, files, secrets.')
    .argument(
      '<folder|->',
      'a folder for backups alone, or a bucket as s3://bucket/prefix; -: a tar archive on standard output',
    )
    .option('--keep <number>', 'how many backups of this store to keep in the folder', positive, 7)
    .option(...jsonOption)
    .action((to: string, { keep, json }: Options, own: Command) => {
      if (to !== '-') return toFolder(to, keep, json)
      if (json || own.getOptionValueSource('keep') !== 'default')
        throw new Misuse(
          '--keep and --json are for a folder of backups; - writes one backup to standard output',
        )
      return toStream()
    })
  command
    .command('verify')
    .description('Read every backup of a folder again, and compare every file with its SHA-256.')
    .argument('<folder>', 'a folder of backups, or s3://bucket/prefix')
    .option(...jsonOption)
    .action(async (folder: string, _: Json, own: Command) => {
      // The outer command has this option as well, and takes it.
      const { json } = own.optsWithGlobals<Json>()
      const place = givenPlace(folder, toConfig(process.env))
      const opened = await openBackups(place, 'read')
      const backups = await withProgress(({ update }) => verifyBackups(opened, update))
      sayResult(json, { backups }, backups.map(describeVerified).join('\n'))
      if (backups.some(({ problems }) => problems.length > 0)) process.exitCode = 1
    })
  return command
}

function positive(text: string): number {
  const number = Number(text)
  if (!Number.isInteger(number) || number < 1)
    throw new InvalidArgumentError('give a whole number from 1 on.')
  return number
}

/** Shows the progress of a backup as a bar, and in the list of processes. */
const listed = <T extends Made & { readonly name: string }>(
  storage: Store,
  parameters: Readonly<Record<string, string>>,
  work: (progress: Progress) => Promise<T>,
): Promise<T> =>
  withProgress(shown =>
    asProcess(
      storage,
      { kind: 'backup', parameters },
      shown,
      ({ signal, progress }) =>
        work((step, share) => {
          signal.throwIfAborted()
          progress(step, share)
        }),
      ({ name, copied, manifest }) => ({
        name,
        files: manifest.contents.count,
        copied: copied.count,
        lost: manifest.lost.length,
      }),
    ),
  )

/** Backs up to a folder. The trail says when the last backup was completed; no backup has its own event. */
const toFolder = (path: string, keep: number, json: boolean | undefined): Promise<void> =>
  withStore(async (storage, config) => {
    const { trail } = storage
    const place = givenPlace(path, config)
    const source = await sourceOf(config, storage.repository)
    const report = await listed(storage, { keep: String(keep) }, async progress =>
      backUpTo(await openBackups(place, 'write'), source, keep, progress),
    )
    await trail.record(commandEvent('store.backup', report.name))
    const { name, newest, copied, pruned, manifest } = report
    const { contents, lost } = manifest
    sayResult(json, { name, newest, contents, copied, removed: pruned, lost }, describe(report))
    if (lost.length > 0 || pruned.unreadable !== undefined) process.exitCode = 1
  })

const toStream = (): Promise<void> =>
  withStore(async (storage, config) => {
    const { trail } = storage
    const source = await sourceOf(config, storage.repository)
    const made = await listed(storage, { to: 'standard output' }, progress =>
      backUpToStream(process.stdout, source, progress),
    )
    await trail.record(commandEvent('store.backup', made.name))
    process.stderr.write(
      describeMade(made)
        .map(line => `${line}\n`)
        .join(''),
    )
    if (made.manifest.lost.length > 0) process.exitCode = 1
  })

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`

const describeMade = ({ name, copied, manifest: { contents, lost } }: Made & { readonly name: string }) => [
  ...lost.map(
    ({ sha256, files }) => `missing or damaged in the store: ${sha256} of ${files.map(printable).join('; ')}`,
  ),
  `Backup ${name}: ${quantity(contents.count, 'file')} (${megabytes(contents.bytes)}), of which ` +
    `${copied.count.toLocaleString('en')} (${megabytes(copied.bytes)}) ${copied.count === 1 ? 'was' : 'were'} copied.`,
]

function describe(report: BackupReport): string {
  const { name, newest, pruned } = report
  const { backups, contents, unreadable } = pruned
  return [
    ...describeMade(report),
    ...(newest === name
      ? []
      : [
          `The folder has ${newest}, which was made by a clock that is ahead: restore this one with \`--backup ${name}\`.`,
        ]),
    ...(unreadable === undefined
      ? []
      : [`No old files were removed, because a backup can't be read: ${unreadable}.`]),
    ...(backups.length > 0
      ? [
          `Removed ${quantity(backups.length, 'old backup')} and ${quantity(contents, 'file')} that only they had.`,
        ]
      : []),
  ].join('\n')
}

function describeVerified({ name, problems, lost, contents }: VerifiedBackup): string {
  const lines = problems.map(problem => `${name}: ${printable(problem)}`)
  const missing = lost.map(
    ({ sha256, files }) =>
      `${name}: without ${sha256} of ${files.map(printable).join('; ')}, which the store had lost`,
  )
  return [
    ...lines,
    ...missing,
    `${name}: ${problems.length === 0 ? `intact, ${quantity(contents, 'file')}` : 'damaged'}`,
  ].join('\n')
}
