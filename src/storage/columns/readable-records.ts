import { parseWritten } from '../../lib/json.ts'
import { memberAt } from '../../model/json-values.ts'
import type { FieldRef } from '../../model/plan.ts'
import { mayGoOn } from '../runtime/limits.ts'
import { type PackedValues, Packer } from './values.ts'

/** All records of a version, loaded into memory that threads share. */
export interface ReadableRecords {
  /** The position where each slot's record starts, and the end of the last. */
  readonly starts: Uint32Array
  readonly json: Uint8Array
  /** The slot of each record; null: its number. */
  readonly slots: Uint32Array | null
}

export type Way = Pick<FieldRef, 'name' | 'path'>

/** @returns a function that reads a field of a record; it returns undefined for null */
export function fieldReader(field: Way): (json: string) => unknown {
  const cut = cutter(field)
  return json => {
    const text = cut(json)
    if (text === undefined) return parsed(json, field)
    return text === '' ? undefined : parseWritten(text)
  }
}

function parsed(json: string, { name, path }: Way): unknown {
  const record = parseWritten(json) as Readonly<Record<string, unknown>>
  return Object.hasOwn(record, name) ? memberAt(record[name], path) : undefined
}

/** Returns a reader of values by rank. @param numberOf finds a record whose value has the rank */
export function readerOf(
  records: ReadableRecords,
  field: Way,
  numberOf: (rank: number) => number,
): (rank: number) => unknown {
  const read = recordsIn(records)
  const value = fieldReader(field)
  return rank => value(read(slotIn(records, numberOf(rank))))
}

const slotIn = ({ slots }: ReadableRecords, n: number): number => (slots ? (slots[n] as number) : n)

/** Returns a function that reads records by slot. */
export function recordsIn({ starts, json }: ReadableRecords): (slot: number) => string {
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.byteLength)
  return slot => bytes.toString('utf8', starts[slot], starts[slot + 1])
}

/** Packs the values that records have in a field, as JSON; '' for null. */
export function packValues(records: Iterable<string>, length: number, field: Way): PackedValues {
  const packer = new Packer(length)
  const print = jsonReader(field)
  let n = 0
  for (const json of records) {
    if ((n++ & 0x3ff) === 0) mayGoOn()
    packer.add(print(json))
  }
  return packer.finish()
}

/** @returns a function that reads a field of a record, as JSON; '' for null */
export function jsonReader(field: Way): (json: string) => string {
  const cut = cutter(field)
  return json => cut(json) ?? printed(parsed(json, field))
}

const printed = (value: unknown) => (value === undefined || value === null ? '' : JSON.stringify(value))

/**
 * Cuts a value out of a record without parsing it, which takes a third of the time. Records are stored as
 * `JSON.stringify` writes them, so that a quote inside a text always follows a backslash.
 * @returns '' for null; undefined if the record has to be parsed: it may contain an object, or the value is
 *   not a plain scalar
 */
function cutter({ name, path }: Way): (json: string) => string | undefined {
  if (path.length > 0) return () => undefined
  const member = `${JSON.stringify(name)}:`
  return json => {
    if (json.includes('{', 1)) return undefined
    const at = json.indexOf(member)
    if (at < 0) return ''
    // Another name may end with this one.
    if (json[at - 1] !== ',' && at !== 1) return undefined
    const start = at + member.length
    const first = json[start]
    if (first === '[') return undefined
    if (first === '"') {
      const end = json.indexOf('"', start + 1) + 1
      const text = json.slice(start, end)
      return text.includes('\\') ? undefined : text
    }
    const comma = json.indexOf(',', start)
    const text = json.slice(start, comma < 0 ? json.length - 1 : comma)
    return text === 'null' ? '' : text
  }
}
