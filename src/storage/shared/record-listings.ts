import type { Awaitable } from '../../lib/awaitable.ts'
import type { Client } from '../../lib/fair-queue.ts'
import type { Field, Page } from '../../model/entities.ts'
import type { RecordFormat } from '../../model/record-format.ts'
import { separators } from '../../model/record-format.ts'
import { shortPage } from '../../model/short-pages.ts'
import type { Listing, RecordEntity } from '../entities.ts'
import { type LoadedRecords, maxLoadedBytes, pickRecords, unpackRecords } from './loaded-records.ts'
import { pieceBytes } from './page-limits.ts'
import { decidingOrder } from './total-order.ts'
import type { RecordCache } from './version-cache.ts'

/** The maximum number of records in a piece of a listing, which is also limited by `pieceBytes`. */
const pieceRecords = 1_024

/** What an order takes in the cache besides its slots, so that those of a few records have an end, too. */
const entryBytes = 4_096

/** Slots of records: a list in the order wanted, or a range without its end. Unless records were changed, they are numbers. */
export type RecordNumbers = Uint32Array | readonly [from: number, end: number]

/** A field to sort by, as its index in the entity's list of fields. */
export type SortField = readonly [field: number, descending: boolean]

/** @returns the slots of all records, sorted by these fields; the first is the most significant, and the key decides last */
export type SortRecords = (
  entity: RecordEntity,
  fields: readonly SortField[],
) => Promise<Uint32Array<SharedArrayBuffer>>

/** How an engine reads records. A version of an entity never changes, and its records are numbered in the order of its key. */
export interface RecordSource {
  /** Runs work that sorts, when it is the turn of the client. @throws Overloaded if too much is waiting */
  inTurn<T>(client: Client, work: (sort: SortRecords) => Promise<T>): Promise<T>
  /** All records, as `unpackRecords` takes them. */
  load(entity: RecordEntity): Promise<Uint8Array<SharedArrayBuffer>>
  /** A few records, joined by the separator. */
  readShort(entity: RecordEntity, numbers: RecordNumbers, separator: string): Awaitable<Uint8Array>
  /** Keeps the version readable until it is closed, for a listing that is sent in pieces. */
  open(entity: RecordEntity, client: Client): Awaitable<OpenRecords>
}

export interface OpenRecords {
  piece(numbers: RecordNumbers, format: RecordFormat, fields: readonly Field[]): Promise<Uint8Array>
  close(): Promise<void>
}

export interface RecordListings {
  list(entity: RecordEntity, page: Page, format: RecordFormat, client: Client): Promise<Listing>
  /** Drops what is cached of other versions. */
  keepOnly(versions: ReadonlySet<string>): void
}

/**
 * Listings of imported entities (docs/decisions/0003). An order is a list of record numbers, and a page is a slice of it.
 * @param cache keeps orders and records
 */
export function createRecordListings(source: RecordSource, cache: RecordCache): RecordListings {
  /** The slots of all records in the order of the page; undefined: the order of the key, which is that of the slots. */
  function order(entity: RecordEntity, page: Page, client: Client): Awaitable<Uint32Array | undefined> {
    const { version, count, slots } = entity.source
    const sort = sortOf(entity, page.order) ?? (slots === undefined ? null : orderOfKey)
    if (sort === null) return undefined
    const known = cache.peek<Uint32Array>(version, sort.name)
    if (known) return known
    const bytes = count * Uint32Array.BYTES_PER_ELEMENT + entryBytes
    // Asked for in turn: who waits for what another makes must not wait in the line of the other's network.
    return source.inTurn(client, async sortRecords =>
      cache.get(version, sort.name, bytes, () => sortRecords(entity, sort.fields), asIs),
    )
  }

  /** All records, if the cache has room for them and they are already loaded. Otherwise it may start loading them. */
  function loaded(entity: RecordEntity): LoadedRecords | undefined {
    const { version, bytes } = entity.source
    const count = slotsOf(entity)
    const size = bytes + (count + 1) * Uint32Array.BYTES_PER_ELEMENT
    if (!cache.hasRoomFor(size) || bytes > maxLoadedBytes) return undefined
    const make = () => source.load(entity)
    const records = cache.get(version, 'records', size, make, packed => unpackRecords(packed, count))
    if (!(records instanceof Promise)) return records
    // The page is read from the store instead, and fails itself if the store does.
    records.catch(() => {})
    return undefined
  }

  function shortBody(entity: RecordEntity, numbers: RecordNumbers, separator: string) {
    const records = loaded(entity)
    if (!records) return source.readShort(entity, numbers, separator)
    return pickRecords(records, numbers instanceof Uint32Array ? numbers : range(...numbers), separator)
  }

  async function* longBody(
    entity: RecordEntity,
    page: Page,
    from: number,
    end: number,
    step: number,
    format: RecordFormat,
    client: Client,
  ) {
    const open = await source.open(entity, client)
    const piece = async (at: number) => {
      const endOfPiece = Math.min(at + step, end)
      // Looked up for each piece, so that a client that reads slowly keeps no order from being evicted.
      const sorted = await order(entity, page, client)
      return open.piece(sorted?.slice(at, endOfPiece) ?? [at, endOfPiece], format, entity.fields)
    }
    try {
      let next = piece(from)
      for (let at = from; at < end; at += step) {
        const current = await next
        // Reads one piece ahead while the client takes this one, and never more.
        if (at + step < end) {
          next = piece(at + step)
          next.catch(() => {})
        }
        yield current
      }
    } finally {
      await open.close()
    }
  }

  return {
    list: async (entity, page, format, client) => {
      const { count, largest } = entity.source
      const from = Math.min(page.offset, count)
      const end = page.limit === null ? count : Math.min(from + page.limit, count)
      const counts = { total: count, more: end < count }
      // An empty page needs no sorting.
      if (from === end) return { ...counts, body: new Uint8Array() }
      const step = Math.max(1, Math.min(pieceRecords, Math.floor(pieceBytes / Math.max(largest, 1))))
      // Longer pages, and CSV, which is converted record by record, are read in pieces. It holds nothing until it is begun.
      if (end - from > Math.min(step, shortPage) || format === 'csv')
        return { ...counts, body: longBody(entity, page, from, end, step, format, client) }
      const ordered = order(entity, page, client)
      const sorted = ordered instanceof Promise ? await ordered : ordered
      const body = shortBody(entity, sorted?.subarray(from, end) ?? [from, end], separators[format])
      return { ...counts, body: body instanceof Promise ? await body : body }
    },
    keepOnly: versions => cache.keepOnly(versions),
  }
}

const asIs = <T>(value: T): T => value

const range = (from: number, end: number) => Array.from({ length: end - from }, (_, at) => from + at)

/** How many slots the records are in. */
export const slotsOf = ({ source }: RecordEntity): number => source.slots ?? source.count

interface Sort {
  readonly name: string
  readonly fields: readonly SortField[]
}

const orderOfKey: Sort = { name: 'key', fields: [] }

/** `parsePage` returns the same object for the same order of an entity, so sorts are cached by it. */
const sorts = new WeakMap<Page['order'], Sort | null>()

/** @returns null for the order of the key */
function sortOf(entity: RecordEntity, order: Page['order']): Sort | null {
  if (order.length === 0) return null
  const known = sorts.get(order)
  if (known !== undefined) return known
  const key = [entity.key].flat()
  const deciding = decidingOrder(entity, order)
  const fields = deciding.map(
    one => [entity.fields.findIndex(field => field.name === one.field), one.descending] as const,
  )
  const isOrderOfKey = deciding.every(({ field, descending }, at) => field === key[at] && !descending)
  const sort = isOrderOfKey ? null : { name: fields.join(), fields }
  sorts.set(order, sort)
  return sort
}
