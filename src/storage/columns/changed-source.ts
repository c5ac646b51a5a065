import type { Client } from '../../lib/fair-queue.ts'
import { shareNumbers } from '../../lib/memory.ts'
import { joinPieces, separators } from '../../model/record-format.ts'
import type { RecordEntity } from '../entities.ts'
import type { RecordCache } from '../runtime/version-cache.ts'
import { createPlaces, type Edits } from './change-edits.ts'
import { type Changed, changedSlots, changesOf } from './changed-entities.ts'
import { Facts } from './facts.ts'
import type { Turn } from './kept-facts.ts'
import type { LoadedRecords } from './loaded-records.ts'
import { type RecordNumbers, type RecordSource, type RecordWork, slotsOf } from './record-source.ts'
import { findKeysTogether, searchIn } from './search.ts'

/**
 * Reads entities with changes of single records since their version was made (docs/decisions/0041). Their
 * slots and columns are derived from those of the base.
 */
export function changedSource(source: RecordSource, cache: RecordCache): RecordSource {
  /** Facts about base versions, and about the changed ones that are sorted here. */
  const facts = new Facts(cache, source.fieldFiles)
  const places = createPlaces()

  /** Reads records of a stored version, from memory if they are loaded. */
  async function read(base: RecordEntity, slots: Uint32Array): Promise<readonly string[]> {
    const loaded = cache.peek<LoadedRecords>(base.source.version, 'records')
    if (!loaded) return split(await source.readShort(base, slots, '\n'))
    const { starts, json } = loaded
    return Array.from(slots, slot => json.toString('utf8', starts[slot], starts[slot + 1]))
  }
  const readerOf = (base: RecordEntity) => (slots: Uint32Array) => read(base, slots)

  async function editsOf(turn: Turn, changed: Changed): Promise<Edits> {
    return places.editsOf(changed, await facts.slots(turn, changed.base), readerOf(changed.base))
  }

  async function columnOf(turn: Turn, entity: RecordEntity, field: number) {
    const changed = changesOf(entity)
    if (!changed) return turn.work.column(entity, field)
    const { base } = changed
    const edits = await editsOf(turn, changed)
    const column = await facts.kept(turn, base, `column ${field}`, () => turn.work.column(base, field))
    const first = await facts.kept(turn, base, `first ${field}`, () => facts.firstSlots(turn, base, column))
    const values = await places.valuesOf(base, field, edits, first, readerOf(base))
    return turn.work.call('revisedColumn', column, base.source.count, edits.edits, values)
  }

  async function slotsIn(turn: Turn, entity: RecordEntity) {
    const changed = changesOf(entity)
    if (!changed) return turn.work.slots(entity)
    const { edits, slots } = await editsOf(turn, changed)
    const before = await facts.slots(turn, changed.base)
    return turn.work.call('revisedSlots', before, changed.base.source.count, edits, slots)
  }

  const workOf = (work: RecordWork, client: Client): RecordWork => {
    const turn: Turn = { work, client }
    return {
      sort: async (entity, fields) => {
        if (!changesOf(entity)) return work.sort(entity, fields)
        const order = []
        for (const [field, descending] of fields)
          order.push({
            column: await facts.kept(turn, entity, `column ${field}`, () => columnOf(turn, entity, field)),
            descending,
          })
        const slots = await facts.kept(turn, entity, 'slots', () => slotsIn(turn, entity))
        return work.call('list', null, entity.source.count, order, slots)
      },
      column: (entity, field) => columnOf(turn, entity, field),
      slots: entity => slotsIn(turn, entity),
      values: async (entity, slots, field, stop) => {
        const changed = changesOf(entity)
        if (!changed) return work.values(entity, slots, field, stop)
        const { base } = changed
        const end = slots.findIndex(slot => slot >= slotsOf(base))
        const before = end < 0 ? slots : slots.slice(0, end)
        const of = changedSlots(changed)
        const after = end < 0 ? [] : Array.from(slots.subarray(end), slot => of[slot - slotsOf(base)] ?? '{}')
        const read = await work.values(base, shareNumbers(before), field, stop)
        return {
          parts: [...read.parts, await work.call('extract', after, after.length, field, stop)],
          lengths: [...read.lengths, after.length],
        }
      },
      search: (entity, field, keys, among) => {
        if (!changesOf(entity)) return work.search(entity, field, keys, among)
        return findKeysTogether(searchIn(entity, field, among), keys, slots => recordsOf(entity, slots))
      },
      call: work.call,
    }
  }

  const recordsOf = (entity: RecordEntity, slots: Uint32Array) => mixed(entity, slots, read)

  return {
    fieldFiles: source.fieldFiles,
    inTurn: (client, work) => source.inTurn(client, own => work(workOf(own, client))),
    readShort: (entity, numbers, separator) =>
      changesOf(entity)
        ? recordsOf(entity, listed(numbers)).then(records => joinPieces(records, separator))
        : source.readShort(entity, numbers, separator),
    open: async (entity, client) => {
      const changed = changesOf(entity)
      if (!changed) return source.open(entity, client)
      const open = await source.open(changed.base, client)
      return {
        piece: async (numbers, format, fields, columns) => {
          const slots = listed(numbers)
          if (slots.every(slot => slot < slotsOf(changed.base)))
            return open.piece(slots, format, fields, columns)
          const records = await mixed(entity, slots, async (_, some) =>
            split(await open.piece(some, 'ndjson', fields, null)),
          )
          return columns === null && format !== 'csv'
            ? joinPieces(records, separators[format])
            : source.inTurn(client, work => work.call('piece', records.join(), format, fields, columns))
        },
        close: open.close,
      }
    },
  }
}

/** Returns the JSON of records by slot: those of the base by `read`, those after it from the changes. */
export async function mixed(
  entity: RecordEntity,
  slots: Uint32Array,
  read: (base: RecordEntity, slots: Uint32Array) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const changed = changesOf(entity)
  if (!changed) return read(entity, slots)
  const first = slotsOf(changed.base)
  const before = slots.filter(slot => slot < first)
  const records = before.length === 0 ? [] : await read(changed.base, before)
  const of = changedSlots(changed)
  let next = 0
  return Array.from(slots, slot => (slot < first ? records[next++] : of[slot - first]) ?? '{}')
}

/** Splits records at line breaks, which stored records don't contain. */
export const split = (records: Uint8Array): readonly string[] =>
  records.length === 0
    ? []
    : Buffer.from(records.buffer, records.byteOffset, records.byteLength).toString().split('\n')

const listed = (numbers: RecordNumbers): Uint32Array => {
  if (numbers instanceof Uint32Array) return numbers
  const [from, end] = numbers
  return Uint32Array.from({ length: end - from }, (_, at) => from + at)
}
