import { OperatorError } from '../../lib/errors.ts'
import type { Database } from '../../lib/sqlite.ts'
import type { Content } from '../../model/items.ts'
import type { Backups } from './backups.ts'
import { contentsIn, digitsOfParts } from './contents.ts'
import { copyStore, type Made, type Progress, type Source, type Target } from './make.ts'
import { backupName, type Manifest } from './manifest.ts'

export interface BackupReport extends Made {
  readonly name: string
  readonly pruned: Pruned
  /** Name of the last backup by name, which a restore takes. It differs from `name` if a clock was ahead. */
  readonly newest: string
}

/**
 * Makes a backup. Contents and versions of entities that the place already has are not copied again.
 * @param keep number of backups of this store to keep, including the new one
 */
export async function backUpTo(
  backups: Backups,
  source: Source,
  keep: number,
  progress: Progress,
): Promise<BackupReport> {
  try {
    const made = await copyStore(source, await targetIn(backups), progress)
    const name = backupName(made.manifest)
    await backups.complete(name, made.manifest)
    const pruned = await prune(backups, name, made.manifest.store, keep, share => progress('cleaning', share))
    const newest = (await backups.names()).at(-1) ?? name
    return { ...made, name, pruned, newest }
  } finally {
    await backups.close()
  }
}

async function targetIn(backups: Backups): Promise<Target> {
  const { contents, staging, has } = backups
  const known = new Map<string, Content>()
  for (const { path, ...content } of (await latest(backups))?.files ?? [])
    if (path.startsWith('entities/') && (await has(content))) known.set(path, content)
  const { copyFrom, keepOpened } = contents
  return { staging, known, has, copyFrom, keep: file => keepOpened(file) }
}

async function latest(backups: Backups): Promise<Manifest | undefined> {
  const name = (await backups.names()).at(-1)
  // A backup that can't be read has no files to reuse.
  return name === undefined ? undefined : backups.manifest(name).catch(() => undefined)
}

interface Pruned {
  /** Names of the backups that were removed. */
  readonly backups: readonly string[]
  /** Number of contents that were removed because no backup refers to them any more. */
  readonly contents: number
  /** The reason why no contents were removed: a backup can't be read, so the contents it refers to are unknown. */
  readonly unreadable: string | undefined
}

/**
 * Removes all but the newest backups of a store, and then the contents that none of the remaining ones refers
 * to. Backups of other stores stay.
 * @param newest the backup that was just made. Names come from clocks, so another one may have a later name.
 * @param store the id of the store
 */
async function prune(
  backups: Backups,
  newest: string,
  store: string,
  keep: number,
  progress: (share: number) => void,
): Promise<Pruned> {
  const kept: Manifest[] = []
  const old: string[] = []
  let removed: readonly string[] = []
  const databases: Database[] = []
  try {
    let seen = 0
    const others = (await backups.names()).filter(name => name !== newest)
    for (const name of [newest, ...others.toReversed()]) {
      const manifest = await backups.manifest(name)
      if (manifest.store !== store || seen++ < keep) kept.push(manifest)
      else old.push(name)
    }
    for (const manifest of kept) databases.push(await backups.openDatabase(manifest))
    await backups.removeManifests(old)
    removed = old
    return {
      backups: removed,
      contents: await removeUnused(backups, kept, databases, progress),
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
  backups: Backups,
  kept: readonly Manifest[],
  databases: readonly Database[],
  progress: (share: number) => void,
): Promise<number> {
  const files = kept.flatMap(manifest => manifest.files.map(({ sha256 }) => sha256))
  let removed = 0
  for (const [part, digits] of digitsOfParts.entries()) {
    progress(part / digitsOfParts.length)
    const found = await backups.contentsFrom(digits)
    if (found.length === 0) continue
    const used = new Set(files.filter(sha256 => sha256.startsWith(digits)))
    for (const db of databases) for (const { sha256 } of contentsIn(db, digits)) used.add(sha256)
    for (const sha256 of found) {
      if (used.has(sha256)) continue
      await backups.removeContent(sha256)
      removed++
    }
  }
  return removed
}
