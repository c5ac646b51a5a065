import { type Awaitable, andThen } from '../../lib/awaitable.ts'
import { type Client, nobody } from '../../lib/fair-queue.ts'
import { sharedBytes } from '../../lib/memory.ts'
import { joinPieces, type RecordFormat, separators, shortPage } from '../../model/record-format.ts'
import { distinctIn } from '../columns/columns.ts'
import {
  type LoadedRecords,
  maxLoadedBytes,
  pickRecords,
  range,
  unpackRecords,
} from '../columns/loaded-records.ts'
import { fieldsOf, pieceOf, scalarColumns } from '../columns/rows.ts'
import type { Listing, OpenVersion, RecordEntity, RecordPlan } from '../entities.ts'
import type { Explanation, Steps } from '../plans/explain.ts'
import { pieceBytes } from '../runtime/limits.ts'
import type { RecordCache } from '../runtime/version-cache.ts'
import type { FoundRecord } from '../single-records.ts'
import { filterName } from './filters.ts'
import { onlyRanks } from './needs.ts'
import { type ChangedSource, changedSource, mixed, split } from './overlay-source.ts'
import { baseEntity, changesOf, lastChanges } from './pending-changes.ts'
import { createRecordGroups, isGrouped } from './record-groups.ts'
import { createRecordOrders, type RecordOrders } from './record-orders.ts'
import { type RecordNumbers, type RecordSource, type RecordWork, slotsOf } from './record-source.ts'
import { type AddRelated, createRelatedValues } from './related-values.ts'
import { preparing, revisedFilesOf } from './version-files.ts'

/** The maximum number of records in a piece of a listing, which is also limited by `pieceBytes`. */
const pieceRecords = 1_024

/** Maximum length of the JSON and number of columns of rows made on this thread, in about a millisecond. */
const quickLength = 65_536
const quickColumns = 50

interface RecordListings {
  list(plan: RecordPlan, format: RecordFormat, client: Client): Promise<Listing>
  /** @param runs true to run it and measure how long that takes */
  explain(plan: RecordPlan, client: Client, runs: boolean): Promise<Explanation>
  /** @param key makes the name of the record that the plan lists */
  record(plan: RecordPlan, key: () => string, client: Client): Promise<FoundRecord>
  /** Opens a version that is derived from another one (docs/decisions/0041). */
  openChanged(entity: RecordEntity): Promise<OpenVersion>
  /** Writes files of fields, see `OpenVersion`. */
  writeFields(entity: RecordEntity, ...rest: Parameters<OpenVersion['writeFields']>): Promise<string>
  /** Drops what is cached of other versions, except those that were held last. */
  keepOnly(versions: ReadonlySet<string>): void
  readonly hold: RecordCache['hold']
  readonly prepare: ReturnType<typeof preparing>
}

/**
 * Lists imported entities (docs/decisions/0003). An order is a list of slots, and a page is a slice of it.
 * @param engine reads versions
 * @param cache keeps orders and records
 */
export function createRecordListings(engine: RecordSource, cache: RecordCache): RecordListings {
  const source = changedSource(engine, cache)
  const orders = createRecordOrders(source, cache)
  const groups = createRecordGroups(source, orders)
  const relatedValues = createRelatedValues(source, orders.facts)
  const writeFields = revisedFilesOf(source)
  const { shortBody, shortRecords } = createShortBodies(source, cache)

  const listings: RecordListings = {
    list: async (plan, format, client) => {
      const { entity, where, shape, page } = plan
      if (shape.kind === 'rows' && isGrouped(shape)) return groups({ ...plan, shape }, format, client)
      // The number of matches is known only with their list.
      const matching = where === null ? undefined : await orders.of(plan, client)
      const count = matching ? matching.length : entity.source.count
      const from = Math.min(page.offset, count)
      const end = page.limit === null ? count : Math.min(from + page.limit, count)
      const counts = { total: count, more: end < count }
      // An empty page needs no sorting.
      if (from === end) return { ...counts, body: new Uint8Array() }
      const { largest } = entity.source
      const step = Math.max(1, Math.min(pieceRecords, Math.floor(pieceBytes / Math.max(largest, 1))))
      // Longer pages, and CSV, which is converted by record, are read in pieces, with nothing held before.
      const add = shape.kind === 'rows' ? await relatedValues(entity, shape, client) : undefined
      if (end - from > Math.min(step, shortPage) || format === 'csv')
        return { ...counts, body: longBody(source, orders, plan, from, end, step, format, client, add) }
      const sorted = matching ?? (await orders.of(plan, client))
      const numbers = sorted?.between(from, end) ?? ([from, end] as const)
      return { ...counts, body: await shortBody(plan, numbers, format, client, add) }
    },
    explain: async (plan, client, runs) => {
      const { entity, where } = plan
      const kept = where !== null && cache.peek(entity.source.version, filterName(where)) !== undefined
      return { kept, ...(runs && { ran: await run(plan, client) }) }
    },
    record: async (plan, key, client) => {
      const changed = changesOf(plan.entity)
      const last = changed && lastChanges(changed).get(key())?.change
      if (last) return { json: last.json ?? undefined, seq: last.seq }
      const entity = baseEntity(plan.entity)
      const few = plan.where === null ? undefined : orders.few(entity, plan.where)
      if (few) {
        const found = few.length === 0 ? undefined : shortRecords(entity, few.between(0, 1), '\n')
        return { json: found && split(await found)[0], seq: 0 }
      }
      const { body } = await listings.list({ ...plan, entity }, 'ndjson', client)
      if (!(body instanceof Uint8Array)) throw new Error('one record is listed at once')
      return { json: split(body)[0], seq: 0 }
    },
    openChanged: async entity => ({
      ...(await openedChanged(source, entity)),
      writeFields: (...rest) => writeFields(entity, ...rest),
    }),
    writeFields,
    keepOnly: versions => {
      cache.keepOnly(versions)
      source.fieldFiles.keepOnly(version => versions.has(version) || cache.holds(version))
    },
    hold: cache.hold.bind(cache),
    prepare: preparing(source),
  }

  async function run(plan: RecordPlan, client: Client): Promise<Steps['ran']> {
    const begun = performance.now()
    const { body } = await listings.list(plan, 'ndjson', client)
    let rows = 0
    for await (const piece of body instanceof Uint8Array ? [body] : body) rows += linesIn(piece)
    return { rows, milliseconds: Math.round(performance.now() - begun) }
  }

  return listings
}

/** Bodies of short pages, made at once if the records are loaded. */
function createShortBodies(source: ChangedSource, cache: RecordCache) {
  /** Returns all records if they are loaded; otherwise starts loading them if the cache has room. */
  function loaded(entity: RecordEntity): LoadedRecords | undefined {
    const { version, bytes } = entity.source
    const count = slotsOf(entity)
    const size = packedLength(entity)
    if (!cache.hasRoomFor(size) || bytes > maxLoadedBytes) return undefined
    const make = () => loadRecords(source, entity)
    const records = cache.get(version, 'records', size, make, packed => unpackRecords(packed, count))
    if (!(records instanceof Promise)) return records
    // The page is read from the store instead, and fails itself if the store does.
    records.catch(() => {})
    return undefined
  }

  function shortBody(
    { entity, shape }: RecordPlan,
    numbers: RecordNumbers,
    format: RecordFormat,
    client: Client,
    add: AddRelated | undefined,
  ) {
    if (shape.kind === 'records') return shortRecords(entity, numbers, separators[format])
    const columns = scalarColumns(shape)
    const isQuick =
      columns.length <= quickColumns &&
      columns.every(({ value }) => value.kind === 'field' && value.field.computed?.kind !== 'to_string')
    const rows = (json: Uint8Array): Awaitable<Uint8Array> => {
      const text = Buffer.from(json).toString()
      return isQuick && text.length <= quickLength
        ? pieceOf(text, format, [], columns)
        : source.inTurn(client, work => work.call('piece', text, format, [], columns))
    }
    if (add)
      return Promise.resolve(shortRecords(entity, numbers, '\n')).then(records =>
        rows(Buffer.from(add(split(records), slotsIn(numbers)))),
      )
    return andThen(shortRecords(entity, numbers, ','), rows)
  }

  function shortRecords(
    entity: RecordEntity,
    numbers: RecordNumbers,
    separator: string,
  ): Awaitable<Uint8Array> {
    if (changesOf(entity) && numbers instanceof Uint32Array)
      return mixed(entity, numbers, async (base, slots) => split(await shortRecords(base, slots, '\n'))).then(
        records => joinPieces(records, separator),
      )
    const records = loaded(entity)
    if (!records) return source.readShort(entity, numbers, separator)
    return pickRecords(records, numbers instanceof Uint32Array ? numbers : range(...numbers), separator)
  }

  return { shortBody, shortRecords }
}

async function* longBody(
  source: ChangedSource,
  orders: RecordOrders,
  plan: RecordPlan,
  from: number,
  end: number,
  step: number,
  format: RecordFormat,
  client: Client,
  add: AddRelated | undefined,
) {
  const { entity, shape } = plan
  const columns = shape.kind === 'rows' ? scalarColumns(shape) : null
  const fields = columns ? fieldsOf(columns) : entity.fields
  // With every change of a record, the order of the version before may be dropped.
  const held = changesOf(entity) ? await orders.of(plan, client) : undefined
  const open = await source.open(entity, client)
  const piece = async (at: number) => {
    const endOfPiece = Math.min(at + step, end)
    // Looked up for each piece, so that a client that reads slowly keeps no order from being evicted.
    const sorted = held ?? (await orders.of(plan, client))
    const numbers = sorted?.between(at, endOfPiece).slice() ?? ([at, endOfPiece] as const)
    if (!add) return open.piece(numbers, format, fields, columns)
    const records = add(split(await open.piece(numbers, 'ndjson', fields, null)), slotsIn(numbers))
    return source.inTurn(client, work => work.call('piece', records, format, fields, columns))
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

async function openedChanged(
  source: ChangedSource,
  entity: RecordEntity,
): Promise<Omit<OpenVersion, 'writeFields'>> {
  const held = await source.open(entity, nobody)
  const column = (work: RecordWork, field: number) => {
    const { name, type } = entity.fields[field] as RecordEntity['fields'][number]
    const need = { ref: { name, path: [], type }, ...onlyRanks }
    return source.facts.make({ work, client: nobody }, entity, need)
  }
  return {
    slots: () => source.inTurn(nobody, work => work.slots(entity)),
    ranks: field =>
      source.inTurn(nobody, async work =>
        work.call('allRanks', (await column(work, field)).column, entity.source.count),
      ),
    distinct: field => source.inTurn(nobody, async work => distinctIn((await column(work, field)).column)),
    read: async slots => split(await source.readShort(entity, slots, '\n')),
    close: held.close,
  }
}

const slotsIn = (numbers: RecordNumbers): ArrayLike<number> =>
  numbers instanceof Uint32Array ? numbers : Uint32Array.from(range(...numbers))

function linesIn(piece: Uint8Array): number {
  if (piece.length === 0) return 0
  let lines = 1
  for (let at = piece.indexOf(newlineByte); at >= 0; at = piece.indexOf(newlineByte, at + 1)) lines++
  return lines
}

/** Number of records read at a time, in a few milliseconds. Others have their turn between two pieces. */
const loadStep = 2_048

/** Reads the records of all slots. @returns them in the form that `unpackRecords` takes */
export async function loadRecords(
  source: Pick<RecordSource, 'open'>,
  entity: RecordEntity,
): Promise<Uint8Array<SharedArrayBuffer>> {
  const count = slotsOf(entity)
  const packed = sharedBytes(packedLength(entity))
  const { starts, json } = unpackRecords(packed, count)
  const open = await source.open(entity, nobody)
  try {
    let n = 0
    let at = 0
    while (n < count) {
      const endOfPiece = Math.min(n + loadStep, count)
      const lines = await open.piece([n, endOfPiece], 'ndjson', [], null)
      for (let from = 0; from < lines.length; ) {
        const newline = lines.indexOf(newlineByte, from)
        const end = newline < 0 ? lines.length : newline
        json.set(lines.subarray(from, end), at)
        at += end - from
        starts[++n] = at
        from = end + 1
      }
      if (n !== endOfPiece) throw new Error(`${entity.name} has ${n} records up to slot ${endOfPiece}`)
    }
  } finally {
    await open.close()
  }
  return packed
}

/** Size in bytes of all records when they are packed. */
const packedLength = (entity: RecordEntity): number =>
  entity.source.bytes + (slotsOf(entity) + 1) * Uint32Array.BYTES_PER_ELEMENT

const newlineByte = 0x0a
