import { readInstant } from '../lib/read-instant.ts'
import type { Notes } from './notes.ts'
import { kindOf } from './types.ts'

/** Makes a date-time of the value of a field, if it is another form of time that queries take. */
export function completeTime(
  record: Readonly<Record<string, unknown>>,
  name: string,
  line: number,
  notes: Notes,
): void {
  const value = Object.hasOwn(record, name) ? record[name] : null
  // Numbers may be years, seconds or milliseconds.
  if (typeof value !== 'string' || kindOf(value) === 'date-time') return
  const { text, lacks } = readInstant(value) ?? {}
  if (text === undefined) return
  ;(record as Record<string, unknown>)[name] = text
  if (lacks) notes.add({ kind: `no-${lacks}`, field: name, count: 1, line, example: value })
}
