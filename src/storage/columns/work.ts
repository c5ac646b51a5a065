import { StoreUnavailable } from '../../lib/errors.ts'
import { release, sharedNumbers, shareNumbers } from '../../lib/memory.ts'
import type { FieldType } from '../../model/entities.ts'
import { limited, type Stop } from '../runtime/limits.ts'
import {
  columnsOfRows,
  derive,
  firstNumbers,
  type GivenColumn,
  openColumn,
  type PackedColumn,
  packColumn,
  packRanks,
  postingsOf,
  postingsOfFile,
} from './columns.ts'
import { computedColumn, relatedColumn } from './derived-columns.ts'
import { allSlots, type GivenSlots, toSlots } from './edits.ts'
import { placesInFile, reviseField } from './field-revision.ts'
import { storeField } from './field-writer.ts'
import { groupRows } from './group-rows.ts'
import { revisedColumn } from './rank-revision.ts'
import { packValues, type ReadableRecords, recordsIn, type Way } from './readable-records.ts'
import { pieceOf } from './rows.ts'
import {
  addWords,
  indexWords,
  indexWritten,
  relevanceColumn,
  type SearchTask,
  searchTexts,
} from './search-texts.ts'
import { select } from './select.ts'
import { numbersIn, openSelection, type PackedSelection, packSelection, sampleOf } from './selections.ts'
import { sortNumbers } from './sort-records.ts'
import { closeStored, type StoredField } from './stored-field.ts'
import { type FilterTask, prepare } from './tasks.ts'
import { type Translated, translate } from './translate.ts'
import {
  arrangeValues,
  eachJson,
  type GivenValues,
  MemoryValues,
  openValues,
  type PackedValues,
  Packer,
} from './values.ts'
import { openStoredWords, type StoredWords } from './word-index.ts'
import { writeWords } from './word-writer.ts'

/** A field to sort some records by. */
export interface TaskOrder {
  readonly column: GivenColumn
  readonly descending: boolean
}

/** One side of a translation: a column and its values. */
export interface TranslatedSide extends Omit<Translated, 'values'> {
  readonly distinct: number
  readonly values: GivenValues
}

const openSide = ({ distinct, values, ...rest }: TranslatedSide): Translated => ({
  ...rest,
  values: openValues(values, distinct),
})

/**
 * Work on conditions and rows in the thread for long work, for both engines. It reads memory that threads
 * share, and never the store. Long steps stop when the client disconnects.
 */
export const recordWork = closingFiles({
  column: (ranks: Uint32Array, nullable: boolean): PackedColumn => packColumn(ranks, nullable),

  revisedColumn,
  placesInFile,
  reviseField,

  /** Returns the slots of all records of a changed version. */
  allSlots,

  /** Returns the number of the record in each slot. */
  numbersOf(slots: GivenSlots, slotCount: number): Uint32Array<SharedArrayBuffer> {
    const numbers = sharedNumbers(slotCount)
    const all = slots instanceof Uint32Array ? slots : allSlots(slots)
    for (let n = 0; n < all.length; n++) numbers[all[n] as number] = n
    return numbers
  },

  /** Returns the ranks of all records. */
  allRanks: (column: GivenColumn, count: number): Uint32Array<SharedArrayBuffer> =>
    shareNumbers(Uint32Array.from(openColumn(column, count).ranks)),

  postings: postingsOf,

  /** Returns the slot of the first record with each rank. */
  firstSlots(column: GivenColumn, count: number, slots: GivenSlots | null) {
    const first = firstNumbers(openColumn(column, count))
    if (slots) toSlots(first, slots)
    return first
  },

  extract: stoppable(packValues),

  /** Sorts slots, because ascending ones are read fastest, and returns the place that each had. */
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

  /** Puts values that were read in parts into their places. */
  arrange: (parts: readonly PackedValues[], lengths: readonly number[], places: Uint32Array): PackedValues =>
    arrangeValues(
      parts.map((part, at) => new MemoryValues(part, lengths[at] as number)),
      places,
    ),

  computed: stoppable(computedColumn),
  related: stoppable(relatedColumn),
  groups: stoppable(groupRows),

  piece: pieceOf,

  derive: stoppable(derive),

  loadedValues: (records: ReadableRecords, slots: Uint32Array, field: Way, stop: Stop): PackedValues =>
    recordWork.extract(each(slots, recordsIn(records)), slots.length, field, stop),

  loadColumn: (field: StoredField): PackedColumn => {
    const { ranks, distinct } = openColumn(field, field.count)
    return packRanks(Uint32Array.from(ranks), distinct)
  },

  loadPostings: (field: StoredField): Uint32Array<SharedArrayBuffer> =>
    shareNumbers(postingsOfFile(field).slice(0, field.count)),

  loadValues: (field: StoredField): PackedValues => {
    const packer = new Packer(field.distinct)
    eachJson(openValues(field, field.distinct), json => packer.add(json))
    return packer.finish()
  },

  /** Writes the file of a field (docs/decisions/0070). */
  storeField(path: string, type: FieldType, column: PackedColumn, count: number, values: PackedValues): void {
    const opened = openColumn(column, count)
    storeField(path, type, opened, count, openValues(values, opened.distinct))
  },

  filter: stoppable((task: FilterTask) => packSelection(select(prepare(task), task.count))),

  indexWords: stoppable((values: GivenValues, distinct: number, type: FieldType) =>
    indexWords(openValues(values, distinct), type),
  ),

  /** Indexes the written values of a changed version. */
  indexWritten,

  /** Writes the words of a field to a file. @returns null if that fails, such as on a full disk */
  storeWords(path: string, field: StoredField, type: FieldType, stop: Stop): StoredWords | null {
    try {
      limited(stop, () =>
        writeWords(path, builder => addWords(builder, openValues(field, field.distinct), type)),
      )
    } catch (error) {
      if (!(error instanceof StoreUnavailable) && (error as NodeJS.ErrnoException).syscall === undefined)
        throw error
    }
    return openStoredWords(path) ?? null
  },

  relevance: stoppable(relevanceColumn),

  searchTexts: stoppable((task: SearchTask) => packSelection(searchTexts(task))),

  /** Lists the slots of a selection. @param order of the list; the key decides last */
  list(
    selection: PackedSelection | null,
    count: number,
    order: readonly TaskOrder[],
    slots: GivenSlots | null,
  ): Uint32Array<SharedArrayBuffer> {
    const numbers = sorted(selection, count, order)
    if (slots) toSlots(numbers, slots)
    return numbers
  },

  /** Selects some records at random, always the same for a seed. */
  sample(selection: PackedSelection | null, count: number, size: number, seed: number): PackedSelection {
    const found = numbersIn(selection ? openSelection(selection) : undefined, count)
    return packSelection({ kind: 'list', numbers: sampleOf(found, size, seed) })
  },

  /** Selects a window of an ordered list. */
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

  columnsOf: stoppable(columnsOfRows),

  translate: stoppable((inner: TranslatedSide, outer: TranslatedSide) =>
    translate(openSide(inner), openSide(outer)),
  ),
})

/** Adds to the arguments of a function the flag that stops it. */
function stoppable<A extends readonly unknown[], R>(work: (...args: A) => R) {
  return (...args: [...A, Stop]): R =>
    limited(args.at(-1) as Stop, () => work(...(args.slice(0, -1) as unknown as A)))
}

/** Makes functions close the files of fields that they have opened. */
function closingFiles<T extends object>(handlers: T): T {
  const closing = Object.entries(handlers).map(([name, work]) => [
    name,
    (...args: unknown[]) => {
      try {
        return (work as (...args: unknown[]) => unknown)(...args)
      } finally {
        closeStored(() => false)
      }
    },
  ])
  return Object.fromEntries(closing) as T
}

function sorted(selection: PackedSelection | null, count: number, order: readonly TaskOrder[]) {
  const found = numbersIn(selection ? openSelection(selection) : undefined, count)
  const numbers = shareNumbers(found)
  release(found)
  if (order.length === 0) return numbers
  const fields = order.map(({ column, descending }) => ({
    ranks: openColumn(column, count).ranks,
    descending,
  }))
  const sorted = sortNumbers(numbers, fields)
  for (const { ranks } of fields) release(ranks)
  return sorted
}

export type RecordHandlers = typeof recordWork

function* each(slots: Uint32Array, read: (slot: number) => string): Iterable<string> {
  for (let at = 0; at < slots.length; at++) yield read(slots[at] as number)
}
