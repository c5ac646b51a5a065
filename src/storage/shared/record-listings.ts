import type { Awaitable } from '../../lib/awaitable.ts'
import type { Entity, Field, Page } from '../../model/entities.ts'
import type { RecordFormat } from '../../model/record-format.ts'
import { separators } from '../../model/record-format.ts'
import type { Listing } from '../entities.ts'
import { cutRecords, type LoadedRecords, maxLoadedBytes, unpackRecords } from './loaded-records.ts'
import { pieceBytes, shortPage } from './page-limits.ts'
import { VersionCache } from './version-cache.ts'

/** A piece of a listing holds at most this many records, and at most `pieceBytes`. */
const pieceRecords = 1_024

export type RecordEntity = Entity & { readonly key: string; readonly source: { readonly kind: 'records' } }

/** Numbers of records: those of a list, in its order, or from one to before another. */
export type Numbers = Uint32Array | readonly [from: number, before: number]

/** A field to sort by, as its place in the entity's list. */
export type SortField = readonly [field: number, descending: boolean]

/** Where an engine keeps the records of versions: a version never changes, and records have numbers in the order of its key. */
export interface RecordSource {
  /** The numbers of all records in this order; the first field is the most significant. */
  sort(entity: RecordEntity, fields: readonly SortField[]): Promise<Uint32Array>
  /** All records, as `unpackRecords` takes them. */
  load(entity: RecordEntity): Promise<Uint8Array>
  /** A few records, joined by the separator. */
  cut(entity: RecordEntity, numbers: Numbers, separator: string): Awaitable<Uint8Array>
  /** Keeps the version where it is until it is closed, for a listing that takes its time. */
  open(entity: RecordEntity): Awaitable<OpenRecords>
}

export interface OpenRecords {
  piece(numbers: Numbers, format: RecordFormat, fields: readonly Field[]): Promise<Uint8Array>
  close(): Promise<void>
}

export interface Records {
  list(entity: RecordEntity, page: Page, format: RecordFormat): Promise<Listing>
  /** Lets go of versions that are not among these. */
  keepOnly(versions: ReadonlySet<string>): void
}

/**
 * Listings of imported entities (docs/decisions/0003): any order is a list of record numbers, any page a piece of it.
 * @param cacheSize bytes of orders and records to keep
 */
export function createRecordListings(source: RecordSource, cacheSize: number): Records {
  const cache = new VersionCache(cacheSize)

  /** The numbers of all records in this order; undefined: the order of the key. */
  function order(entity: RecordEntity, page: Page) {
    const sort = sortOf(entity, page.order)
    if (sort === null) return undefined
    const { version, count } = entity.source
    return cache.get(version, sort.name, count * Uint32Array.BYTES_PER_ELEMENT, () =>
      source.sort(entity, sort.fields),
    )
  }

  /** All records in memory, if there is room for them and they have been read by now. */
  function loaded(entity: RecordEntity): LoadedRecords | undefined {
    const { version, count, bytes } = entity.source
    const size = bytes + (count + 1) * Uint32Array.BYTES_PER_ELEMENT
    if (!cache.hasRoomFor(size) || bytes > maxLoadedBytes) return undefined
    const records = cache.get(version, 'records', size, async () =>
      unpackRecords(await source.load(entity), count),
    )
    if (!(records instanceof Promise)) return records
    // A failure shows when the page is read from the store instead.
    records.catch(() => {})
    return undefined
  }

  function shortBody(entity: RecordEntity, numbers: Numbers, separator: string) {
    const records = loaded(entity)
    if (!records) return source.cut(entity, numbers, separator)
    return cutRecords(records, numbers instanceof Uint32Array ? numbers : range(...numbers), separator)
  }

  async function* longBody(
    entity: RecordEntity,
    sorted: Uint32Array | undefined,
    from: number,
    before: number,
    step: number,
    format: RecordFormat,
  ) {
    const open = await source.open(entity)
    const piece = (at: number) => {
      const end = Math.min(at + step, before)
      return open.piece(sorted ? sorted.slice(at, end) : [at, end], format, entity.fields)
    }
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
      await open.close()
    }
  }

  return {
    list: async (entity, page, format) => {
      const { count, largest } = entity.source
      const from = Math.min(page.offset, count)
      const before = page.limit === null ? count : Math.min(from + page.limit, count)
      const found = { total: count, more: before < count }
      // Nothing to read: not worth an order.
      if (from === before) return { ...found, body: new Uint8Array() }
      const ordered = order(entity, page)
      const sorted = ordered instanceof Promise ? await ordered : ordered
      const step = Math.max(1, Math.min(pieceRecords, Math.floor(pieceBytes / Math.max(largest, 1))))
      // What is longer, or needs work on each record, is read in pieces.
      if (before - from > Math.min(step, shortPage) || format === 'csv')
        return { ...found, body: longBody(entity, sorted, from, before, step, format) }
      const body = shortBody(entity, sorted?.subarray(from, before) ?? [from, before], separators[format])
      return { ...found, body: body instanceof Promise ? await body : body }
    },
    keepOnly: versions => cache.keepOnly(versions),
  }
}

const range = (from: number, before: number) => Array.from({ length: before - from }, (_, at) => from + at)

interface Sort {
  readonly name: string
  readonly fields: readonly SortField[]
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
