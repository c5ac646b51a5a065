import type { Field } from '../model/entities.ts'
import { sortRecords } from '../storage/shared/sort-records.ts'
import { type Batch, noCode, readRun } from './batches.ts'
import { ImportError } from './import-error.ts'
import { readAt } from './spool.ts'

/** One field of the key. */
export interface KeyField {
  readonly field: Field
  /** For each record, in the order of the file. */
  readonly ranks: Uint32Array
  /** How many distinct values there are: the rank of those that are missing. */
  readonly distinct: number
}

/** A record by its place in the file. */
export interface Records {
  line(at: number): number
  /** All fields of the record. */
  read(at: number): Record<string, unknown>
}

/**
 * @returns the places of the records in the file, in the order of the key
 * @throws ImportError naming the line of a key that is null or not unique, or a field that can't be part of a key
 */
export function orderByKey(key: readonly KeyField[], count: number, records: Records): Uint32Array {
  refuseMissing(key, records)
  for (const { field } of key)
    if (field.type === 'json' || field.type === 'boolean')
      throw new ImportError(
        `the field ${JSON.stringify(field.name)} can't be the key: its type is ${field.type}, and keys are numbers, text or date-times; --type with text compares its values as text`,
      )
  const [only] = key
  if (only && key.length === 1 && only.distinct === count) return inverse(only.ranks)
  const order = sortRecords(
    count,
    key.map(({ ranks }) => ({ ranks, descending: false })),
  )
  refuseDouble(key, order, records)
  return order
}

/** Of a key that is unique, the ranks are the numbers of the records. */
function inverse(numbers: Uint32Array): Uint32Array {
  const order = new Uint32Array(numbers.length)
  for (let at = 0; at < order.length; at++) order[numbers[at] as number] = at
  return order
}

function refuseMissing(key: readonly KeyField[], records: Records): void {
  const places = key.map(({ field, ranks, distinct }) => (field.nullable ? ranks.indexOf(distinct) : -1))
  const found = places.filter(at => at >= 0)
  if (found.length === 0) return
  const first = Math.min(...found)
  throw missingKey(records.line(first), key[places.indexOf(first)]?.field.name)
}

export const missingKey = (line: number, field: string | undefined): ImportError =>
  new ImportError(
    `line ${line}: the key field ${JSON.stringify(field)} is missing or null; every record needs its key`,
  )

function refuseDouble(key: readonly KeyField[], order: Uint32Array, records: Records): void {
  const isSame = (one: number, other: number) => key.every(({ ranks }) => ranks[one] === ranks[other])
  let first = -1
  let second = -1
  for (let n = 0; n < order.length; ) {
    let end = n + 1
    while (end < order.length && isSame(order[n] as number, order[end] as number)) end++
    const last = order[end - 1] as number
    // Equal keys are in the order of the file. Of several, the one that the file shows first is named.
    if (end > n + 1 && (second < 0 || last < second)) [first, second] = [order[n] as number, last]
    n = end
  }
  if (second < 0) return
  const record = records.read(second)
  const names = key.map(({ field }) => JSON.stringify(field.name)).join(', ')
  const values = key.map(({ field }) => JSON.stringify(record[field.name])).join(', ')
  const [line, again] = [records.line(first), records.line(second)]
  const where = line === again ? 'earlier on this line' : `as on line ${line}`
  throw new ImportError(
    key.length === 1
      ? `line ${again}: the key ${names} has the value ${values} again, ${where}; each record needs a key of its own`
      : `line ${again}: the key (${names}) has the values ${values} again, ${where}; each record needs a key of its own`,
  )
}

/** @throws ImportError naming the first record of the batch that lacks a part of its key */
export function refuseKeyless(batch: Batch, key: readonly string[]): void {
  const lacking = key.flatMap(name => {
    const field = batch.fields.findIndex(one => one.name === name)
    if (batch.fields[field]?.filled === batch.count) return []
    const codes = new Uint16Array(batch.count).fill(noCode)
    if (field >= 0) readAt(batch.descriptor, codes, readRun(batch, field).codes)
    return [{ name, at: codes.indexOf(noCode) }]
  })
  const [first] = lacking.toSorted((one, other) => one.at - other.at)
  if (first) throw missingKey(lineOf(batch, first.at), first.name)
}

/** @param n the number of the record in the batch */
export function lineOf({ descriptor, lines }: Batch, n: number): number {
  const line = new Uint32Array(1)
  readAt(descriptor, line, lines + n * line.byteLength)
  return line[0] as number
}
