import { sharedNumbers, shareNumbers } from '../../lib/shared-memory.ts'
import type { FieldType } from '../../model/entities.ts'
import { limited, mayGoOn, type Stop } from '../runtime/limits.ts'
import {
  columnsOfRows,
  derive,
  firstNumbers,
  openColumn,
  type PackedColumn,
  packColumn,
  postingsOf,
} from './columns.ts'
import { type GroupTask, groupRows, type PackedRows } from './group-rows.ts'
import { packValues, type ReadableRecords, recordsIn, type Way } from './readable-records.ts'
import { revisedColumn, revisedSlots } from './revised-ranks.ts'
import { maskedValues, pieceOf } from './rows.ts'
import { indexWords, relevanceColumn, type SearchTask, searchTexts } from './search-texts.ts'
import { select } from './select.ts'
import { numbersIn, openSelection, type PackedSelection, packSelection } from './selections.ts'
import { sortNumbers, toSlots } from './sort-records.ts'
import { type FilterTask, prepare } from './tasks.ts'
import { type Translated, translate } from './translate.ts'
import { arrangeValues, openValues, type PackedValues } from './values.ts'
import type { PackedWords } from './word-index.ts'

/** A field to sort some records by. */
export interface TaskOrder {
  readonly column: PackedColumn
  readonly descending: boolean
}

/** A column and its values, of one of two versions. */
export interface TranslatedSide extends Omit<Translated, 'values'> {
  readonly distinct: number
  readonly values: PackedValues
}

const openSide = ({ distinct, values, ...rest }: TranslatedSide): Translated => ({
  ...rest,
  values: openValues(values, distinct),
})

/**
 * What the thread for long work does for conditions and rows, the same on both engines. It all lies in memory that threads
 * share, and nothing here reads the store. What may take long asks now and then whether the client is still there.
 */
export const recordWork = {
  column: (ranks: Uint32Array, nullable: boolean): PackedColumn => packColumn(ranks, nullable),

  revisedColumn,
  revisedSlots,

  postings: (column: PackedColumn, count: number) => postingsOf(openColumn(column, count)),

  /** The slot of a record with each rank. */
  firstSlots(column: PackedColumn, count: number, slots: Uint32Array | null) {
    const first = firstNumbers(openColumn(column, count))
    if (slots) toSlots(first, slots)
    return first
  },

  /** What some records have in a field. */
  extract: (records: Iterable<string>, length: number, field: Way, stop: Stop): PackedValues =>
    limited(stop, () => packValues(records, length, field, mayGoOn)),

  /** Slots in ascending order, in which they are read fastest, and where each was. */
  ascending(slots: Uint32Array, slotCount: number) {
    const places = new Uint32Array(slotCount + 1)
    for (let at = 0; at < slots.length; at++) places[slots[at] as number] = at + 1
    const sorted = sharedNumbers(slots.length)
    const from = sharedNumbers(slots.length)
    let size = 0
    for (let slot = 0; slot < slotCount; slot++) {
      const place = places[slot] as number
      if (place === 0) continue
      from[size] = place - 1
      sorted[size++] = slot
    }
    return { slots: sorted, places: from }
  },

  /** Values that were read in parts, put where they belong. */
  arrange: (parts: readonly PackedValues[], lengths: readonly number[], places: Uint32Array): PackedValues =>
    arrangeValues(
      parts.map((part, at) => openValues(part, lengths[at] as number)),
      places,
    ),

  /** The texts of values by `to_string`, as JSON. */
  masked: (values: PackedValues, length: number, type: FieldType, mask: string, stop: Stop): PackedValues =>
    limited(stop, () => maskedValues(openValues(values, length), type, mask, mayGoOn)),

  groups: (task: GroupTask, stop: Stop): PackedRows => limited(stop, () => groupRows(task, mayGoOn)),

  piece: pieceOf,

  derive: (base: PackedColumn, count: number, texts: PackedValues, type: FieldType, stop: Stop) =>
    limited(stop, () => derive(base, count, texts, type, mayGoOn)),

  /** What records that are loaded have in a field. */
  loadedValues: (records: ReadableRecords, slots: Uint32Array, field: Way, stop: Stop): PackedValues =>
    recordWork.extract(each(slots, recordsIn(records)), slots.length, field, stop),

  filter: (task: FilterTask, stop: Stop): PackedSelection =>
    limited(stop, () => packSelection(select(prepare(task, mayGoOn), task.count, mayGoOn))),

  indexWords: (values: PackedValues, distinct: number, type: FieldType, stop: Stop): PackedWords =>
    limited(stop, () => indexWords(openValues(values, distinct), type, mayGoOn)),

  relevance: (task: SearchTask, stop: Stop): PackedColumn =>
    limited(stop, () => relevanceColumn(task, mayGoOn)),

  searchTexts: (task: SearchTask, stop: Stop): PackedSelection =>
    limited(stop, () => packSelection(searchTexts(task, mayGoOn))),

  /**
   * Lists a selection.
   * @param order of the list; the key decides last
   * @returns the slots of its records
   */
  list(
    selection: PackedSelection | null,
    count: number,
    order: readonly TaskOrder[],
    slots: Uint32Array | null,
  ): Uint32Array<SharedArrayBuffer> {
    const numbers = sorted(selection, count, order)
    if (slots) toSlots(numbers, slots)
    return numbers
  },

  /** A selection of those at some places of an ordered list. */
  window(
    selection: PackedSelection | null,
    count: number,
    order: readonly TaskOrder[],
    offset: number,
    limit: number | null,
  ): PackedSelection {
    const numbers = sorted(selection, count, order)
    const some = numbers.slice(offset, limit === null ? undefined : offset + limit).sort()
    return packSelection({ kind: 'list', numbers: some })
  },

  columnsOf: (rows: string, types: readonly FieldType[], stop: Stop) =>
    limited(stop, () => columnsOfRows(rows, types, mayGoOn)),

  translate: (inner: TranslatedSide, outer: TranslatedSide, stop: Stop) =>
    limited(stop, () => translate(openSide(inner), openSide(outer), mayGoOn)),
}

/** The numbers of a selection in some order. */
function sorted(selection: PackedSelection | null, count: number, order: readonly TaskOrder[]) {
  const numbers = shareNumbers(numbersIn(selection ? openSelection(selection) : undefined, count))
  if (order.length === 0) return numbers
  return sortNumbers(
    numbers,
    order.map(({ column, descending }) => ({ ranks: openColumn(column, count).ranks, descending })),
  )
}

export type RecordHandlers = typeof recordWork

function* each(slots: Uint32Array, read: (slot: number) => string): Iterable<string> {
  for (let at = 0; at < slots.length; at++) yield read(slots[at] as number)
}
