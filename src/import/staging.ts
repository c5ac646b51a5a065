import { readdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { processIdInName } from '../lib/process-ids.ts'
import type { Field } from '../model/entities.ts'
import { fieldPath } from '../storage/records/field-files.ts'
import type { Batch } from './batches.ts'
import {
  type First,
  firstsOf,
  type KeyField,
  numberByKey,
  type Records,
  recordsOf,
  refuseKeyless,
  refuseRepeated,
} from './check-key.ts'
import { countKnown } from './count-known.ts'
import { type Evidence, evidenceOf } from './evidence.ts'
import { Faults } from './faults.ts'
import { type Declarations, FieldList, type Findings } from './field-list.ts'
import { ImportError } from './import-error.ts'
import type { Piece, ReadRecord } from './json-lines.ts'
import { Notes } from './notes.ts'
import { batchIndexes, mergeRecords, reordered } from './ordered-records.ts'
import { createRanking, manyRecords, type StagedBatch } from './ranking.ts'
import { type Encoded, Encoder } from './work.ts'
import { createWorkerPool } from './worker-pool.ts'

/**
 * Holds the records until all of them are read, because types and orders aren't known before. They are kept
 * in temporary files, in batches whose values are sorted already; merging these gives record numbers and
 * ranks (docs/decisions/0019). It is not part of a storage engine, and works for all of them.
 */
export interface Staging {
  /**
   * Reads pieces in order, with several threads.
   * @param signal stops it with the signal's reason
   * @throws ImportError naming all faults, if one of them ends the reading
   */
  read(pieces: AsyncIterable<Piece>, signal: AbortSignal | undefined): Promise<void>
  /** @throws ImportError like `read` */
  add(records: readonly ReadRecord[]): void
  /** Adds fields to the entity, also if no record has them. */
  declare(names: readonly string[]): void
  /**
   * Numbers the records in the order of the key, once all of them are added.
   * @param progress called with the share that is done; it may throw to stop
   * @throws ImportError naming all faults of the records, including a key that is missing, null, of a wrong
   * type or not unique, and a declaration that doesn't fit
   */
  finish(progress: (share: number) => void): Promise<Staged>
  /** Faults of the records so far. */
  readonly faults: Faults
  /** Facts about the records added so far. */
  found(): Pick<Staged, 'count' | 'fields'> & { readonly findings: readonly Findings[] }
  /** Assumptions about the file. */
  readonly notes: Notes
  /** Explains the types of the fields, as far as the records are read. */
  evidence(isTable: boolean): readonly (Evidence | undefined)[]
  close(): Promise<void>
}

export interface Staged {
  readonly count: number
  readonly fields: readonly Field[]
  /** Returns the findings about each field, once all fields are ranking. */
  findings(): Promise<readonly Findings[]>
  /** Counts the given keys that a record has. @param keys the values of each, in the order of the key fields */
  countKnown(keys: readonly (readonly unknown[])[]): number
  /** Each value of a field that is looked up, with the first line that has it. */
  firsts(name: string): readonly First[]
  /** Iterates over the records as JSON, in the order of the key. @param isLast false to be able to do it again */
  records(isLast: boolean): Iterable<string>
  /** Returns the ranks of a field. The array is reused for the next field. */
  ranks(field: number): Promise<Uint32Array>
  /** See `NewEntity`. */
  writeFields(version: string): Promise<string>
}

/** Number of records from which it pays to write what is known of fields; of fewer, they are read in milliseconds. */
const fewestRecords = 10_000

/** Number of records that are read before the keys are checked for the first time. */
const readAnyway = 100_000

/**
 * @param file prefix for the names of temporary files
 * @param key the fields that identify a record
 * @param withFields true to be able to write what is known of fields
 */
export function createStaging(
  file: string,
  declarations: Declarations,
  key: readonly string[],
  withFields = false,
): Staging {
  const { constraints = [] } = declarations
  const pool = createWorkerPool(file, declarations)
  const list = new FieldList(declarations)
  const faults = new Faults()
  const notes = new Notes()
  const encoder = new Encoder(pool.spool, declarations.types, error => faults.add(error), constraints)
  const batches: StagedBatch[] = []
  const stage: Stage = { batches, declarations, faults, file, key, list, pool, withFields }
  /** Number of batches whose keys have been checked. */
  let checked = 0

  function take(batch: Batch | undefined): void {
    for (const note of batch?.notes ?? []) notes.add(note)
    if (batch) batches.push({ ...batch, start: list.count, indexes: list.add(batch.fields, batch.count) })
    // Keys are checked before the end, because a large file of records without keys would otherwise fill
    // memory and disk before it is refused.
    if (list.count > readAnyway) checkKeys()
    faults.throwIfEnough(list.count)
  }
  function takeAll({ batches: encoded, found, isEnd }: Encoded): void {
    for (const batch of encoded) take(batch)
    faults.merge(found)
    if (isEnd) throw faults.refused(found.isCut)
  }
  function checkKeys(): void {
    for (; checked < batches.length; checked++)
      refuseKeyless(batches[checked] as StagedBatch, key, error => faults.add(error))
  }

  return {
    read: (pieces, signal) => readPieces(stage, takeAll, pieces, signal),
    add: records => {
      for (const record of records) take(encoder.add(record))
    },
    declare: names => {
      for (const name of names) list.declare(name, 1)
    },
    finish: async progress => {
      take(encoder.flush())
      if (key.every(name => list.has(name))) checkKeys()
      faults.throwIfAny()
      return numbered(stage, progress)
    },
    faults,
    found: () => ({ count: list.count, fields: list.fields, findings: list.findings }),
    notes,
    evidence: isTable =>
      list.fields.map((field, place) =>
        evidenceOf(batches, place, field, { isDeclared: declarations.types.has(field.name), isTable }),
      ),
    close: async () => {
      await pool.close()
      // Values of fields that got no file are left, and all files if the import failed.
      if (withFields)
        for (const name of readdirSync(dirname(file)))
          if (name.startsWith(basename(file)))
            rmSync(join(dirname(file), name), { force: true, recursive: true })
    },
  }
}

/** The staged records of a file, and what their ranking and storing need. */
interface Stage {
  /** The batches as they were read, whose runs are where they were written. */
  readonly batches: readonly StagedBatch[]
  readonly declarations: Declarations
  readonly faults: Faults
  readonly file: string
  readonly key: readonly string[]
  readonly list: FieldList
  readonly pool: ReturnType<typeof createWorkerPool>
  readonly withFields: boolean
}

async function readPieces(
  { batches, faults, pool }: Stage,
  takeAll: (encoded: Encoded) => void,
  pieces: AsyncIterable<Piece>,
  signal: AbortSignal | undefined,
): Promise<void> {
  /**
   * The first piece, which is read in this thread if it stays the only one: that is faster than
   * starting another thread.
   */
  let first: Piece | undefined
  const running: Promise<Encoded>[] = []
  const start = (piece: Piece) => {
    const encoded = pool.encode(piece)
    // The error is handled when the result's turn comes.
    encoded.catch(() => {})
    running.push(encoded)
  }
  const takeNext = async () => {
    try {
      takeAll((await running.shift()) as Encoded)
    } catch (error) {
      // Faults of later lines are irrelevant now.
      running.length = 0
      throw error
    }
  }
  const settle = async () => {
    while (running.length > 0) await takeNext()
    if (first) takeAll(pool.here.encode(first))
  }
  try {
    for await (const piece of pieces) {
      signal?.throwIfAborted()
      if (first) start(first)
      if (!first && running.length === 0 && batches.length === 0) {
        first = piece
        continue
      }
      first = undefined
      start(piece)
      if (running.length > pool.size + 1) await takeNext()
    }
  } catch (error) {
    if (!(error instanceof ImportError) || signal?.aborted) throw error
    // Faults of earlier lines come first.
    await settle()
    throw faults.endedBy(error)
  }
  await settle()
}

async function numbered(
  { batches, declarations, faults, file, key, list, pool, withFields }: Stage,
  progress: (share: number) => void,
): Promise<Staged> {
  const { unique = [], looked = [] } = declarations
  const keyPlaces = key.map(name => list.place(name, 'the key field'))
  list.checkDeclarations()
  const { count, fields } = list
  const valuesPath = withFields && count >= fewestRecords ? file : null
  const ranking = createRanking({ pool, batches, fields, count, valuesPath })
  const collated = [...fields.keys()].filter(place => fields[place]?.collation !== undefined)
  const placesOf = (names: readonly string[]) =>
    names.filter(name => list.has(name)).map(name => list.place(name, 'the field'))
  const [differing, asked] = [placesOf(unique), placesOf(looked)]
  const early = [...new Set([...collated, ...keyPlaces, ...differing, ...asked])]
  const distinct = await ranking.inOrderOfFile(early)
  progress(0.5)
  const records: Records = recordsOf(batches)
  // The numbers are shared with the threads that rank the other fields.
  const numbers = new Uint32Array(new SharedArrayBuffer(count * Uint32Array.BYTES_PER_ELEMENT))
  const ranked = (place: number): KeyField => ({
    field: fields[place] as Field,
    read: into => ranking.read(place, into),
    distinct: distinct[early.indexOf(place)] ?? 0,
  })
  for (const place of differing) refuseRepeated(ranked(place), count, records, faults)
  faults.throwIfAny()
  const firsts = new Map(
    asked.map(place => [fields[place]?.name ?? '', firstsOf(ranked(place), count, records)]),
  )
  numberByKey(keyPlaces.map(ranked), numbers, records)
  ranking.start(numbers, keyPlaces.length === 1 ? keyPlaces[0] : undefined)
  const ordered: StagedBatch[] = []
  for (const [at, batch] of batches.entries()) {
    ordered.push({
      ...batch,
      ...reordered(batch, numbers.subarray(batch.start, batch.start + batch.count), pool.spool),
    })
    progress(0.5 + at / batches.length / 2)
    await turn()
  }
  const indexes = batchIndexes(batches, numbers)
  let column: Uint32Array | undefined
  let writing: Promise<void> | undefined
  return {
    count,
    fields,
    findings: async () => {
      const digits = await ranking.digits()
      return list.findings.map((one, place) => {
        const example = digits.get(place)
        return example ? { ...one, digits: example } : one
      })
    },
    firsts: name => firsts.get(name) ?? [],
    countKnown: keys =>
      countKnown(
        batches,
        keyPlaces.map(place => ({ place, type: fields[place]?.type ?? 'text' })),
        keys,
      ),
    records: isLast => mergeRecords(ordered, indexes, isLast),
    ranks: async place => {
      // The engine needs several times the memory of many ranks, and so do the threads that write files.
      if (count > manyRecords) await writing?.catch(() => {})
      column ??= new Uint32Array(count)
      await ranking.ranks(place, column)
      return column
    },
    writeFields: async version => {
      const folder = join(`${file}-fields.${processIdInName()}`, version)
      writing = ranking.writeFields(place => fieldPath(folder, place))
      await writing
      return folder
    },
  }
}
