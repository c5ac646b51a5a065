import { separators } from '../../shapes.ts'
import type { Entity, Listing, Page, Shape } from '../storage.ts'
import { cutRecords, type LoadedRecords, mostLoadedBytes, unpackRecords } from './loaded-records.ts'
import { Memory } from './memory.ts'
import { type Database, openDatabase } from './open.ts'
import type { Readers } from './readers.ts'
import { recordsBetween, recordsNumbered } from './record-file.ts'

/** A piece of a listing holds at most this many records, */
const pieceRecords = 1_024
/** and at most this many bytes, or one record that is larger. */
const pieceBytes = 128 * 1024
/** A page of at most this many records is put together on the spot. */
const shortPage = 100
/** For such pages: bytes of a file that are mapped into memory, which the operating system shares and takes back. */
const mappedBytes = 256 * 1024 * 1024

export type RecordEntity = Entity & { readonly source: { readonly kind: 'records' } }

interface Parts {
  readonly readers: Readers
  readonly fileOf: (version: string) => string
  /** Bytes of orders and records to keep. */
  readonly cacheSize: number
}

export interface Records {
  list(entity: RecordEntity, page: Page, shape: Shape): Promise<Listing>
  /** Lets go of versions that are not among these. */
  keepOnly(versions: ReadonlySet<string>): void
  close(): void
}

/** Listings of imported entities: any order is a list of record numbers, any page a piece of it. */
export function createRecords({ readers, fileOf, cacheSize }: Parts): Records {
  const memory = new Memory(cacheSize)
  /** Files that this thread reads short pages from. */
  const open = new Map<string, Database>()

  function opened(version: string): Database {
    const known = open.get(version)
    if (known) return known
    const database = openDatabase(fileOf(version), { mode: 'immutable', map: mappedBytes })
    open.set(version, database)
    return database
  }

  /** The numbers of all records in this order; undefined: the order of the key. */
  function order(entity: RecordEntity, page: Page) {
    const sort = sortOf(entity, page.order)
    if (sort === null) return undefined
    const { version, count } = entity.source
    return memory.get(version, sort.name, count * Uint32Array.BYTES_PER_ELEMENT, () =>
      readers.leastBusy().call('sort', fileOf(version), count, sort.fields),
    )
  }

  /** All records in memory, if there is room for them and they have been read by now. */
  function loaded({ version, count, bytes }: RecordEntity['source']): LoadedRecords | undefined {
    const size = bytes + (count + 1) * Uint32Array.BYTES_PER_ELEMENT
    if (!memory.hasRoomFor(size) || bytes > mostLoadedBytes) return undefined
    const records = memory.get(version, 'records', size, async () =>
      unpackRecords(await readers.leastBusy().call('load', fileOf(version), count, bytes), count),
    )
    if (!(records instanceof Promise)) return records
    // A failure shows when the page is read from the file instead.
    records.catch(() => {})
    return undefined
  }

  function shortBody(
    entity: RecordEntity,
    numbers: Uint32Array | undefined,
    from: number,
    before: number,
    separator: string,
  ) {
    const records = loaded(entity.source)
    if (records) return cutRecords(records, numbers?.subarray(from, before) ?? range(from, before), separator)
    const database = opened(entity.source.version)
    return numbers
      ? recordsNumbered(database, numbers.subarray(from, before), separator)
      : recordsBetween(database, from, before, separator)
  }

  async function* longBody(
    entity: RecordEntity,
    numbers: Uint32Array | undefined,
    from: number,
    before: number,
    step: number,
    shape: Shape,
  ) {
    const reader = readers.leastBusy()
    const file = fileOf(entity.source.version)
    const piece = (at: number) => {
      const end = Math.min(at + step, before)
      return reader.call('records', file, numbers ? numbers.slice(at, end) : [at, end], shape, entity.fields)
    }
    await reader.call('hold', file)
    try {
      let ahead = piece(from)
      for (let at = from; at < before; at += step) {
        const now = await ahead
        // The next piece is read while the client takes this one; never more than that.
        if (at + step < before) {
          ahead = piece(at + step)
          ahead.catch(() => {})
        }
        yield now
      }
    } finally {
      // A thread that has ended holds nothing any more.
      await reader.call('release', file).catch(() => {})
    }
  }

  return {
    list: async (entity, page, shape) => {
      const { count, largest } = entity.source
      const from = Math.min(page.offset, count)
      const before = page.limit === null ? count : Math.min(from + page.limit, count)
      // Nothing to read: not worth an order.
      if (from === before) return { total: count, body: new Uint8Array() }
      const sorted = order(entity, page)
      const numbers = sorted instanceof Promise ? await sorted : sorted
      const step = Math.max(1, Math.min(pieceRecords, Math.floor(pieceBytes / Math.max(largest, 1))))
      // What is longer, or needs work on each record, is for the reader threads.
      if (before - from <= Math.min(step, shortPage) && shape !== 'csv')
        return { total: count, body: shortBody(entity, numbers, from, before, separators[shape]) }
      return { total: count, body: longBody(entity, numbers, from, before, step, shape) }
    },
    keepOnly: versions => {
      for (const [version, database] of open) {
        if (versions.has(version)) continue
        open.delete(version)
        database.close()
      }
      memory.keepOnly(versions)
    },
    close: () => {
      for (const database of open.values()) database.close()
    },
  }
}

const range = (from: number, before: number) => Array.from({ length: before - from }, (_, at) => from + at)

interface Sort {
  readonly name: string
  readonly fields: readonly (readonly [field: number, descending: boolean])[]
}

/** An order is the same object each time it is asked for (`parsePage`), and belongs to one entity. */
const sorts = new WeakMap<Page['order'], Sort | null>()

/** @returns null for the order of the key */
function sortOf(entity: RecordEntity, order: Page['order']): Sort | null {
  if (order.length === 0) return null
  const known = sorts.get(order)
  if (known !== undefined) return known
  const keyAt = order.findIndex(one => one.field === entity.key)
  // The key leaves no ties: what comes behind it decides nothing.
  const fields = (keyAt < 0 ? order : order.slice(0, keyAt + 1)).map(
    one => [entity.fields.findIndex(field => field.name === one.field), one.descending] as const,
  )
  const sort = keyAt === 0 && fields[0]?.[1] === false ? null : { name: fields.join(), fields }
  sorts.set(order, sort)
  return sort
}
