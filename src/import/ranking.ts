import { readAt } from '../lib/files-at.ts'
import { parseExact } from '../lib/json.ts'
import { isJsonNumber } from '../lib/json-numbers.ts'
import { collectGarbageNow, release } from '../lib/memory.ts'
import { binaryText, instant, markedText, textForm, textOfBinary } from '../lib/sort-keys.ts'
import type { Field, FieldType } from '../model/entities.ts'
import { orderOf } from '../model/value-order.ts'
import { type Batch, noCode, type Run, readRun } from './batches.ts'
import { type Digits, digitsAt } from './equal-numbers.ts'
import { ImportError } from './import-error.ts'
import { RunCursor } from './merge.ts'
import { allStyles } from './number-styles.ts'
import type { FieldFileTask, RankedField, RankTask } from './rank-field.ts'
import type { WorkerPool } from './worker-pool.ts'

/** A batch, with its position among all records. */
export interface StagedBatch extends Batch {
  /** The position in the file of its first record. */
  readonly start: number
  /** The index of each of its fields within the batch, by the field's position among those of all records. */
  readonly indexes: ReadonlyMap<number, number>
}

interface Parts {
  readonly pool: WorkerPool
  readonly batches: readonly StagedBatch[]
  readonly fields: readonly Field[]
  readonly count: number
  /** The path with which the names of files with the values of fields begin; null: none are written. */
  readonly valuesPath: string | null
}

/**
 * The ranks of all fields. They are computed in other threads, and are kept in a file
 * until they are requested.
 */
interface Ranking {
  /**
   * Ranks fields with the records in the order of the file. Such ranks are needed to number the records.
   * @returns the number of distinct values of each field
   * @throws ImportError if one is too large for its collation
   */
  inOrderOfFile(places: readonly number[]): Promise<number[]>
  /** Reads the ranks of such a field, in the order of the file. */
  read(place: number, into: Uint32Array): void
  /**
   * Starts to rank all other fields.
   * @param numbers the numbers of the records, in the order of the file
   * @param key the field whose ranks are these numbers, if there is one
   */
  start(numbers: SharedNumbers, key: number | undefined): void
  /** Waits for the ranks of a field, and stores them by the numbers of the records. */
  ranks(place: number, into: Uint32Array): Promise<void>
  /**
   * Writes what is known of the fields to files, except where sort keys don't tell how the values are written.
   * @param pathOf returns the path of the file of a field
   */
  writeFields(pathOf: (place: number) => string): Promise<void>
  /**
   * Waits for the fields that have numbers with unusual texts, and finds those in which different
   * texts are the same number.
   */
  digits(): Promise<ReadonlyMap<number, Digits>>
}

/** Numbers that are shared with the threads that rank fields. */
type SharedNumbers = Uint32Array<SharedArrayBuffer>

/** Number of records whose numbers take so much memory that it is freed as soon as they are not needed. */
const manyRecords = 2_000_000

/** For each type of a field, the kinds of values whose sort keys tell how they are written. */
const takenKinds: Readonly<Record<FieldType, readonly FieldType[]>> = {
  text: ['text', 'date-time'],
  integer: ['integer'],
  number: ['integer', 'number'],
  boolean: ['boolean'],
  'date-time': ['date-time'],
  json: ['text', 'date-time', 'integer', 'number', 'boolean'],
}

/** Maximum number of fields whose records are read again to find an example. */
const maxExamples = 20

export function createRanking({ pool, batches, fields, count, valuesPath }: Parts): Ranking {
  const bytes = count * Uint32Array.BYTES_PER_ELEMENT
  /** Fields ranked in the order of the file. */
  const early = new Set<number>()
  const ranked = new Map<number, Promise<RankedField>>()
  /** Field whose ranks are the numbers of the records; -1: none. */
  let keyPlace = -1
  /** Numbers of the records, if they are still needed once all fields are ranked. */
  let kept: SharedNumbers | undefined

  /** @returns undefined if the sort keys of a field don't tell how its values are written in the records */
  function valuesOf(place: number): RankTask['values'] {
    const { type, collation } = fields[place] as Field
    if (collation !== undefined || valuesPath === null) return undefined
    let common = allStyles
    for (const { indexes, fields: read } of batches) {
      const index = indexes.get(place)
      const field = index === undefined ? undefined : read[index]
      if (!field) continue
      if ([...field.kinds.keys()].some(kind => !takenKinds[type].includes(kind))) return undefined
      common &= field.styles
    }
    return common === 0 ? undefined : { path: `${valuesPath}-${place}`, styles: common }
  }

  /** @param slot the number of the room for its ranks that no other field uses meanwhile */
  async function rank(place: number, slot: number, numbers?: SharedNumbers): Promise<RankedField> {
    const { name, type, collation } = fields[place] as Field
    const task: RankTask = {
      name,
      type,
      collation,
      batches: batches.map(batch => ({
        descriptor: batch.descriptor,
        count: batch.count,
        runs: batch.runs,
        field: batch.indexes.get(place) ?? -1,
      })),
      numbers,
      descriptor: pool.ranks,
      position: place * bytes,
      room: (fields.length + slot) * bytes,
      values: valuesOf(place),
    }
    const result = batches.length > 1 ? await pool.rank(task) : pool.here.rank(task)
    if ('refused' in result) throw new ImportError(result.refused)
    return result
  }

  /** Ranks the fields, as many at a time as there are threads. */
  function begin(places: readonly number[], numbers?: SharedNumbers): void {
    const running: Promise<unknown>[] = []
    for (const [at, place] of places.entries()) {
      const before = running[at - pool.size] ?? Promise.resolve()
      const done = before.then(() => rank(place, at % pool.size, numbers))
      // The error is meant for the caller that requests the ranks.
      running.push(done.catch(() => {}))
      ranked.set(place, done)
    }
  }

  const read = (place: number, into: Uint32Array) => {
    readAt(pool.ranks, into, place * bytes)
  }

  return {
    inOrderOfFile: places => {
      for (const place of places) early.add(place)
      begin(places)
      return Promise.all(places.map(async place => (await ranked.get(place))?.distinct ?? 0))
    },
    read,
    start: (numbers, key = -1) => {
      keyPlace = key
      if ([...early].some(place => place !== key)) kept = numbers
      begin(
        [...fields.keys()].filter(place => !early.has(place)),
        numbers,
      )
    },
    ranks: async (place, into) => {
      await ranked.get(place)
      if (!early.has(place)) {
        read(place, into)
        return
      }
      const found = new Uint32Array(count)
      read(place, found)
      // The ranks of a key are the numbers of the records.
      const numbers = kept ?? found
      for (let at = 0; at < count; at++) into[numbers[at] as number] = found[at] as number
      release(found)
    },
    writeFields: async pathOf => {
      // The records wait for the ranks, so they come first.
      await Promise.allSettled(ranked.values())
      const isLarge = count > manyRecords
      if (isLarge) collectGarbageNow()
      const places = [...fields.keys()]
      const writeSome = async () => {
        for (let place = places.shift(); place !== undefined; place = places.shift()) {
          const { values } = (await ranked.get(place)) ?? {}
          if (!values || pool.isClosed) continue
          const task: FieldFileTask = {
            ...{ type: (fields[place] as Field).type, values, count, path: pathOf(place), isLarge },
            ...{ numbers: early.has(place) && place !== keyPlace ? kept : undefined },
            ranks: place === keyPlace ? null : { descriptor: pool.ranks, position: place * bytes },
          }
          await (batches.length > 1 ? pool.writeField(task) : pool.here.writeField(task))
        }
      }
      await Promise.all(Array.from({ length: pool.size }, writeSome))
    },
    digits: async () => {
      const found = new Map<number, Digits>()
      const written = new Set(
        batches.flatMap(batch =>
          [...batch.indexes].flatMap(([place, index]) => (batch.fields[index]?.hasForms ? place : [])),
        ),
      )
      for (const [place, { name }] of fields.entries()) {
        if (!written.has(place) || found.size === maxExamples) continue
        const { pair } = (await ranked.get(place)) ?? {}
        const example =
          pair &&
          digitsAt(
            name,
            pair.flatMap(({ batch: at, code }) => {
              const batch = batches[at]
              const field = batch?.indexes.get(place)
              return batch && field !== undefined ? { batch, field, code } : []
            }),
          )
        if (example) found.set(place, example)
      }
      return found
    },
  }
}

/** A key field of staged records. */
interface StagedKeyField {
  readonly place: number
  readonly type: Field['type']
}

/**
 * Counts the keys that staged records have. It compares the distinct values of the key fields batch by batch,
 * without parsing records.
 * @param keys the values of each key, in the order of the fields
 */
export function countKnown(
  batches: readonly StagedBatch[],
  fields: readonly StagedKeyField[],
  keys: readonly (readonly unknown[])[],
): number {
  const forms = keys.map(values => fields.map(({ type }, at) => formOf(values[at], type)))
  const wanted = fields.map((_, at) => new Set(forms.flatMap(form => form[at] ?? [])))
  const known = new Uint8Array(keys.length)
  for (const batch of batches) {
    const runs = wholeOf(
      fields.map(({ place }) => {
        const index = batch.indexes.get(place)
        return index === undefined ? undefined : readRun(batch, index)
      }),
    )
    if (!runs) continue
    const codes = runs.map((run, at) => codesOf(run, fields[at]?.type, wanted[at] as ReadonlySet<string>))
    /** Keys whose values all occur in this batch, by their codes. */
    const candidates = new Map<string, number[]>()
    for (const [n, form] of forms.entries()) {
      if (known[n] !== 0) continue
      const tuple = wholeOf(form.map((one, at) => (one === undefined ? undefined : codes[at]?.get(one))))
      if (!tuple) continue
      // Each value of a run occurs in some record, so a single field decides.
      if (tuple.length === 1) known[n] = 1
      else {
        const name = tuple.join()
        candidates.set(name, [...(candidates.get(name) ?? []), n])
      }
    }
    if (candidates.size > 0) for (const n of candidatesIn(batch, runs, candidates)) known[n] = 1
  }
  return known.reduce((sum, one) => sum + one, 0)
}

/** @returns the list; undefined if any element is missing */
function wholeOf<T>(list: readonly (T | undefined)[]): readonly T[] | undefined {
  const found = list.filter(one => one !== undefined)
  return found.length === list.length ? found : undefined
}

/** Returns the codes of the wanted values of a run, by their forms. */
function codesOf(run: Run, type: FieldType | undefined, wanted: ReadonlySet<string>): Map<string, number> {
  const codes = new Map<string, number>()
  const cursor = new RunCursor(run, true, 1)
  for (let n = 0; n < run.size; n++, cursor.next()) {
    const form = type === 'date-time' ? instant(textOfBinary(cursor.key.slice(1))) : cursor.key
    if (wanted.has(form)) codes.set(form, cursor.code)
  }
  return codes
}

/** Returns the candidates that occur as a record of the batch. */
function candidatesIn(
  { descriptor, count }: StagedBatch,
  runs: readonly Run[],
  candidates: ReadonlyMap<string, readonly number[]>,
): Set<number> {
  const columns = runs.map(run => {
    const codes = new Uint16Array(count).fill(noCode)
    readAt(descriptor, codes, run.codes)
    return codes
  })
  const found = new Set<number>()
  for (let at = 0; at < count; at++)
    for (const n of candidates.get(columns.map(codes => codes[at]).join()) ?? []) found.add(n)
  return found
}

/**
 * Returns a text that equal values of a field have in common. The value comes from a record that may have
 * another type in the field: a number in a text field is taken as the text of its digits, and a text in a
 * numeric field as the number that it writes.
 * @returns undefined for a value that the field can't have
 */
function formOf(value: unknown, type: FieldType): string | undefined {
  if (value === null || value === undefined) return undefined
  if (type === 'text') return markedText(binaryText(textForm(value)))
  if (type === 'date-time') return typeof value === 'string' ? instant(value) : undefined
  if (typeof value !== 'string') return anyOrder.key(value)
  return isJsonNumber(value) ? anyOrder.key(parseExact(value)) : undefined
}

const anyOrder = orderOf({ type: 'json' })
