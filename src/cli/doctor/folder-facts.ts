import { type Stats, type StatsFs, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { systemReason } from '../../lib/system-errors.ts'

/** A folder of Carrel, as the operating system sees it. Nothing in it is opened (docs/decisions/0005). */
export interface FolderFacts {
  readonly role: 'data' | 'files'
  readonly path: string
  /** Number of the kind of file system (statfs(2), f_type). */
  readonly fileSystem: number
  /** Size in bytes, of which users other than root may take `free`. */
  readonly size: number
  readonly free: number
  /** Maximum number of files; 0 if the file system doesn't count them. */
  readonly inodes: number
  readonly freeInodes: number
  /** The folder itself, and the known entries in it. */
  readonly entries: readonly Entry[]
}

export interface Entry {
  readonly path: string
  readonly name: '.' | 'carrel.db' | 'carrel.db-wal' | 'carrel.db-shm' | 'secret' | 'entities' | 'files'
  /** The permission bits, such as 0o600. */
  readonly mode: number
  /** User id of the owner. */
  readonly owner: number
  /** Size in bytes. */
  readonly size: number
}

const names = ['.', 'carrel.db', 'carrel.db-wal', 'carrel.db-shm', 'secret', 'entities', 'files'] as const

/** @returns the folders that this configuration uses, as far as they exist and can be looked at */
export function lookAtFolders({
  database,
  dataFolder,
  files,
}: Pick<Config, 'database' | 'dataFolder' | 'files'>): readonly FolderFacts[] {
  return [
    ...(database.kind === 'embedded' ? look('data', dataFolder, names) : []),
    ...(files.kind === 'folder' ? look('files', files.folder, ['.']) : []),
  ]
}

function look(role: FolderFacts['role'], path: string, known: readonly Entry['name'][]): FolderFacts[] {
  if (!statusOf(path)?.isDirectory()) return []
  const space = allowed(() => statfsSync(path))
  if (!space) return []
  const { type, blocks, bavail, bsize, files, ffree }: StatsFs = space
  const entries = known.flatMap(name => entryOf(join(path, name), name))
  return [
    {
      role,
      path,
      fileSystem: type,
      size: blocks * bsize,
      free: bavail * bsize,
      inodes: files,
      freeInodes: ffree,
      entries,
    },
  ]
}

function entryOf(path: string, name: Entry['name']): Entry[] {
  const stat = statusOf(path)
  return stat ? [{ path, name, mode: stat.mode & 0o777, owner: stat.uid, size: stat.size }] : []
}

/** True if every user of the machine may write to the file. */
export const isWritableByAll = (path: string): boolean => ((statusOf(path)?.mode ?? 0) & 0o002) !== 0

/** @returns undefined if there is no such file, or the system doesn't let it be looked at */
export const statusOf = (path: string): Stats | undefined =>
  allowed(() => statSync(path, { throwIfNoEntry: false }))

function allowed<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch (error) {
    if (systemReason(error) === undefined) throw error
    return undefined
  }
}
