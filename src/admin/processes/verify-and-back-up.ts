import type { FilesPlace } from '../../config/files-place.ts'
import { openFiles } from '../../files/open-files.ts'
import { verify } from '../../files/verify.ts'
import type { Repository } from '../../items/statements/repository.ts'
import type { Process, Run } from '../../model/processes.ts'
import { backUpTo } from '../backup/backup.ts'
import { type Source, sourceOf } from '../backup/make.ts'
import { openBackups } from '../backup/open-backups.ts'
import { percent } from './processes.ts'

export { sourceOf }

/** The work of processes that administrators begin by name. */
export type Work = (run: Run) => Promise<Process['result']>

/** Reads every file again and compares it with its SHA-256. */
export const verifyWork =
  (files: FilesPlace, repository: Repository): Work =>
  async ({ signal, log, progress }) => {
    const report = await verify(
      await openFiles(files, repository),
      repository,
      share => progress(percent(share)),
      signal,
    )
    const { checked, bytes, missing, damaged } = report
    for (const { sha256, files } of missing) log(`missing: ${sha256} of ${files.join('; ')}`)
    for (const { sha256, size, reason, files } of damaged)
      log(`damaged: ${sha256} (${size} bytes) of ${files.join('; ')} ${reason}`)
    log(`${checked.toLocaleString('en')} files read`)
    return { checked, bytes, missing: missing.length, damaged: damaged.length }
  }

/** Backs up the whole store into the place that the operator has chosen. */
export const backupWork =
  (
    place: FilesPlace,
    keep: number,
    source: () => Promise<Source>,
    record: (name: string) => Promise<void>,
  ): Work =>
  async ({ signal, log, progress }) => {
    let step = ''
    const from = await source()
    const report = await backUpTo(await openBackups(place, 'write'), from, keep, (what, share) => {
      signal.throwIfAborted()
      if (what !== step) log(what)
      step = what
      progress(percent(share))
    })
    const { name, copied, pruned, manifest } = report
    await record(name)
    for (const { sha256, files } of manifest.lost)
      log(`missing in the store: ${sha256} of ${files.join('; ')}`)
    if (pruned.unreadable !== undefined) log('No old files were removed, because a backup can’t be read.')
    log(`Backup ${name} is complete.`)
    return {
      name,
      files: manifest.contents.count,
      copied: copied.count,
      removed: pruned.backups,
      lost: manifest.lost.length,
    }
  }
