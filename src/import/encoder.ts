import type { FieldType } from '../model/entities.ts'
import type { Batch } from './batches.ts'
import { Column } from './column.ts'
import type { ReadRecord } from './json-lines.ts'
import type { Appender } from './spool.ts'

/** The codes of a batch have 16 bits. */
const maxRecords = 0xffff
/** In characters of JSON. */
const maxLength = 2 * 1024 * 1024

/**
 * Turns records into batches. This is the costly part of reading, and several threads do it at once: nothing in a batch
 * depends on other batches.
 */
export class Encoder {
  readonly #spool: Appender
  readonly #types: ReadonlyMap<string, FieldType>
  #columns: Column[] = []
  #places = new Map<string, number>()
  #json: string[] = []
  #lines: number[] = []
  #length = 0

  constructor(spool: Appender, types: ReadonlyMap<string, FieldType>) {
    this.#spool = spool
    this.#types = types
  }

  /**
   * @returns a batch, when there are enough records for one
   * @throws ImportError naming the line of a value that its field may not hold
   */
  add({ line, record }: ReadRecord): Batch | undefined {
    const n = this.#json.length
    let at = 0
    for (const name in record) {
      // Most records have their fields in the same order.
      const expected = this.#columns[at++]
      const column = expected?.name === name ? expected : this.#columnOf(name, line)
      const value = record[name]
      if (value !== null && value !== undefined) column.add(n, value, line)
    }
    const json = JSON.stringify(record)
    this.#json.push(json)
    this.#lines.push(line)
    this.#length += json.length
    return n + 1 === maxRecords || this.#length >= maxLength ? this.flush() : undefined
  }

  /** @returns what was added since the last batch */
  flush(): Batch | undefined {
    const count = this.#json.length
    if (this.#columns.length === 0 && count === 0) return undefined
    const spool = this.#spool
    const json = Buffer.from(this.#json.join('\n'))
    const batch = {
      descriptor: spool.descriptor,
      count,
      json: spool.append(json),
      jsonBytes: json.length,
      lines: spool.append(Uint32Array.from(this.#lines)),
      fields: this.#columns.map(({ name, line, kinds, filled }) => ({ name, line, kinds, filled })),
      runs: spool.append(Float64Array.from(this.#columns.flatMap(column => column.write(spool, count)))),
    }
    this.#columns = []
    this.#places = new Map()
    this.#json = []
    this.#lines = []
    this.#length = 0
    return batch
  }

  #columnOf(name: string, line: number): Column {
    const known = this.#places.get(name)
    if (known !== undefined) return this.#columns[known] as Column
    const column = new Column(name, line, this.#types.get(name))
    this.#places.set(name, this.#columns.length)
    this.#columns.push(column)
    return column
  }
}
