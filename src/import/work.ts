import type { FieldType } from '../model/entities.ts'
import type { Batch } from './batches.ts'
import { Column } from './column.ts'
import { type Constraint, checkerOf, completerOf } from './constraints.ts'
import { asImportError, type Fault, Faults, type Found, faultOf, type RefusedImport } from './faults.ts'
import { writeFieldFile } from './field-file.ts'
import { maxFields, tooManyFields } from './field-list.ts'
import { ImportError } from './import-error.ts'
import { type Piece, type ReadRecord, recordsOf } from './json-lines.ts'
import { completeTime, Notes } from './notes.ts'
import { type RankedField, type RankTask, rankField } from './rank-field.ts'
import { type Shaping, shapeOfRecords } from './shapes.ts'
import type { Appender } from './spool.ts'

/** The parts of an import that its threads share (pool.ts). */

export interface Encoded {
  readonly batches: readonly Batch[]
  readonly found: Found
  /** True if reading has to end. */
  readonly isEnd: boolean
}

export type Ranking = RankedField | { readonly refused: Fault }

/** @param spool a spool that no other thread writes */
export function createWork(
  spool: Appender,
  types: ReadonlyMap<string, FieldType>,
  shaping: Shaping,
  constraints: readonly Constraint[] = [],
) {
  let faults = new Faults()
  const refuse = (error: ImportError) => faults.add(error)
  const encoder = new Encoder(spool, types, refuse, constraints)
  return {
    encode(piece: Piece): Encoded {
      // A shape remembers currencies, and its faults must not depend on which thread reads a piece.
      const shaped = shapeOfRecords(shaping)
      const batches: Batch[] = []
      const take = (batch: Batch | undefined) => {
        if (batch) batches.push(batch)
      }
      faults = new Faults()
      let end: RefusedImport | undefined
      try {
        const records = recordsOf({ ...piece, bytes: asBuffer(piece.bytes) }, refuse)
        for (const record of records) take(encoder.add(shaped ? shaped(record, refuse) : record))
      } catch (error) {
        end = faults.endedBy(asImportError(error))
      }
      take(encoder.flush())
      return { batches, found: end?.found ?? faults.found(), isEnd: end !== undefined }
    },

    rank(task: RankTask): Ranking {
      let ranked: RankedField = { distinct: 0 }
      const refused = refusal(() => {
        ranked = rankField(task, spool)
      })
      return refused === undefined ? ranked : { refused }
    },

    writeField: writeFieldFile,
  }
}

/** Returns the fault of an import error, because errors lose their class on the way to another thread. */
function refusal(work: () => void): Fault | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return faultOf(asImportError(error))
  }
}

/** Restores a buffer, which arrives from another thread as a plain array. */
const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array) =>
  Buffer.from(buffer, byteOffset, byteLength)

/** Maximum number of records of a batch, because codes have 16 bits. */
const maxRecords = 0xffff
/** Maximum bytes of JSON of a batch. */
const maxBytes = 2 * 1024 * 1024
/** Maximum number of codes of all columns together, because small records may have many fields among them. */
const maxCodes = 8_000_000
const leastRoom = 64 * 1024

/**
 * Turns records into batches. This is the expensive part of reading. Several threads do it at the same time,
 * because no part of a batch depends on other batches.
 */
export class Encoder {
  readonly #spool: Appender
  readonly #types: ReadonlyMap<string, FieldType>
  readonly #refuse: (error: ImportError) => void
  /** Fields declared as date-time. */
  readonly #times: readonly string[]
  readonly #notes = new Notes()
  readonly #check: ReturnType<typeof checkerOf> | undefined
  readonly #completed: ReturnType<typeof completerOf> | undefined
  #columns: Column[] = []
  #places = new Map<string, number>()
  /** The records as JSON, each followed by a line break. Strings would have to survive several garbage collections. */
  #json = Buffer.alloc(0)
  #end = 0
  #lines: number[] = []

  /** @param refuse is called for each value that its field may not hold */
  constructor(
    spool: Appender,
    types: ReadonlyMap<string, FieldType>,
    refuse: (error: ImportError) => void,
    constraints: readonly Constraint[] = [],
  ) {
    this.#spool = spool
    this.#types = types
    this.#times = [...types].flatMap(([name, type]) => (type === 'date-time' ? [name] : []))
    this.#refuse = refuse
    if (constraints.length === 0) return
    this.#check = checkerOf(constraints)
    this.#completed = completerOf(constraints)
  }

  /** Adds a record. @returns a batch, once it has enough records @throws ImportError if there are too many fields */
  add({ line, record: read }: ReadRecord): Batch | undefined {
    const n = this.#lines.length
    const record = this.#completed?.(read) ?? read
    for (const name of this.#times) completeTime(record, name, line, this.#notes)
    this.#check?.(record, ({ field, message }) => this.#refuse(new ImportError(message, { line, field })))
    let at = 0
    for (const name in record) {
      // Most records have their fields in the same order.
      const expected = this.#columns[at++]
      const column = expected?.name === name ? expected : this.#columnOf(name, line)
      const value = record[name]
      if (value !== null && value !== undefined) column.add(n, value, line)
    }
    this.#write(JSON.stringify(record))
    this.#lines.push(line)
    const isFull = n + 1 === maxRecords || this.#end >= maxBytes || (n + 1) * this.#columns.length >= maxCodes
    return isFull ? this.flush() : undefined
  }

  #write(json: string): void {
    // A character takes at most three bytes of UTF-8.
    const most = this.#end + 3 * json.length + 1
    if (most > this.#json.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(maxBytes + leastRoom, 2 * most))
      this.#json.copy(larger, 0, 0, this.#end)
      this.#json = larger
    }
    this.#end += this.#json.write(json, this.#end)
    this.#json[this.#end++] = 0x0a
  }

  /** @returns a batch of the records added since the last one; undefined if there are none */
  flush(): Batch | undefined {
    const count = this.#lines.length
    if (this.#columns.length === 0 && count === 0) return undefined
    const spool = this.#spool
    // The last line break is left out.
    const json = this.#json.subarray(0, Math.max(0, this.#end - 1))
    const batch = {
      descriptor: spool.descriptor,
      count,
      json: spool.append(json),
      jsonBytes: json.length,
      lines: spool.append(Uint32Array.from(this.#lines)),
      notes: this.#notes.takeAll(),
      fields: this.#columns.map(({ name, line, kinds, hasLists, filled, hasForms, styles }) => ({
        name,
        line,
        kinds,
        hasLists,
        filled,
        hasForms,
        styles,
      })),
      runs: spool.append(Float64Array.from(this.#columns.flatMap(column => column.write(spool, count)))),
    }
    this.#columns = []
    this.#places = new Map()
    this.#end = 0
    this.#lines = []
    return batch
  }

  #columnOf(name: string, line: number): Column {
    const known = this.#places.get(name)
    if (known !== undefined) return this.#columns[known] as Column
    // This is checked at once, before a record with very many fields has taken the memory for all of them.
    if (this.#columns.length === maxFields) throw tooManyFields(line)
    const column = new Column(name, line, this.#types.get(name), this.#refuse)
    this.#places.set(name, this.#columns.length)
    this.#columns.push(column)
    return column
  }
}
