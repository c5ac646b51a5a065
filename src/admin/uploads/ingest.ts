import { rm } from 'node:fs/promises'
import type { Files } from '../../files/files.ts'
import { openFiles } from '../../files/open-files.ts'
import { OtherStore } from '../../files/owner.ts'
import { ImportError } from '../../import/import-error.ts'
import { countsOf, ingest } from '../../items/ingest/ingest.ts'
import { openItems } from '../../items/ingest/open-items.ts'
import { rootOf, unpack } from '../../items/ingest/unpack.ts'
import type { Repository } from '../../items/statements/repository.ts'
import { OperatorError } from '../../lib/errors.ts'
import type { Report, Running } from '../../lib/threads/child.ts'
import { freeIn } from './folder.ts'
import type { IngestJob } from './ingest-job.ts'

/** Ingests an archive, in a process that does nothing else. */
export async function ingestUpload(
  job: IngestJob,
  running: Running,
  repository: Repository,
): Promise<Report> {
  const { config, path, unpacked } = job
  try {
    running.log('unpacking')
    await unpack(path, unpacked, {
      size: config.uploads.size,
      signal: running.signal,
      requireRoom: async () => {
        if ((await freeIn(unpacked)) < config.uploads.free)
          throw new ImportError('the disk has no room for what is in the archive')
      },
    })
    return await ingestFolder(job, running, repository)
  } catch (error) {
    // Messages don't show the folder on this machine.
    if (error instanceof ImportError) throw new ImportError(error.message.replaceAll(unpacked, 'the archive'))
    throw error
  } finally {
    await rm(unpacked, { recursive: true, force: true })
  }
}

async function ingestFolder(
  { config, unpacked, read, addOnly, dryRun, groups, event, name, sent }: IngestJob,
  { log, progress, signal }: Running,
  repository: Repository,
): Promise<Report> {
  const files = await openFiles(config.files, repository)
  const root = await rootOf(unpacked)
  const naming = { name: name ?? root.name ?? sent, isGiven: name !== null, isKept: false }
  const items = await openItems(root.path, { groups, naming })
  const isOwn = dryRun || (await files.claim())
  log('ingesting')
  const report = await ingest(items, {
    repository,
    files,
    read,
    hidden: config.hiddenMetadata,
    event,
    dryRun,
    addOnly,
    nameIs: one => `the parameter name=${encodeURIComponent(one)}`,
    note: log,
    failed: ({ item, reason }) => log(`${item}: ${reason.replaceAll(unpacked, 'the archive')}`),
    progress: share => {
      signal.throwIfAborted()
      progress('ingesting', share)
    },
  })
  if (!isOwn) log(new OtherStore(files.place).message)
  else if (!dryRun) await sweepQuietly(files, log)
  const counts = countsOf(report)
  const changes = dryRun
    ? { dryRun, additions: report.additions.slice(0, 100), changes: report.changes.slice(0, 100) }
    : {}
  return { ...counts, ...changes }
}

/** Sweeps the files. The items are ingested; files that can't be removed now are left to the next run. */
async function sweepQuietly(files: Files, log: (line: string) => void): Promise<void> {
  try {
    await files.sweep()
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    log(error.message)
  }
}
