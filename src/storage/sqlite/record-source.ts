import type { RecordSource } from '../shared/record-listings.ts'
import { type Database, openDatabase } from './driver.ts'
import type { ReaderThreads } from './reader-threads.ts'
import { recordsBetween, recordsNumbered } from './record-versions.ts'

/** For short pages: bytes of a file that are mapped into memory, which the operating system shares and takes back. */
const mappedBytes = 256 * 1024 * 1024

interface Parts {
  readonly readerThreads: ReaderThreads
  readonly fileOf: (version: string) => string
}

export interface RecordFiles extends RecordSource {
  /** Lets go of versions that are not among these. */
  keepOnly(versions: ReadonlySet<string>): void
  close(): void
}

/** Records in files, one for each version: short pages are read here, everything that takes long by the reader threads. */
export function recordFiles({ readerThreads, fileOf }: Parts): RecordFiles {
  const opened = new Map<string, Database>()
  function database(version: string): Database {
    const known = opened.get(version)
    if (known) return known
    const db = openDatabase(fileOf(version), { mode: 'immutable', map: mappedBytes })
    opened.set(version, db)
    return db
  }

  return {
    sort: ({ source }, fields) =>
      readerThreads.leastBusy().call('sort', fileOf(source.version), source.count, fields),
    load: ({ source }) =>
      readerThreads.leastBusy().call('load', fileOf(source.version), source.count, source.bytes),
    readShort: ({ source }, numbers, separator) =>
      numbers instanceof Uint32Array
        ? recordsNumbered(database(source.version), numbers, separator)
        : recordsBetween(database(source.version), ...numbers, separator),
    open: async ({ source }) => {
      const reader = readerThreads.leastBusy()
      const file = fileOf(source.version)
      await reader.call('hold', file)
      return {
        piece: (numbers, format, fields) => reader.call('records', file, numbers, format, fields),
        // A thread that has ended holds nothing any more.
        close: () => reader.call('release', file).catch(() => {}),
      }
    },
    keepOnly: versions => {
      for (const [version, db] of opened) {
        if (versions.has(version)) continue
        opened.delete(version)
        db.close()
      }
    },
    close: () => {
      for (const db of opened.values()) db.close()
    },
  }
}
