import type { Field } from '../model/entities.ts'
import type { Batch } from './batches.ts'
import type { Crew } from './crew.ts'
import { type Digits, digitsAt } from './equal-numbers.ts'
import { ImportError } from './import-error.ts'
import type { RankedField, RankTask } from './rank-field.ts'
import { readAt, release } from './spool.ts'

/** A batch, with its position among all records. */
export interface StagedBatch extends Batch {
  /** The position in the file of its first record. */
  readonly start: number
  /** The index of each of its fields within the batch, by the field's position among those of all records. */
  readonly indexes: ReadonlyMap<number, number>
}

interface Parts {
  readonly crew: Crew
  readonly batches: readonly StagedBatch[]
  readonly fields: readonly Field[]
  readonly count: number
}

/**
 * The ranks of all fields. They are computed in other threads, and are kept in a file
 * until they are requested.
 */
export interface Ranking {
  /**
   * Ranks fields with the records in the order of the file. Such ranks are needed to number the records.
   * @returns the number of distinct values of each field
   * @throws ImportError if one is too large for its collation
   */
  inOrderOfFile(places: readonly number[]): Promise<number[]>
  /** Returns the ranks of such a field, in the order of the file. */
  read(place: number): Uint32Array
  /** Starts to rank all other fields. @param numbers the numbers of the records, in the order of the file */
  start(numbers: Uint32Array<SharedArrayBuffer>): void
  /** Waits for the ranks of a field, and stores them by the numbers of the records. */
  ranks(place: number, into: Uint32Array): Promise<void>
  /**
   * Waits for the fields that have numbers with unusual texts, and finds those in which different
   * texts are the same number.
   */
  digits(): Promise<ReadonlyMap<number, Digits>>
}

/** Maximum number of fields whose records are read again to find an example. */
const maxExamples = 20

export function createRanking({ crew, batches, fields, count }: Parts): Ranking {
  const bytes = count * Uint32Array.BYTES_PER_ELEMENT
  /** Fields ranked in the order of the file. */
  const early = new Set<number>()
  const ranked = new Map<number, Promise<RankedField>>()
  let numbers: Uint32Array<SharedArrayBuffer> | undefined

  async function rank(place: number): Promise<RankedField> {
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
      descriptor: crew.ranks,
      position: place * bytes,
    }
    const result = batches.length > 1 ? await crew.rank(task) : crew.here.rank(task)
    if ('refused' in result) throw new ImportError(result.refused)
    return result
  }

  /** Ranks the fields, as many at a time as there are threads. */
  function begin(places: readonly number[]): void {
    const running: Promise<unknown>[] = []
    for (const [at, place] of places.entries()) {
      const before = running[at - crew.size] ?? Promise.resolve()
      const done = before.then(() => rank(place))
      // The error is meant for the caller that requests the ranks.
      running.push(done.catch(() => {}))
      ranked.set(place, done)
    }
  }

  function read(place: number): Uint32Array {
    const ranks = new Uint32Array(count)
    readAt(crew.ranks, ranks, place * bytes)
    return ranks
  }

  return {
    inOrderOfFile: places => {
      for (const place of places) early.add(place)
      begin(places)
      return Promise.all(places.map(async place => (await ranked.get(place))?.distinct ?? 0))
    },
    read,
    start: of => {
      numbers = of
      begin([...fields.keys()].filter(place => !early.has(place)))
    },
    ranks: async (place, into) => {
      await ranked.get(place)
      if (!early.has(place) || !numbers) {
        readAt(crew.ranks, into, place * bytes)
        return
      }
      const found = read(place)
      for (let at = 0; at < count; at++) into[numbers[at] as number] = found[at] as number
      release(found)
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
