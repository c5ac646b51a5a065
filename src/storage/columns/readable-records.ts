import { parseWritten } from '../../lib/json.ts'
import type { FieldRef } from '../../model/plan.ts'
import { memberAt } from '../plans/json-values.ts'
import { type PackedValues, Packer } from './values.ts'

/** All records of a version, loaded. Threads share their memory. */
export interface ReadableRecords {
  /** The position where each slot's record starts, and the end of the last. */
  readonly starts: Uint32Array
  readonly json: Uint8Array
  /** The slot of each record; null: its number. */
  readonly slots: Uint32Array | null
}

export type Way = Pick<FieldRef, 'name' | 'path'>

/** @returns what reads a field of a record; undefined for null */
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

/** Reads the value of a rank from a record that has it. @param numberOf the number of such a record */
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

/** Reads records by their slots. */
export function recordsIn({ starts, json }: ReadableRecords): (slot: number) => string {
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.byteLength)
  return slot => bytes.toString('utf8', starts[slot], starts[slot + 1])
}

/**
 * What records have in a field, as JSON; '' for null.
 * @param tick called now and then; it may throw to stop
 */
export function packValues(
  records: Iterable<string>,
  length: number,
  field: Way,
  tick: () => void,
): PackedValues {
  const packer = new Packer(length)
  const cut = cutter(field)
  let n = 0
  for (const json of records) {
    if ((n++ & 0x3ff) === 0) tick()
    packer.add(cut(json) ?? printed(parsed(json, field)))
  }
  return packer.finish()
}

const printed = (value: unknown) => (value === undefined || value === null ? '' : JSON.stringify(value))

/**
 * Cuts a value out of a record without parsing it, which takes a third of the time.
 * @returns '' for null; undefined where the record has to be parsed: it may have another object inside, or the value is no
 *   plain scalar. Records are stored as `JSON.stringify` writes them, and of quotes in texts, each has a backslash before it.
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
