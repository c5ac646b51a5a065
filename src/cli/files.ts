import { Command } from 'commander'
import { percent } from '../admin/processes/processes.ts'
import type { Files } from '../files/files.ts'
import { openFiles } from '../files/open-files.ts'
import { type VerifyReport, verify } from '../files/verify.ts'
import type { Storage } from '../storage/storage.ts'
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
                `${report.leftovers} half-written files removed.`,
        ),
      ),
    )
  return command
}

function withProgress<T>(
  step: string,
  work: (storage: Storage, files: Files, progress: (share: number) => void) => Promise<T>,
): Promise<T> {
  return withStore(async (storage, config) => {
    const files = await openFiles(config.files, storage.repository)
    const progress = showProgress()
    try {
      return await work(storage, files, share => progress.update(step, share))
    } finally {
      progress.stop()
    }
  })
}

const namesOf = (files: readonly string[]) => files.map(printable).join('; ')

function describe({ checked, bytes, missing, damaged }: VerifyReport): string {
  const lines = [
    ...missing.map(({ sha256, files }) => `missing: ${sha256} of ${namesOf(files)}`),
    ...damaged.map(
      ({ sha256, size, reason, files }) =>
        `damaged: ${sha256} (${size} bytes) of ${namesOf(files)} ${reason}`,
    ),
  ]
  const counts = `${checked.toLocaleString('en')} files read (${(bytes / 1e6).toFixed(1)} MB)`
  const result =
    lines.length === 0
      ? 'all intact'
      : `${missing.length} missing, ${damaged.length} damaged; restore them from a backup, or \`touch\` their source ` +
        'files and ingest again'
  return [...lines, `${counts}: ${result}.`].join('\n')
}
