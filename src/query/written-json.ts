import { parseWritten } from '../lib/json.ts'

/**
 * Indents records for people to read (`pretty`). They are joined by commas, in the argument and in the
 * result.
 */
export function indented(records: Uint8Array): Uint8Array {
  const text = JSON.stringify(parsed(records), null, 2)
  return encoder.encode(text.slice(2, -2))
}

/** Extracts the values of rows that have one each. */
export function valuesIn(rows: Uint8Array, pretty: boolean): Uint8Array {
  const values = (parsed(rows) as object[]).map(row => Object.values(row)[0])
  const text = JSON.stringify(values, null, pretty ? 2 : undefined)
  return encoder.encode(text.slice(pretty ? 2 : 1, pretty ? -2 : -1))
}

const encoder = new TextEncoder()

const parsed = (records: Uint8Array) => parseWritten(`[${Buffer.from(records).toString()}]`)
