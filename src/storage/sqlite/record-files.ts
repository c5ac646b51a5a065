import { RecentlyUsed } from '../../lib/memo.ts'
import { sortRecords } from '../columns/sort-records.ts'
import type { Entities } from '../entities.ts'
import type { FieldFiles } from '../records/field-files.ts'
import { baseEntity, changesOf } from '../records/pending-changes.ts'
import type { createRecordListings } from '../records/record-listings.ts'
import { type RecordSource, type RecordWork, slotsOf } from '../records/record-source.ts'
import type { Database } from './driver.ts'
import {
  baseOf,
  openRecords,
  ranksIn,
  recordReader,
  recordsBetween,
  recordsNumbered,
  slotCount,
  slotsIn,
} from './record-versions.ts'
import type { Reader, ReaderThreads } from './threads.ts'

type RecordListings = Pick<ReturnType<typeof createRecordListings>, 'openChanged' | 'writeFields'>

interface FileParts {
  readonly readerThreads: ReaderThreads
  readonly fileOf: (version: string) => string
  readonly fieldFiles: FieldFiles
}

/** Maximum number of files of replaced versions that are open. */
const maxEarlier = 8

/** Records in one file for each version. This thread reads short pages, reader threads everything longer. */
export function recordFiles({ readerThreads, fileOf, fieldFiles }: FileParts) {
  const opened = new Map<string, Database>()
  /** Files of versions that were replaced. */
  const earlier = new RecentlyUsed<string, Database>(maxEarlier, db => db.close())
  let current: ReadonlySet<string> = new Set()
  function database(version: string): Database {
    const open = opened.get(version) ?? earlier.get(version)
    if (open) return open
    const db = openRecords(fileOf, version, {})
    if (current.has(version)) opened.set(version, db)
    else earlier.add(version, db)
    return db
  }

  const workIn = (reader: Reader): RecordWork => ({
    column: ({ source, fields }, field) =>
      reader.call('columnIn', fileOf(source.version), field, fields[field]?.nullable ?? true),
    slots: ({ source }) => reader.call('slotsIn', fileOf(source.version)),
    values: async (entity, slots, field, stop) => {
      const file = fileOf(entity.source.version)
      const part = await reader.call('valuesIn', file, slots, slotsOf(entity), field, stop)
      return { parts: [part], lengths: [slots.length] }
    },
    search: (entity, field, keys, among) =>
      reader.call('search', fileOf(entity.source.version), entity, field, keys, among),
    call: reader.call,
  })

  const source: RecordSource = {
    fieldFiles,
    begin: readerThreads.begin,
    inTurn: (client, work) => readerThreads.long(client, reader => work(workIn(reader))),
    readShort: ({ source }, numbers, separator) =>
      numbers instanceof Uint32Array
        ? recordsNumbered(database(source.version), numbers, separator)
        : recordsBetween(database(source.version), ...numbers, separator),
    open: async ({ source }, client) => {
      const file = fileOf(source.version)
      const reader = await readerThreads.long(client, async reader => {
        await reader.call('acquire', file)
        return reader
      })
      return {
        piece: (numbers, format, fields, columns) =>
          readerThreads.long(client, () => reader.call('records', file, numbers, format, fields, columns)),
        // If the thread has ended, its files are closed already.
        close: () => reader.call('release', file).catch(() => {}),
      }
    },
  }
  return {
    ...source,
    /** Closes the files of all other versions. */
    keepOnly: (versions: ReadonlySet<string>): void => {
      current = versions
      for (const [version, db] of opened) {
        if (versions.has(version)) continue
        opened.delete(version)
        db.close()
      }
    },
    close: (): void => {
      for (const db of opened.values()) db.close()
      earlier.clear()
    },
  }
}

/** Opens versions that are to be changed, or compared. */
export function openedVersions(
  fileOf: (version: string) => string,
  records: RecordListings,
): Pick<Entities, 'openVersion' | 'sharedSlots'> {
  return {
    openVersion: async entity => {
      if (changesOf(entity)) return records.openChanged(entity)
      const { source } = entity
      const file = openRecords(fileOf, source.version, {})
      const record = recordReader(file)
      return {
        slots: () => slotsIn(file) ?? sortRecords(source.count, []),
        ranks: field => ranksIn(file, field),
        read: slots => Array.from(slots, record),
        writeFields: (version, changed, signal) => records.writeFields(entity, version, changed, signal),
        close: () => file.close(),
      }
    },
    sharedSlots: (one, other) => {
      const [whole, itsWhole] = [one, other].map(entity => {
        const { version } = baseEntity(entity).source
        return baseOf(version) ?? version
      })
      if (whole === undefined || whole !== itsWhole) return 0
      // Revisions of one file number their own records alike.
      const file = openRecords(fileOf, whole, {})
      try {
        return slotCount(file)
      } finally {
        file.close()
      }
    },
  }
}
