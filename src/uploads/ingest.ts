import { rm } from 'node:fs/promises'
import { createFileStore } from '../files/file-store.ts'
import { claimFolder, OtherStore } from '../files/owner.ts'
import { sweep } from '../files/sweep.ts'
import { ImportError } from '../import/import-error.ts'
import { countsOf, ingest } from '../ingest/ingest.ts'
import { openItems } from '../ingest/source.ts'
import { rootOf, unpack } from '../ingest/unpack.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import { OperatorError } from '../model/errors.ts'
import type { Process, Run } from '../model/processes.ts'
import type { Readers } from '../model/readers.ts'
import type { Uploads } from '../model/uploads.ts'
import { percent } from '../processes/processes.ts'
import type { Repository } from '../storage/repository.ts'
import { freeIn, makeUnpacked } from './folder.ts'

export interface Ingesting {
  readonly upload: string
  readonly eperson: string
  /** null: what the archive says, or has been said before. */
  readonly read: Readers | null
  readonly addOnly: boolean
  readonly dryRun: boolean
  /** What its sender calls the source; null: not at all. */
  readonly name: string | null
  /** The name of what was sent: the source's, where neither its sender nor a folder in it gives another one. */
  readonly sent: string
  readonly groups: ReadonlySet<string>
  readonly event: AuditEvent
}

interface Parts {
  readonly uploads: Uploads
  /** Of uploads. */
  readonly folder: string
  readonly filesFolder: string
  readonly repository: Repository
  /** Bytes that the contents of an archive may have. */
  readonly maxSize: number
  /** Bytes of the disk that stay free. */
  readonly free: number
}

/** Ingests an archive that was uploaded. It stays until all of it is in, so that this can be done again. */
export async function ingestUpload(asked: Ingesting, run: Run, parts: Parts): Promise<Process['result']> {
  const { uploads, folder } = parts
  const upload = await uploads.take(asked.upload, asked.eperson)
  if (!upload) throw new ImportError('the upload is not there any more, or something else is made of it')
  let isUsed = false
  try {
    const unpacked = await makeUnpacked(folder)
    try {
      run.log('unpacking')
      await unpack(upload.path, unpacked, {
        size: parts.maxSize,
        signal: run.signal,
        requireRoom: async () => {
          if ((await freeIn(folder)) < parts.free)
            throw new ImportError('the disk has no room for what is in the archive')
        },
      })
      const result = await ingestFolder(unpacked, asked, run, parts)
      isUsed = !asked.dryRun && result.failed === 0
      return result
    } catch (error) {
      // Where it was unpacked is nobody's business.
      if (error instanceof ImportError)
        throw new ImportError(error.message.replaceAll(unpacked, 'the archive'))
      throw error
    } finally {
      await rm(unpacked, { recursive: true, force: true })
    }
  } finally {
    await upload.release(isUsed)
  }
}

async function ingestFolder(
  unpacked: string,
  { read, addOnly, dryRun, groups, event, name, sent }: Ingesting,
  { log, progress, signal }: Run,
  { filesFolder, repository }: Parts,
) {
  const root = await rootOf(unpacked)
  const naming = { name: name ?? root.name ?? sent, isGiven: name !== null, isKept: false }
  const items = await openItems(root.path, { groups, naming })
  const isOwn = dryRun || (await claimFolder(filesFolder, repository))
  log('ingesting')
  const report = await ingest(items, {
    repository,
    files: createFileStore(filesFolder),
    ...{ read, event, dryRun, addOnly },
    nameIs: one => `the parameter name=${encodeURIComponent(one)}`,
    failed: ({ item, reason }) => log(`${item}: ${reason.replaceAll(unpacked, 'the archive')}`),
    progress: share => {
      signal.throwIfAborted()
      progress(percent(share))
    },
  })
  if (!isOwn) log(new OtherStore(filesFolder).message)
  else if (!dryRun) await sweepQuietly(filesFolder, repository, log)
  const counts = countsOf(report)
  const changes = dryRun ? { dryRun, changes: report.changes.slice(0, 100) } : {}
  return { ...counts, ...changes }
}

/** The items are in: what can't be cleared away now is the next run's. */
async function sweepQuietly(
  folder: string,
  repository: Repository,
  log: (line: string) => void,
): Promise<void> {
  try {
    await sweep(folder, repository, () => {})
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    log(error.message)
  }
}
