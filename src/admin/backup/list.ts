import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { systemReason, unlessMissing } from '../../lib/system-errors.ts'
import { BadBackup, readManifest } from './manifest.ts'

/** One backup of a folder, as its manifest describes it. */
export interface ListedBackup {
  readonly name: string
  /** True if its manifest is intact. Only `verifyBackups` reads the files that the manifest names. */
  readonly complete: boolean
  /** The reason why it is not complete; null if it is. */
  readonly fault: string | null
  readonly made: string | null
  readonly carrel: string | null
  /** Total size in bytes of all files that it names. Those shared by several backups are on disk once. */
  readonly bytes: number | null
  readonly contents: number | null
  /** Number of contents that the store itself had lost. */
  readonly lost: number | null
}

/** Maximum number of backups listed, because other programs may put files into the folder. */
const maxBackups = 1_000
/** Maximum size of a manifest in bytes. It has an entry for each entity, and for each lost content. */
const maxManifest = 64 * 1024 ** 2

/**
 * Lists the backups of a folder, newest first, without locking it, so that it works during a backup.
 * @returns an empty list if the folder does not exist yet
 */
export async function listBackups(folder: string): Promise<readonly ListedBackup[]> {
  const path = join(folder, 'backups')
  const names = ((await unlessMissing(readdir(path))) ?? [])
    .filter(name => name.endsWith('.json'))
    .map(name => name.slice(0, -'.json'.length))
    .toSorted()
    .reverse()
    .slice(0, maxBackups)
  const listed: ListedBackup[] = []
  for (const name of names) listed.push(await describe(path, name))
  return listed
}

async function describe(path: string, name: string): Promise<ListedBackup> {
  const file = join(path, `${name}.json`)
  try {
    if ((await stat(file)).size > maxManifest) throw new BadBackup('its manifest is too large')
    const { made, carrel, files, contents, lost } = await readManifest(file)
    const bytes = files.reduce((total, { size }) => total + size, contents.bytes)
    return {
      ...{ name, complete: true, fault: null, made, carrel, bytes },
      contents: contents.count,
      lost: lost.length,
    }
  } catch (error) {
    const fault =
      error instanceof BadBackup ? 'its manifest is damaged, or of a newer Carrel' : systemReason(error)
    if (fault === undefined) throw error
    const unknown = { made: null, carrel: null, bytes: null, contents: null, lost: null }
    return { name, complete: false, fault, ...unknown }
  }
}
