import { Command } from 'commander'
import type { Config } from '../config/config.ts'
import type { Store } from '../features.ts'
import type { Files } from '../files/files.ts'
import { type MoveReport, moveFiles, refuseNested } from '../files/move.ts'
import { openFiles } from '../files/open-files.ts'
import { type VerifyReport, verify } from '../files/verify.ts'
import { quantity } from '../lib/quantities.ts'
import type { Process } from '../model/processes.ts'
import { Misuse } from './failures.ts'
import { givenPlace } from './given-path.ts'
import { asProcess, withProgress } from './long-work.ts'
import { type Json, printable, sayResult } from './output.ts'
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
    .action(verifyAll)

  command
    .command('clean')
    .description(
      'Clean up files that belong to no bitstream: set them aside after an hour, delete them an hour later.',
    )
    .option('--json', 'print the report as JSON')
    .action(clean)

  command
    .command('move')
    .description(
      'Copy all files to another place, while the service runs; repeat it after the nodes were told of that.',
    )
    .option('--to <place>', 'a folder, or a bucket as s3://bucket/prefix, that CARREL_FILES names later')
    .option('--from <place>', 'the place that CARREL_FILES named before')
    .option('--remove', 'with --from: remove each file there once it was read in the new place')
    .option('--json', 'print the report as JSON')
    .action(move)
  return command
}

async function verifyAll({ json }: Json): Promise<void> {
  const report = await listed(
    'reading',
    async (storage, files) => ({
      what: { kind: 'verify', parameters: {} },
      work: (share, signal) => verify(files, storage.repository, share, signal),
    }),
    countsOf,
  )
  sayResult(json, report, describe(report))
  failIfFaulty(report)
}

async function clean({ json }: Json): Promise<void> {
  const report = await listed(
    'cleaning',
    async (_, files) => ({
      what: { kind: 'clean', parameters: {} },
      work: share => files.sweep(share),
    }),
    report => ({ ...report }),
  )
  sayResult(
    json,
    report,
    `${report.setAside} set aside, ${report.broughtBack} restored, ${report.deleted} deleted, ` +
      `${report.leftovers} half-written files removed.` +
      (report.leftOut === undefined ? '' : `\n${printable(report.leftOut)}.`),
  )
}

interface MoveOptions extends Json {
  readonly to?: string
  readonly from?: string
  readonly remove?: boolean
}

async function move({ to, from, remove = false, json }: MoveOptions): Promise<void> {
  if ((to === undefined) === (from === undefined)) throw new Misuse('give either --to or --from')
  if (remove && from === undefined)
    throw new Misuse('--remove is for --from, when all nodes use the new place')
  const report = await listed(
    'copying',
    async ({ repository }, own, config) => {
      const place = givenPlace(to ?? from ?? '', config)
      await refuseNested(config.files, place)
      const other = await openFiles(place, repository)
      const places = to === undefined ? { from: other, to: own } : { from: own, to: other }
      const parameters = { [to === undefined ? 'from' : 'to']: other.place, remove: String(remove) }
      return {
        what: { kind: 'move', parameters },
        work: (share, signal) => moveFiles({ ...places, repository, remove }, share, signal),
      }
    },
    ({ copied, ...report }) => ({ ...countsOf(report), copied: copied.count, bytes: copied.bytes }),
  )
  sayResult(json, report, describeMove(report))
  failIfFaulty(report)
}

interface Task<T> {
  readonly what: Parameters<typeof asProcess>[1]
  work(share: (share: number) => void, signal: AbortSignal): Promise<T>
}

/** Does work on the files as a process that the service lists, and shows its progress here, too. */
const listed = <T>(
  step: string,
  task: (storage: Store, files: Files, config: Config) => Promise<Task<T>>,
  resultOf: (report: T) => Process['result'],
): Promise<T> =>
  withStore(async (storage, config) => {
    const files = await openFiles(config.files, storage.repository)
    const { what, work } = await task(storage, files, config)
    return withProgress(shown =>
      asProcess(
        storage,
        what,
        shown,
        ({ progress, signal }) => work(share => progress(step, share), signal),
        resultOf,
      ),
    )
  })

type Faults = Pick<VerifyReport, 'missing' | 'damaged'>

function failIfFaulty({ missing, damaged }: Faults): void {
  if (missing.length + damaged.length > 0) process.exitCode = 1
}

/** The report of a process: in place of files that are missing or damaged, their number. */
const countsOf = (report: Faults): Process['result'] => ({
  ...report,
  missing: report.missing.length,
  damaged: report.damaged.length,
})

const namesOf = (files: readonly string[]) => files.map(printable).join('; ')

const faultsOf = ({ missing, damaged }: Faults): readonly string[] => [
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
