import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { systemReason, unlessMissing } from '../lib/system-errors.ts'
import { BadBackup, readManifest } from './manifest.ts'

/** One backup of a folder, as its manifest describes it. */
export interface ListedBackup {
  readonly name: string
  /** Whether its manifest is there as it was written. What it names is read again by `verifyBackups` only. */
  readonly complete: boolean
  /** Why it is not. */
  readonly fault: string | null
  readonly made: string | null
  readonly carrel: string | null
  /** Of all it names; what several backups share is on disk once. */
  readonly bytes: number | null
  readonly contents: number | null
  /** How many contents the store itself had lost. */
  readonly lost: number | null
}

/** Of a folder that somebody else fills. */
const maxBackups = 1_000
/** A manifest has a line for each entity, and for each content that was lost. */
const maxManifest = 64 * 1024 ** 2

/**
 * The backups of a folder, the newest first, without locking it: one may be under way.
 * @returns none where there is no such folder yet
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
