import { createHash } from 'node:crypto'
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { systemReason } from '../../lib/system-errors.ts'
import { StoreUnavailable } from '../../model/errors.ts'
import type { Database } from './driver.ts'

/**
 * A mark, made from the version's name, that shows if the file of a version is the one that was written. It
 * is stored in the two header numbers for programs (https://sqlite.org/fileformat2.html, offsets 60 and 68),
 * which are zero in older files.
 */
const markOf = (file: string): readonly [number, number] => {
  const digest = createHash('sha256').update(basename(file, '.db')).digest()
  return [digest.readInt32BE(0), digest.readInt32BE(4)]
}

/** Writes the mark of the final name, in a transaction. */
export function markRecordFile(db: Database, file: string): void {
  const [version, application] = markOf(file)
  db.exec(`PRAGMA user_version = ${version}; PRAGMA application_id = ${application}`)
}

/** Length in bytes of the header of a database (https://sqlite.org/fileformat2.html, section 1.3). */
const headerLength = 100

/**
 * Checks the header and the size of the file of a version. The file never changes, and is read without locks,
 * so it can be opened and closed.
 * @throws StoreUnavailable saying what is wrong and what to do
 */
export function requireRecordFile(file: string): void {
  const header = Buffer.alloc(headerLength)
  let size: number
  try {
    size = statSync(file).size
    const descriptor = openSync(file, 'r')
    try {
      readSync(descriptor, header, 0, headerLength, 0)
    } finally {
      closeSync(descriptor)
    }
  } catch (cause) {
    throw unreadable(file, `can't be read: ${systemReason(cause) ?? String(cause)}`, cause)
  }
  const page = header.readUInt16BE(16)
  if (
    header.toString('latin1', 0, 16) !== 'SQLite format 3\0' ||
    size !== header.readUInt32BE(28) * (page === 1 ? 65_536 : page)
  )
    throw unreadable(file, 'is cut short or was written over')
  const found = [header.readInt32BE(60), header.readInt32BE(68)]
  const isMarked = found.some(number => number !== 0)
  if (isMarked && markOf(file).some((number, at) => number !== found[at]))
    throw unreadable(file, 'has the records of another version')
}

export const unreadable = (file: string, what: string, cause?: unknown): StoreUnavailable =>
  new StoreUnavailable(
    `${basename(file)} in ${dirname(file)} ${what}: put the file back, restore a backup, or import the records of ` +
      `${basename(file).split('.')[0]} again`,
    cause === undefined ? undefined : { cause },
  )
