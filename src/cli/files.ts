import { Command } from 'commander'
import { percent } from '../admin/processes/processes.ts'
import type { Config } from '../config/config.ts'
import type { Files } from '../files/files.ts'
import { type MoveReport, moveFiles, refuseNested } from '../files/move.ts'
import { openFiles } from '../files/open-files.ts'
import { type VerifyReport, verify } from '../files/verify.ts'
import { quantity } from '../lib/quantities.ts'
import type { Storage } from '../storage/storage.ts'
import { Misuse } from './failures.ts'
import { givenPlace } from './given-path.ts'
import { asProcess, showProgress } from './long-work.ts'
import { printable, say } from './output.ts'
import { withStore } from './store.ts'

/** `carrel files …`: the contents of bitstreams. */
export function filesCommand(): Command {
  const command = new Command('files').description(
    'Verify the files of bitstreams, and clean up unused ones.',
  )

  command
    .command('verify')
    .description('Read every file and compare it with its SHA-256.')
    .option('--json', 'print the report as JSON')
    .action(({ json }: { json?: boolean }) =>
      withProgress('reading', (storage, files, progress) =>
        asProcess(
          storage,
          { kind: 'verify', parameters: {} },
          run => {
            const both = (share: number) => {
              run.progress(percent(share))
              progress(share)
            }
            return verify(files, storage.repository, both, run.signal)
          },
          ({ checked, bytes, missing, damaged }) => ({
            ...{ checked, bytes },
            ...{ missing: missing.length, damaged: damaged.length },
          }),
        ),
      ).then(report => {
        say(json ? JSON.stringify(report, null, 2) : describe(report))
        if (report.missing.length + report.damaged.length > 0) process.exitCode = 1
      }),
    )

  command
    .command('clean')
    .description(
      'Clean up files that belong to no bitstream: set them aside after an hour, delete them an hour later.',
    )
    .option('--json', 'print the report as JSON')
    .action(({ json }: { json?: boolean }) =>
      withProgress('cleaning', (_storage, files, progress) => files.sweep(progress)).then(report =>
        say(
          json
            ? JSON.stringify(report, null, 2)
            : `${report.setAside} set aside, ${report.broughtBack} restored, ${report.deleted} deleted, ` +
                `${report.leftovers} half-written files removed.` +
                (report.leftOut === undefined ? '' : `\n${printable(report.leftOut)}.`),
        ),
      ),
    )

  command
    .command('move')
    .description(
      'Copy all files to another place, while the service runs; repeat it after the nodes were told of that.',
    )
    .option('--to <place>', 'a folder, or a bucket as s3://bucket/prefix, that CARREL_FILES names later')
    .option('--from <place>', 'the place that CARREL_FILES named before')
    .option('--remove', 'with --from: remove each file there once it was read in the new place')
    .option('--json', 'print the report as JSON')
    .action(async ({ to, from, remove, json }: MoveOptions) => {
      if ((to === undefined) === (from === undefined)) throw new Misuse('give either --to or --from')
      if (remove && from === undefined)
        throw new Misuse('--remove is for --from, when all nodes use the new place')
      const report = await withProgress('copying', async ({ repository }, own, progress, config) => {
        const place = givenPlace(to ?? from ?? '', config)
        await refuseNested(config.files, place)
        const other = await openFiles(place, repository)
        const places = to === undefined ? { from: other, to: own } : { from: own, to: other }
        return moveFiles({ ...places, repository, remove: remove === true }, progress)
      })
      say(json ? JSON.stringify(report, null, 2) : describeMove(report))
      if (report.missing.length + report.damaged.length > 0) process.exitCode = 1
    })
  return command
}

interface MoveOptions {
  readonly to?: string
  readonly from?: string
  readonly remove?: boolean
  readonly json?: boolean
}

function withProgress<T>(
  step: string,
  work: (storage: Storage, files: Files, progress: (share: number) => void, config: Config) => Promise<T>,
): Promise<T> {
  return withStore(async (storage, config) => {
    const files = await openFiles(config.files, storage.repository)
    const progress = showProgress()
    try {
      return await work(storage, files, share => progress.update(step, share), config)
    } finally {
      progress.stop()
    }
  })
}

const namesOf = (files: readonly string[]) => files.map(printable).join('; ')

const faultsOf = ({ missing, damaged }: Pick<VerifyReport, 'missing' | 'damaged'>): readonly string[] => [
  ...missing.map(({ sha256, files }) => `missing: ${sha256} of ${namesOf(files)}`),
  ...damaged.map(
    ({ sha256, size, reason, files }) => `damaged: ${sha256} (${size} bytes) of ${namesOf(files)} ${reason}`,
  ),
]

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`

function describe(report: VerifyReport): string {
  const { checked, bytes, missing, damaged } = report
  const lines = faultsOf(report)
  const result =
    lines.length === 0
      ? 'all intact'
      : `${missing.length} missing, ${damaged.length} damaged; restore them from a backup, or \`touch\` their source ` +
        'files and ingest again'
  return [...lines, `${quantity(checked, 'file')} read (${megabytes(bytes)}): ${result}.`].join('\n')
}

function describeMove(report: MoveReport): string {
  const { contents, copied, removed, missing, damaged } = report
  const lines = faultsOf(report)
  return [
    ...lines,
    `${quantity(contents, 'file')}: ${copied.count.toLocaleString('en')} (${megabytes(copied.bytes)}) copied and read again, ` +
      `${removed.toLocaleString('en')} removed from the old place` +
      (lines.length === 0 ? '.' : `; ${missing.length} missing, ${damaged.length} damaged.`),
  ].join('\n')
}
