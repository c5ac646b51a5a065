import { join } from 'node:path'
import { openDatabase } from '../../../src/storage/sqlite/driver.ts'
import { databaseOf, runSqlIn } from '../service/engines.ts'

/** Runs a statement in the store of this folder while the service goes on. */
export async function change(dataFolder: string, sql: string): Promise<void> {
  if ((await databaseOf(dataFolder)) !== undefined) {
    await runSqlIn(dataFolder, sql.replace(/(UPDATE|FROM|INTO) /, '$1 carrel.'))
    return
  }
  const db = openDatabase(join(dataFolder, 'carrel.db'), { mode: 'write' })
  db.run(sql)
  db.close()
}

/** As if this time had passed since everything that the throttle has counted: what counts is how long ago that was. */
export async function letPass({ dataFolder }: { readonly dataFolder: string }, ms: number): Promise<void> {
  await change(dataFolder, `UPDATE attempt SET at = at - ${ms}, expires = expires - ${ms}`)
  await change(dataFolder, `UPDATE familiar_network SET at = at - ${ms}`)
}

/** As if nobody had sent a wrong password yet. */
export const forgetAttempts = ({ dataFolder }: { readonly dataFolder: string }): Promise<void> =>
  change(dataFolder, 'DELETE FROM attempt')

/** What is in a table of the throttle, or the state of the store. */
export async function rowsOf(
  { dataFolder }: { readonly dataFolder: string },
  table: 'attempt' | 'familiar_network' | 'state' = 'attempt',
): Promise<readonly Record<string, unknown>[]> {
  // What was counted and taken back is nothing.
  const sql = `SELECT * FROM ${table}${table === 'attempt' ? ' WHERE level > 0' : ''}`
  if ((await databaseOf(dataFolder)) !== undefined)
    return runSqlIn(dataFolder, sql.replace('FROM ', 'FROM carrel.'))
  const db = openDatabase(join(dataFolder, 'carrel.db'), { mode: 'read' })
  try {
    return db.all(sql)
  } finally {
    db.close()
  }
}
