import { parseExact } from '../lib/json.ts'
import type { Database } from '../lib/sqlite.ts'
import type { Field } from '../model/entities.ts'
import { ImportError } from './source.ts'

/** One field of the key. */
export interface KeyField {
  readonly field: Field
  /** Its column in the staging table. */
  readonly column: string
  /** The value that it is sorted by, as SQL. */
  readonly order: string
}

/** @throws ImportError naming the line of a key that is null or not unique, or a field that can't be part of a key */
export function checkKey(db: Database, key: readonly KeyField[]): void {
  const isNull = key.map(({ column }) => `${column} IS NULL`)
  const missing = db.get<{ line: number; json: string }>(
    `SELECT line, json FROM staged WHERE ${isNull.join(' OR ')} ORDER BY at LIMIT 1`,
  )
  if (missing) {
    const record = recordOf(missing.json)
    const empty = key.find(({ field }) => (record[field.name] ?? null) === null) ?? key[0]
    throw new ImportError(
      `line ${missing.line}: the key field ${JSON.stringify(empty?.field.name)} is missing or null; every record needs its key`,
    )
  }
  for (const { field } of key)
    if (field.type === 'json' || field.type === 'boolean')
      throw new ImportError(
        `the field ${JSON.stringify(field.name)} can't be the key: its type is ${field.type}, and keys are numbers, text or date-times; --type with text compares its values as text`,
      )
  const double = db.get<{ first: number; second: number; json: string }>(
    `SELECT f.line first, s.line second, s.json
     FROM (SELECT min(at) first, max(at) second FROM staged GROUP BY ${key.map(({ order }) => order).join(', ')}
       HAVING count(*) > 1 ORDER BY second LIMIT 1) d
     JOIN staged f ON f.at = d.first JOIN staged s ON s.at = d.second`,
  )
  if (!double) return
  const record = recordOf(double.json)
  const names = key.map(({ field }) => JSON.stringify(field.name)).join(', ')
  const values = key.map(({ field }) => JSON.stringify(record[field.name])).join(', ')
  const where = double.first === double.second ? 'earlier on this line' : `as on line ${double.first}`
  throw new ImportError(
    key.length === 1
      ? `line ${double.second}: the key ${names} has the value ${values} again, ${where}; each record needs a key of its own`
      : `line ${double.second}: the key (${names}) has the values ${values} again, ${where}; each record needs a key of its own`,
  )
}

const recordOf = (json: string) => parseExact(json) as Record<string, unknown>
