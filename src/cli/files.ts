import { Command } from 'commander'
import { percent } from '../admin/processes/processes.ts'
import type { Config } from '../config/config.ts'
import type { Files } from '../files/files.ts'
import { type MoveReport, moveFiles, refuseNested } from '../files/move.ts'
import { openFiles } from '../files/open-files.ts'
import { type VerifyReport, verify } from '../files/verify.ts'
import { quantity } from '../lib/quantities.ts'
import type { Process } from '../model/processes.ts'
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
        asListed(
          storage,
          { kind: 'verify', parameters: {} },
          progress,
          (share, signal) => verify(files, storage.repository, share, signal),
          countsOf,
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
      withProgress('cleaning', (storage, files, progress) =>
        asListed(
          storage,
          { kind: 'clean', parameters: {} },
          progress,
          share => files.sweep(share),
          report => ({ ...report }),
        ),
      ).then(report =>
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
      const report = await withProgress('copying', async (storage, own, progress, config) => {
        const place = givenPlace(to ?? from ?? '', config)
        await refuseNested(config.files, place)
        const { repository } = storage
        const other = await openFiles(place, repository)
        const places = to === undefined ? { from: other, to: own } : { from: own, to: other }
        const parameters = {
          [to === undefined ? 'from' : 'to']: other.place,
          remove: String(remove === true),
        }
        return asListed(
          storage,
          { kind: 'move', parameters },
          progress,
          (share, signal) => moveFiles({ ...places, repository, remove: remove === true }, share, signal),
          ({ copied, ...report }) => ({ ...countsOf(report), copied: copied.count, bytes: copied.bytes }),
        )
      })
      say(json ? JSON.stringify(report, null, 2) : describeMove(report))
      if (report.missing.length + report.damaged.length > 0) process.exitCode = 1
    })
  return command
}

/** Does work as a process that the service lists (PR5), and shows its progress here, too. */
const asListed = <T>(
  storage: Storage,
  what: Parameters<typeof asProcess>[1],
  progress: (share: number) => void,
  work: (share: (share: number) => void, signal: AbortSignal) => Promise<T>,
  resultOf: (report: T) => Process['result'],
): Promise<T> =>
  asProcess(
    storage,
    what,
    run => {
      const both = (share: number) => {
        run.progress(percent(share))
        progress(share)
      }
      return work(both, run.signal)
    },
    resultOf,
  )

/** The report of a process: in place of files that are missing or damaged, their number. */
const countsOf = (report: Pick<VerifyReport, 'missing' | 'damaged'>): Process['result'] => ({
  ...report,
  missing: report.missing.length,
  damaged: report.damaged.length,
})

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
      const found = await work(storage, files, share => progress.update(step, share), config)
      progress.done()
      return found
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
  const { contents, copied, removed, missing, damaged, unused } = report
  const lines = faultsOf(report)
  return [
    ...lines,
    `${quantity(contents, 'file')}: ${copied.count.toLocaleString('en')} (${megabytes(copied.bytes)}) copied and read again, ` +
      `${removed.toLocaleString('en')} removed from the old place` +
      (unused === undefined ? '' : `, ${unused.deleted} unused ones deleted there`) +
      (lines.length === 0 ? '.' : `; ${missing.length} missing, ${damaged.length} damaged.`),
    ...(unused === undefined || unused.setAside === 0
      ? []
      : [
          `${quantity(unused.setAside, 'unused file')} set aside in the old place: repeat this in an hour to delete what is there.`,
        ]),
  ].join('\n')
}
