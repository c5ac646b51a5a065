import type { Files } from '../../files/files.ts'
import type { Database } from '../../lib/sqlite.ts'
import type { Content } from '../../model/items.ts'
import type { Manifest } from './manifest.ts'

/** The backups in a folder or a bucket (docs/decisions/0025): a manifest for each, and the contents that they share. */
export interface Backups {
  /** The place in messages. */
  readonly place: string
  /** A folder for the temporary files of a backup in the making. */
  readonly staging: string
  readonly contents: Pick<Files, 'copyFrom' | 'keepOpened' | 'open'>
  has(content: Content): Promise<boolean>
  /** Returns the place of a content in messages. */
  placeOf(sha256: string): string
  /** Returns the names of the backups, oldest first. */
  names(): Promise<readonly string[]>
  /** @throws BadBackup */
  manifest(name: string): Promise<Manifest>
  /** Writes the manifest, which completes the backup. */
  complete(name: string, manifest: Manifest): Promise<void>
  /** Removes manifests. They don't come back after a power failure, when their contents are gone. */
  removeManifests(names: readonly string[]): Promise<void>
  /** Opens the database of a backup. @throws BadBackup if it is missing or damaged */
  openDatabase(manifest: Manifest): Promise<Database>
  /** Lists the contents whose SHA-256 begins with these two digits. */
  contentsFrom(digits: string): Promise<readonly string[]>
  removeContent(sha256: string): Promise<void>
  close(): Promise<void>
}
