import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { type Database, openDatabase } from '../sqlite/driver.ts'
import { versionIn } from '../sqlite/migrate.ts'

/**
 * A whole store at one moment, as the files of an embedded store, whichever engine it is on
 * (docs/decisions/0025). The contents of bitstreams are not among them.
 */
export interface Snapshot {
  readonly files: readonly SnapshotFile[]
  /** Id of the store. */
  readonly storeId: string
  /** The schema of the embedded store. */
  readonly schema: number
  /** Entities that are tables of the operator, whose rows are not in the snapshot. */
  readonly exposed: readonly ExposedEntity[]
  /** The snapshot's own database, read-only. */
  readonly db: Database
  close(): Promise<void>
}

interface SnapshotFile {
  /** Path in a data folder: `carrel.db`, `secret` or `entities/<version>.db`. */
  readonly path: string
  /** undefined if the caller already has this version of an entity; a version never changes. */
  readonly file: FileHandle | undefined
}

export interface ExposedEntity {
  readonly name: string
  readonly schema: string
  readonly table: string
  readonly key: string | readonly string[]
  readonly fields: readonly string[]
  readonly read: string
}

/** Makes snapshots of a store. @param known paths of the versions of entities that the caller already has */
export type TakeSnapshot = (
  staging: string,
  known: ReadonlySet<string>,
  progress: (part: string, share: number) => void,
) => Promise<Snapshot>

/** The path of a version of an entity in a data folder. */
export const entityPath = (version: string): string => `entities/${version}.db`

/** Opens the database and the other files of a snapshot that were written to the staging folder. */
export async function openStaged(
  staging: string,
  exposed: readonly ExposedEntity[],
  entities: (db: Database) => Promise<readonly SnapshotFile[]>,
): Promise<Snapshot> {
  const database = join(staging, 'carrel.db')
  const db = openDatabase(database, { mode: 'immutable' })
  const files: SnapshotFile[] = []
  try {
    files.push(...(await entities(db)))
    for (const path of ['secret', 'carrel.db']) files.push({ path, file: await open(join(staging, path)) })
    const storeId = db.get<{ store: string }>('SELECT store FROM state')?.store ?? ''
    return { files, storeId, schema: versionIn(db), exposed, db, close: () => closeAll(db, files) }
  } catch (error) {
    await closeAll(db, files)
    throw error
  }
}

async function closeAll(db: Database, files: readonly SnapshotFile[]): Promise<void> {
  db.close()
  for (const { file } of files) await file?.close()
}
