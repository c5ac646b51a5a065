import { rm } from 'node:fs/promises'
import type { Content } from '../../model/items.ts'
import { type BackupFolder, openToWrite } from './folder.ts'
import { copyStore, type Made, type Progress, type Source, type Target } from './make.ts'
import { backupName, type Manifest, writeManifest } from './manifest.ts'
import { type Pruned, prune } from './prune.ts'

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
