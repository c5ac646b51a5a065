import { readAt } from '../lib/files-at.ts'
import { collectGarbageNow, release } from '../lib/memory.ts'
import type { Field, FieldType } from '../model/entities.ts'
import type { Batch } from './batches.ts'
import { type Digits, digitsAt } from './equal-numbers.ts'
import { errorOf } from './faults.ts'
import type { FieldFileTask } from './field-file.ts'
import { allStyles } from './number-forms.ts'
import type { RankedField, RankTask } from './rank-field.ts'
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

/** The ranks of all fields. They are computed in other threads, and are kept in a file until they are requested. */
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

/** Number of records from which memory is saved where that takes a little time. */
export const manyRecords = 2_000_000

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

export function createRanking(parts: Parts): Ranking {
  const { pool, batches, fields, count } = parts
  const bytes = count * Uint32Array.BYTES_PER_ELEMENT
  /** Fields ranked in the order of the file. */
  const early = new Set<number>()
  const ranked = new Map<number, Promise<RankedField>>()
  /** Field whose ranks are the numbers of the records; -1: none. */
  let keyPlace = -1
  /** Numbers of the records, if they are still needed once all fields are ranked. */
  let kept: SharedNumbers | undefined

  /** Ranks the fields, as many at a time as there are threads. */
  function begin(places: readonly number[], numbers?: SharedNumbers): void {
    const running: Promise<unknown>[] = []
    for (const [at, place] of places.entries()) {
      const before = running[at - pool.size] ?? Promise.resolve()
      const done = before.then(() => rank(parts, place, at % pool.size, numbers))
      // The error is meant for the caller that requests the ranks.
      running.push(done.catch(() => {}))
      ranked.set(place, done)
    }
  }

  const read = (place: number, into: Uint32Array) => void readAt(pool.ranks, into, place * bytes)

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
      if (!early.has(place)) return read(place, into)
      if (place === keyPlace || !kept) {
        for (let n = 0; n < count; n++) into[n] = n
        return
      }
      const found = new Uint32Array(count)
      read(place, found)
      for (let at = 0; at < count; at++) into[kept[at] as number] = found[at] as number
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
            type: (fields[place] as Field).type,
            values,
            count,
            path: pathOf(place),
            isLarge,
            numbers: early.has(place) && place !== keyPlace ? kept : undefined,
            ranks: place === keyPlace ? null : { descriptor: pool.ranks, position: place * bytes },
          }
          await (batches.length > 1 ? pool.writeField(task) : pool.here.writeField(task))
        }
      }
      await Promise.all(Array.from({ length: pool.size }, writeSome))
    },
    digits: () => digitsOf(parts, ranked),
  }
}

/** @returns undefined if the sort keys of a field don't tell how its values are written in the records */
function valuesOf({ batches, fields, valuesPath }: Parts, place: number): RankTask['values'] {
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
async function rank(
  parts: Parts,
  place: number,
  slot: number,
  numbers?: SharedNumbers,
): Promise<RankedField> {
  const { batches, fields, pool } = parts
  const bytes = parts.count * Uint32Array.BYTES_PER_ELEMENT
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
    values: valuesOf(parts, place),
  }
  const result = batches.length > 1 ? await pool.rank(task) : pool.here.rank(task)
  if ('refused' in result) throw errorOf(result.refused)
  return result
}

async function digitsOf(
  { batches, fields }: Parts,
  ranked: ReadonlyMap<number, Promise<RankedField>>,
): Promise<ReadonlyMap<number, Digits>> {
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
}
