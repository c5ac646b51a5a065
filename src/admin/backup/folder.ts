import { chmod, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createFileStore } from '../../files/file-store.ts'
import { isSha256, layoutOf } from '../../files/layout.ts'
import { makeFolder, syncToDisk } from '../../lib/durable-names.ts'
import { OperatorError } from '../../lib/errors.ts'
import { holdFile } from '../../lib/held-file.ts'
import { type Database, openSqlite } from '../../lib/sqlite.ts'
import { unlessMissing } from '../../lib/system-errors.ts'
import type { Backups } from './backups.ts'
import { BadBackup, fileNamed, type Manifests, manifestText, namesIn, readManifest } from './manifest.ts'

const isFolderOfBackups = (names: readonly string[]) =>
  ['backups', 'contents'].every(part => names.includes(part))
/** The lock file, whose name is specific to Carrel: a folder that has it holds backups. */
const lockFile = 'carrel-backups.lock'
/** Names that file systems create in their top folder. */
const ignored = ['lost+found', '.snapshot', '.snapshots']

/**
 * Opens a folder to back up into, creating it if necessary. Only its owner can read the files made in it.
 * @throws OperatorError if the folder holds something else, or is in use
 */
export async function openToWrite(path: string): Promise<Backups> {
  const names = (await unlessMissing(readdir(path))) ?? []
  if (!names.includes(lockFile) && !isFolderOfBackups(names) && names.some(name => !ignored.includes(name)))
    throw new OperatorError(
      `${path} is not empty and holds no backups; give an empty folder, or one that has backups`,
    )
  makeFolder(path)
  const lock = lockFolder(path, 'write')
  try {
    for (const part of ['backups', 'contents']) {
      makeFolder(join(path, part))
      // A folder unpacked from a stream may have another mode.
      await chmod(join(path, part), 0o700)
    }
    syncToDisk(path)
    // A backup that was killed left these files.
    await rm(join(path, 'staging'), { recursive: true, force: true })
    await rm(join(path, 'contents', 'incoming'), { recursive: true, force: true })
    makeFolder(join(path, 'staging'))
  } catch (error) {
    lock.close()
    throw error
  }
  return backupsIn(path, lock, true)
}

/** Opens a folder to verify or restore from. It may be read-only. @throws BadBackup if it holds no backups */
export async function openToRead(path: string): Promise<Backups> {
  const names = (await unlessMissing(readdir(path))) ?? []
  if (!isFolderOfBackups(names)) throw new BadBackup(`${path} holds no backups of Carrel`)
  return backupsIn(path, names.includes(lockFile) ? lockFolder(path, 'read') : undefined, false)
}

/**
 * Locks a folder with SQLite, whose locks end with their process, however it ends, and hold across machines
 * if the file system supports locks.
 */
function lockFolder(path: string, mode: 'write' | 'read'): Database {
  const inUse = (why: string, cause: unknown) =>
    new OperatorError(`${path} can't be locked: ${why}; another backup or restore may be using it`, { cause })
  // Opening fails at once if the folder is in use, instead of waiting for a whole backup to end.
  if (mode === 'write') return holdFile(join(path, lockFile), inUse)
  const lock = openSqlite(join(path, lockFile), { mode }, inUse)
  try {
    lock.exec('PRAGMA busy_timeout = 0; BEGIN; SELECT count(*) FROM sqlite_master')
  } catch (error) {
    lock.close()
    throw error
  }
  return lock
}

/**
 * `backups/<name>.json` is the manifest of each backup, `contents/ab/cd/<sha256>` is what they share, `staging` holds
 * the temporary files of a backup in the making, and `carrel-backups.lock` is locked while the folder is in use.
 */
function backupsIn(path: string, lock: Database | undefined, isWritten: boolean): Backups {
  const folder = join(path, 'contents')
  const staging = join(path, 'staging')
  const layout = layoutOf(folder)
  const contents = createFileStore(folder)
  const manifests = manifestsIn(path)
  const manifestPath = (name: string) => join(path, 'backups', `${name}.json`)
  return {
    place: path,
    staging,
    placeOf: layout.placeOf,
    contents: { ...contents, copyFrom: async () => false },
    has: async content => (await contents.pathInPlace(content)) !== undefined,
    names: () => namesIn(manifests),
    manifest: async name => readManifest(await readFile(manifestPath(name), 'utf8'), manifestPath(name)),
    complete: async (name, manifest) => {
      const temporary = join(staging, 'manifest')
      await writeFile(temporary, manifestText(manifest), { mode: 0o600, flush: true })
      await rename(temporary, manifestPath(name))
      syncToDisk(join(path, 'backups'))
    },
    removeManifests: async names => {
      for (const name of names) await rm(manifestPath(name))
      syncToDisk(join(path, 'backups'))
    },
    openDatabase: async manifest => {
      const file = layout.placeOf(fileNamed(manifest, 'carrel.db').sha256)
      return openSqlite(file, { mode: 'immutable' }, why => new BadBackup(`${file} (carrel.db): ${why}`))
    },
    contentsFrom: async digits => {
      const outer = join(folder, digits)
      const inner = (await unlessMissing(readdir(outer))) ?? []
      return (await Promise.all(inner.map(name => readdir(join(outer, name))))).flat().filter(isSha256)
    },
    removeContent: sha256 => rm(layout.placeOf(sha256)),
    close: async () => {
      if (isWritten) await rm(staging, { recursive: true, force: true })
      lock?.close()
    },
  }
}

/** The manifests in a folder of backups, which is not locked to read them. */
export function manifestsIn(path: string): Manifests {
  const folder = join(path, 'backups')
  return {
    list: async () => (await unlessMissing(readdir(folder))) ?? [],
    read: async (file, limit) => {
      const path = join(folder, file)
      return limit !== undefined && (await stat(path)).size > limit ? undefined : readFile(path, 'utf8')
    },
  }
}
