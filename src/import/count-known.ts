import { readAt } from '../lib/files-at.ts'
import { parseExact } from '../lib/json.ts'
import { isJsonNumber } from '../lib/json-numbers.ts'
import { binaryText, instant, markedText, textForm, textOfBinary } from '../lib/sort-keys.ts'
import type { Field, FieldType } from '../model/entities.ts'
import { orderOf } from '../model/value-order.ts'
import { noCode, type Run, readRun } from './batches.ts'
import type { StagedBatch } from './ranking.ts'
import { RunCursor } from './run-cursor.ts'

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
