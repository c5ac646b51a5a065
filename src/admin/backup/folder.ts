import { chmod, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createFileStore, type FileStore } from '../../files/file-store.ts'
import { type Layout, layoutOf } from '../../files/layout.ts'
import { makeFolder, syncToDisk } from '../../lib/durable-names.ts'
import { OperatorError } from '../../lib/errors.ts'
import { holdFile } from '../../lib/held-file.ts'
import { type Database, openSqlite } from '../../lib/sqlite.ts'
import { unlessMissing } from '../../lib/system-errors.ts'
import { BadBackup, fileNamed, type Manifest, readManifest } from './manifest.ts'

/**
 * A folder of backups (docs/decisions/0025). `backups/<name>.json` is the manifest of each backup,
 * `contents/ab/cd/<sha256>` is what they share, `staging` holds the temporary files of a backup in the
 * making, and `carrel-backups.lock` is locked while the folder is in use.
 */
export interface BackupFolder {
  readonly path: string
  readonly staging: string
  readonly contents: FileStore
  readonly layout: Layout
  /** Returns the names of the backups, oldest first. */
  names(): Promise<readonly string[]>
  manifestPath(name: string): string
  /** @throws BadBackup */
  manifest(name: string): Promise<Manifest>
  close(): void
}

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
export async function openToWrite(path: string): Promise<BackupFolder> {
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
  return backupFolder(path, lock)
}

/** Opens a folder to verify or restore from. It may be read-only. @throws BadBackup if it holds no backups */
export async function openToRead(path: string): Promise<BackupFolder> {
  const names = (await unlessMissing(readdir(path))) ?? []
  if (!isFolderOfBackups(names)) throw new BadBackup(`${path} holds no backups of Carrel`)
  return backupFolder(path, names.includes(lockFile) ? lockFolder(path, 'read') : undefined)
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

function backupFolder(path: string, lock: Database | undefined): BackupFolder {
  const contents = join(path, 'contents')
  const manifestPath = (name: string) => join(path, 'backups', `${name}.json`)
  return {
    path,
    staging: join(path, 'staging'),
    contents: createFileStore(contents),
    layout: layoutOf(contents),
    names: async () =>
      (await readdir(join(path, 'backups')))
        .filter(name => name.endsWith('.json'))
        .map(name => name.slice(0, -'.json'.length))
        .toSorted(),
    manifestPath,
    manifest: name => readManifest(manifestPath(name)),
    close: () => lock?.close(),
  }
}

/** Opens the database of a backup in place. @throws BadBackup if it is missing or damaged */
export function openBackedUp({ layout }: BackupFolder, manifest: Manifest): Database {
  const { sha256 } = fileNamed(manifest, 'carrel.db')
  const path = layout.placeOf(sha256)
  return openSqlite(path, { mode: 'immutable' }, why => new BadBackup(`${path} (carrel.db): ${why}`))
}
