import { type Client, nobody } from '../../lib/fair-queue.ts'
import { shareNumbers } from '../../lib/memory.ts'
import type { Field } from '../../model/entities.ts'
import { joinPieces, separators } from '../../model/record-format.ts'
import { packEdits, packParts, type RevisedSlots } from '../columns/edits.ts'
import type { PackedChanges } from '../columns/field-changes.ts'
import type { LoadedRecords } from '../columns/loaded-records.ts'
import type { Place } from '../columns/look-up.ts'
import type { Way } from '../columns/readable-records.ts'
import type { RecordEntity } from '../entities.ts'
import type { Stop } from '../runtime/limits.ts'
import type { RecordCache } from '../runtime/version-cache.ts'
import { Facts } from './facts.ts'
import type { ChangedFacts } from './fields-at-hand.ts'
import type { Turn } from './kept-facts.ts'
import { type Changed, changedSlots, changesOf } from './pending-changes.ts'
import { createPlaces, type Edits, keySearch } from './pending-edits.ts'
import {
  type OpenRecords,
  type RecordNumbers,
  type RecordSource,
  type RecordWork,
  slotsOf,
} from './record-source.ts'
import { findKeysTogether, searchBy, searchIn } from './search.ts'

/** A source of entities with changes, too, and the facts about all of them. */
export interface ChangedSource extends RecordSource {
  readonly facts: Facts
}

/**
 * Reads entities with changes of single records since their version was made (docs/decisions/0041). Their
 * slots and fields are derived from those of the base.
 */
export function changedSource(source: RecordSource, cache: RecordCache): ChangedSource {
  const places = createPlaces()

  /** Reads records of a stored version, from memory if they are loaded. */
  async function read(base: RecordEntity, slots: Uint32Array): Promise<readonly string[]> {
    const loaded = cache.peek<LoadedRecords>(base.source.version, 'records')
    if (!loaded) return split(await source.readShort(base, slots, '\n'))
    const { starts, json } = loaded
    return Array.from(slots, slot => json.toString('utf8', starts[slot], starts[slot + 1]))
  }
  const readerOf = (base: RecordEntity) => (slots: Uint32Array) => read(base, slots)

  const editsOf = (turn: Turn, changed: Changed): Promise<Edits> =>
    places.editsOf(changed, keys => placesOfKeys(turn, facts, changed.base, keys, readerOf(changed.base)))

  /** Derives a column in memory, where the base has no file of the field. */
  async function columnOf(turn: Turn, changed: Changed, field: number) {
    const { base } = changed
    const { edits, written } = await editsOf(turn, changed)
    const column = await facts.kept(turn, base, `column ${field}`, () => turn.work.column(base, field))
    const first = await facts.kept(turn, base, `first ${field}`, () => facts.firstSlots(turn, base, column))
    const search = searchBy(base, field, first.length, rank => first[rank] as number)
    const values = await places.valuesOf(base, field, written, keys =>
      findKeysTogether(search, keys, readerOf(base)),
    )
    return turn.work.call('revisedColumn', column, base.source.count, edits, values)
  }

  const workOf = (work: RecordWork, client: Client): RecordWork => {
    const own: RecordWork = {
      column: (entity, field) => {
        const changed = changesOf(entity)
        return changed ? columnOf(turn, changed, field) : work.column(entity, field)
      },
      slots: async entity => {
        if (!changesOf(entity)) return work.slots(entity)
        return work.call('allSlots', (await facts.slots(turn, entity)) as RevisedSlots)
      },
      values: (entity, slots, field, stop) => {
        const changed = changesOf(entity)
        return changed
          ? mixedValues(work, changed, slots, field, stop)
          : work.values(entity, slots, field, stop)
      },
      search: (entity, field, keys, among) => {
        if (!changesOf(entity)) return work.search(entity, field, keys, among)
        return findKeysTogether(searchIn(entity, field, among), keys, slots => recordsOf(entity, slots))
      },
      call: work.call,
    }
    const turn: Turn = { work: own, client }
    return own
  }

  const recordsOf = (entity: RecordEntity, slots: Uint32Array) => mixed(entity, slots, read)

  const inTurn: RecordSource['inTurn'] = (client, work) =>
    source.inTurn(client, own => work(workOf(own, client)))
  const facts: Facts = new Facts(
    cache,
    source.fieldFiles,
    work => inTurn(nobody, work).catch(() => {}),
    changedFacts({ places, editsOf, readerOf, baseSlots: (turn, base) => facts.baseSlots(turn, base) }),
  )

  return {
    facts,
    fieldFiles: source.fieldFiles,
    begin: source.begin,
    inTurn,
    readShort: (entity, numbers, separator) =>
      changesOf(entity)
        ? recordsOf(entity, listed(numbers)).then(records => joinPieces(records, separator))
        : source.readShort(entity, numbers, separator),
    open: (entity, client) => openMixed(source, entity, client),
  }
}

const fieldOrder = ({ type, collation }: Field) => ({ type, collation })

/** Finds the numbers of records by their keys: in the file of the key if it is one field, otherwise in the records. */
async function placesOfKeys(
  turn: Turn,
  facts: Facts,
  base: RecordEntity,
  keys: readonly (readonly string[])[],
  read: (slots: Uint32Array) => Promise<readonly string[]>,
): Promise<readonly Place[]> {
  const [field, ...others] = base.fields.filter(({ name }) => [base.key].flat().includes(name))
  const file = field && others.length === 0 && facts.stored(base, { ...field, path: [] })
  // A value that each record has alone has the record's number as its rank.
  if (file && file.distinct === base.source.count)
    return turn.work.call('placesInFile', file, fieldOrder(field), keys.flat())
  return findKeysTogether(keySearch(base, await facts.baseSlots(turn, base)), keys, read)
}

interface Changes {
  readonly places: ReturnType<typeof createPlaces>
  readonly editsOf: (turn: Turn, changed: Changed) => Promise<Edits>
  readonly baseSlots: Facts['baseSlots']
  /** Returns a function that reads records of a stored version. */
  readonly readerOf: (base: RecordEntity) => (slots: Uint32Array) => Promise<readonly string[]>
}

/** Derives facts about versions with changes from those about their bases. */
function changedFacts({ places, editsOf, baseSlots, readerOf }: Changes): ChangedFacts {
  const derived: ChangedFacts = {
    slotChanges: async (turn, changed) => {
      const { edits, slots } = await editsOf(turn, changed)
      return packParts([packEdits(changed.base.source.count, edits), Uint32Array.from(slots)])
    },
    fieldChanges: async (turn, changed, field, stored) =>
      derived.revisedChanges(turn, changed.base, await editsOf(turn, changed), field, stored),
    revisedChanges: async (turn, base, { edits, written }, field, stored) => {
      const described = base.fields[field] as Field
      const { name, type } = described
      const values = await places.valuesOf(base, field, written, keys =>
        turn.work.call('placesInFile', stored, fieldOrder(described), keys),
      )
      const revision = {
        base: stored,
        name,
        type,
        edits,
        values,
        written: written.map(({ json }) => json ?? ''),
      }
      const made = await turn.work.call('reviseField', { ...revision, read: new Map() })
      if (made instanceof Uint32Array) return made
      const known = await recordsAt(made, await baseSlots(turn, base), readerOf(base))
      return (await turn.work.call('reviseField', { ...revision, read: known })) as PackedChanges
    },
  }
  return derived
}

/** Reads records by their numbers, in the order of their slots. @param slots null: their numbers */
async function recordsAt(
  numbers: readonly number[],
  slots: Uint32Array | null,
  read: (slots: Uint32Array) => Promise<readonly string[]>,
): Promise<ReadonlyMap<number, string>> {
  const sorted = numbers
    .map(n => ({ n, slot: slots ? (slots[n] as number) : n }))
    .sort((one, other) => one.slot - other.slot)
  const records = await read(Uint32Array.from(sorted, ({ slot }) => slot))
  return new Map(sorted.map(({ n }, at) => [n, records[at] as string]))
}

/** Keeps a version readable, or the base of one with changes. */
async function openMixed(source: RecordSource, entity: RecordEntity, client: Client): Promise<OpenRecords> {
  const changed = changesOf(entity)
  if (!changed) return source.open(entity, client)
  const open = await source.open(changed.base, client)
  return {
    piece: async (numbers, format, fields, columns) => {
      const slots = listed(numbers)
      if (slots.every(slot => slot < slotsOf(changed.base))) return open.piece(slots, format, fields, columns)
      const records = await mixed(entity, slots, async (_, some) =>
        split(await open.piece(some, 'ndjson', fields, null)),
      )
      return columns === null && format !== 'csv'
        ? joinPieces(records, separators[format])
        : source.inTurn(client, work => work.call('piece', records.join(), format, fields, columns))
    },
    close: open.close,
  }
}

/** Reads the values of records of a version with changes, see `RecordWork`. */
async function mixedValues(
  work: RecordWork,
  changed: Changed,
  slots: Uint32Array<SharedArrayBuffer>,
  field: Way,
  stop: Stop,
): ReturnType<RecordWork['values']> {
  const first = slotsOf(changed.base)
  const end = slots.findIndex(slot => slot >= first)
  const before = end < 0 ? slots : slots.slice(0, end)
  const of = changedSlots(changed)
  const after = end < 0 ? [] : Array.from(slots.subarray(end), slot => of[slot - first] ?? '{}')
  const read = await work.values(changed.base, shareNumbers(before), field, stop)
  return {
    parts: [...read.parts, await work.call('extract', after, after.length, field, stop)],
    lengths: [...read.lengths, after.length],
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
