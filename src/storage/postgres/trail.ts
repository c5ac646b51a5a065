import type { Keyring } from '../../model/keys.ts'
import { type EachRow, readKeys, trailReader } from '../statements/trail.ts'
import { eventColumns, type StoredEvent, type Trail } from '../trail.ts'
import type { Connection, Row } from './driver.ts'
import { perform, withConnection } from './perform.ts'

/** Reads the audit trail in PostgreSQL. @param connect opens a connection without time limits */
export const trailIn =
  (connect: () => Promise<Connection>, keyring: Keyring): Trail['read'] =>
  work =>
    withConnection(connect, async db => {
      const each = cursorsOn(db)
      await db.exec('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      const keys = await perform(db, readKeys(keyring()))
      return work(trailReader(each, keys, () => each<StoredEvent>(chained)))
    })

const chained = `SELECT ${eventColumns} FROM event ORDER BY chain NULLS FIRST, place`

/** Number of rows that are fetched at a time. */
const fetched = 1_000

/** @returns a function that reads the rows of a statement, some at a time */
function cursorsOn(db: Connection): EachRow {
  let opened = 0
  async function* rowsOf(sql: string, values: readonly (string | null)[]): AsyncIterable<Row> {
    for await (const rows of inSteps(db, `rows_${opened++}`, fetched, sql, ...values)) yield* rows
  }
  return <T>(sql: string, ...values: readonly (string | null)[]) => rowsOf(sql, values) as AsyncIterable<T>
}

/**
 * Reads the rows of a statement through a cursor, in a transaction.
 * @param step number of rows fetched at a time
 */
export async function* inSteps<T extends Row>(
  db: Connection,
  name: string,
  step: number,
  sql: string,
  ...values: readonly (string | null)[]
): AsyncIterable<readonly T[]> {
  await db.run(`DECLARE ${name} NO SCROLL CURSOR FOR ${sql}`, ...values)
  for (;;) {
    const rows = await db.rows<T>(`FETCH ${step} FROM ${name}`)
    if (rows.length > 0) yield rows
    if (rows.length < step) break
  }
  await db.exec(`CLOSE ${name}`)
}
