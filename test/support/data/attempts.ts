import { join } from 'node:path'
import { openDatabase } from '../../../src/storage/sqlite/driver.ts'
import { databaseOf, runSqlIn } from '../service/engines.ts'

/** Runs a statement in the store of this folder while the service runs. */
export async function change(dataFolder: string, sql: string): Promise<void> {
  if ((await databaseOf(dataFolder)) !== undefined) {
    await runSqlIn(dataFolder, sql.replace(/(UPDATE|FROM|INTO) /, '$1 carrel.'))
    return
  }
  const db = openDatabase(join(dataFolder, 'carrel.db'), { mode: 'write' })
  db.run(sql)
  db.close()
}

/** Moves all times of the throttle into the past, which has the same effect as waiting. */
export async function letPass({ dataFolder }: { readonly dataFolder: string }, ms: number): Promise<void> {
  await change(dataFolder, `UPDATE attempt SET at = at - ${ms}, expires = expires - ${ms}`)
  await change(dataFolder, `UPDATE familiar_network SET at = at - ${ms}`)
}

/** Makes the throttle forget all wrong passwords. */
export const forgetAttempts = ({ dataFolder }: { readonly dataFolder: string }): Promise<void> =>
  change(dataFolder, 'DELETE FROM attempt')

/** Returns the rows of one of the throttle's tables, or the state of the store. */
export async function rowsOf(
  { dataFolder }: { readonly dataFolder: string },
  table: 'attempt' | 'familiar_network' | 'state' = 'attempt',
): Promise<readonly Record<string, unknown>[]> {
  // Attempts that were counted and taken back have level 0.
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
