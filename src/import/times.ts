import { exactText } from '../lib/json.ts'
import { instantAt, readInstant } from '../lib/read-instant.ts'
import type { Note, Notes } from './notes.ts'
import { kindOf } from './types.ts'

/** Makes a date-time of the value of a field, if it is another form of time that queries take. */
export function completeTime(
  record: Readonly<Record<string, unknown>>,
  name: string,
  line: number,
  notes: Notes,
): void {
  const value = Object.hasOwn(record, name) ? record[name] : null
  if (value === null || value === undefined || kindOf(value) === 'date-time') return
  const read = timeOf(value)
  if (!read) return
  ;(record as Record<string, unknown>)[name] = read.text
  const example = String(exactText(value) ?? value)
  if (read.assumed) notes.add({ kind: read.assumed, field: name, count: 1, line, example })
}

function timeOf(value: unknown): { readonly text: string; readonly assumed?: Note['kind'] } | undefined {
  if (typeof value === 'string') {
    const { text, lacks } = readInstant(value) ?? {}
    return text === undefined ? undefined : { text, ...(lacks && { assumed: `no-${lacks}` }) }
  }
  const number = typeof value === 'number' ? String(value) : exactText(value)
  const text = number === undefined ? undefined : instantAt(number)
  return text === undefined ? undefined : { text, assumed: 'milliseconds' }
}
