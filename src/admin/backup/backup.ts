import { readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isSha256 } from '../../files/layout.ts'
import { syncToDisk } from '../../lib/durable-names.ts'
import { OperatorError } from '../../lib/errors.ts'
import type { Database } from '../../lib/sqlite.ts'
import { unlessMissing } from '../../lib/system-errors.ts'
import type { Content } from '../../model/items.ts'
import { contentsIn, digitsOfParts } from './contents.ts'
import { type BackupFolder, openBackedUp, openToWrite } from './folder.ts'
import { copyStore, type Made, type Progress, type Source, type Target } from './make.ts'
import { backupName, type Manifest, writeManifest } from './manifest.ts'

export interface BackupReport extends Made {
  readonly name: string
  readonly pruned: Pruned
  /** Name of the last backup by name, which a restore takes. It differs from `name` if a clock was ahead. */
  readonly newest: string
}

/**
 * Makes a backup in a folder. Contents and versions of entities that the folder already
 * has are not copied again.
 * @param keep number of backups of this store to keep, including the new one
 */
export async function backUpTo(
  path: string,
  source: Source,
  keep: number,
  progress: Progress,
): Promise<BackupReport> {
  const folder = await openToWrite(path)
  try {
    const made = await copyStore(source, await targetIn(folder), progress)
    const name = backupName(made.manifest)
    await writeManifest(folder.manifestPath(name), folder.staging, made.manifest)
    const pruned = await prune(folder, name, made.manifest.store, keep, share => progress('cleaning', share))
    const newest = (await folder.names()).at(-1) ?? name
    return { ...made, name, pruned, newest }
  } finally {
    await rm(folder.staging, { recursive: true, force: true })
    folder.close()
  }
}

async function targetIn(folder: BackupFolder): Promise<Target> {
  const { contents, staging } = folder
  const has = async (content: Content) => (await contents.pathInPlace(content)) !== undefined
  const known = new Map<string, Content>()
  for (const { path, ...content } of (await latest(folder))?.files ?? [])
    if (path.startsWith('entities/') && (await has(content))) known.set(path, content)
  return { staging, known, has, keep: file => contents.keepOpened(file) }
}

async function latest(folder: BackupFolder): Promise<Manifest | undefined> {
  const name = (await folder.names()).at(-1)
  // A backup that can't be read has no files to reuse.
  return name === undefined ? undefined : folder.manifest(name).catch(() => undefined)
}

interface Pruned {
  /** Names of the backups that were removed. */
  readonly backups: readonly string[]
  /** Number of contents that were removed because no backup refers to them any more. */
  readonly contents: number
  /**
   * The reason why no contents were removed: a backup can't be read, so the contents
   * it refers to are unknown.
   */
  readonly unreadable: string | undefined
}

/**
 * Removes all but the newest backups of a store, and then the contents that none of the remaining ones refers
 * to. Backups of other stores stay.
 * @param newest the backup that was just made. Names come from clocks, so another one may have a later name.
 * @param store the id of the store
 */
export async function prune(
  folder: BackupFolder,
  newest: string,
  store: string,
  keep: number,
  progress: (share: number) => void,
): Promise<Pruned> {
  const kept: Manifest[] = []
  const old: string[] = []
  const removed: string[] = []
  const databases: Database[] = []
  try {
    let seen = 0
    const others = (await folder.names()).filter(name => name !== newest)
    for (const name of [newest, ...others.toReversed()]) {
      const manifest = await folder.manifest(name)
      if (manifest.store !== store || seen++ < keep) kept.push(manifest)
      else old.push(name)
    }
    for (const manifest of kept) databases.push(openBackedUp(folder, manifest))
    for (const name of old) {
      await rm(folder.manifestPath(name))
      removed.push(name)
    }
    // After a power failure, a manifest must not come back when its contents are gone.
    syncToDisk(dirname(folder.manifestPath(newest)))
    return {
      backups: removed,
      contents: await removeUnused(folder, kept, databases, progress),
      unreadable: undefined,
    }
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    return { backups: removed, contents: 0, unreadable: error.message }
  } finally {
    for (const db of databases) db.close()
  }
}

/**
 * Removes the contents that are in no kept backup. It works on one part at a time, by the first two digits of
 * SHA-256, so that memory stays bounded.
 */
async function removeUnused(
  { layout }: BackupFolder,
  kept: readonly Manifest[],
  databases: readonly Database[],
  progress: (share: number) => void,
): Promise<number> {
  const files = kept.flatMap(manifest => manifest.files.map(({ sha256 }) => sha256))
  let removed = 0
  for (const [part, digits] of digitsOfParts.entries()) {
    progress(part / digitsOfParts.length)
    const outer = join(layout.folder, digits)
    const folders = (await unlessMissing(readdir(outer))) ?? []
    if (folders.length === 0) continue
    const used = new Set(files.filter(sha256 => sha256.startsWith(digits)))
    for (const db of databases) for (const { sha256 } of contentsIn(db, digits)) used.add(sha256)
    for (const inner of folders)
      for (const name of await readdir(join(outer, inner))) {
        if (!isSha256(name) || used.has(name)) continue
        await rm(join(outer, inner, name))
        removed++
      }
  }
  return removed
}
