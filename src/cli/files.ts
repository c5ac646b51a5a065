import { Command } from 'commander'
import { createFileStore } from '../files/file-store.ts'
import { sweep } from '../files/sweep.ts'
import { type VerifyReport, verify } from '../files/verify.ts'
import type { Storage } from '../storage/storage.ts'
import { printable, say } from './output.ts'
import { showProgress } from './progress.ts'
import { withStore } from './store.ts'

/** `carrel files …`: the contents of bitstreams. */
export function filesCommand(): Command {
  const command = new Command('files').description('Check and clean the files of bitstreams.')

  command
    .command('verify')
    .description('Read every file again and hold it against its SHA-256.')
    .option('--json', 'print the report as JSON')
    .action(({ json }: { json?: boolean }) =>
      withProgress('reading', (storage, folder, progress) =>
        verify(createFileStore(folder), storage.repository, progress),
      ).then(report => {
        say(json ? JSON.stringify(report, null, 2) : describe(report))
        if (report.missing.length + report.damaged.length > 0) process.exitCode = 1
      }),
    )

  command
    .command('clean')
    .description(
      'Clear away files that belong to no bitstream any more: after an hour, and an hour later for good.',
    )
    .option('--json', 'print the report as JSON')
    .action(({ json }: { json?: boolean }) =>
      withProgress('cleaning', (storage, folder, progress) =>
        sweep(folder, storage.repository, progress),
      ).then(report =>
        say(
          json
            ? JSON.stringify(report, null, 2)
            : `${report.setAside} set aside, ${report.broughtBack} brought back, ${report.deleted} deleted, ` +
                `${report.leftovers} half-written removed.`,
        ),
      ),
    )
  return command
}

function withProgress<T>(
  step: string,
  work: (storage: Storage, folder: string, progress: (share: number) => void) => Promise<T>,
): Promise<T> {
  return withStore(async (storage, { filesFolder }) => {
    const progress = showProgress()
    try {
      return await work(storage, filesFolder, share => progress.update(step, share))
    } finally {
      progress.stop()
    }
  })
}

const nameAll = (files: readonly string[]) => files.map(printable).join('; ')

function describe({ checked, bytes, missing, damaged }: VerifyReport): string {
  const lines = [
    ...missing.map(({ sha256, files }) => `missing: ${sha256} of ${nameAll(files)}`),
    ...damaged.map(
      ({ sha256, size, reason, files }) =>
        `damaged: ${sha256} (${size} bytes) of ${nameAll(files)} ${reason}`,
    ),
  ]
  const counts = `${checked.toLocaleString('en')} files read (${(bytes / 1e6).toFixed(1)} MB)`
  const result =
    lines.length === 0
      ? 'all as they should be'
      : `${missing.length} missing, ${damaged.length} damaged; bring them back from a backup, or change the date of ` +
        'their sources and ingest again'
  return [...lines, `${counts}: ${result}.`].join('\n')
}
