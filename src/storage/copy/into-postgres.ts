import { OperatorError } from '../../model/errors.ts'
import { type Connection, connect } from '../postgres/driver.ts'
import { createSchema, hasSchema } from '../postgres/migrate.ts'
import { openDump } from './from-sqlite.ts'
import { type LoadProgress, loadDump } from './to-postgres.ts'

/** Whether the database has a store. */
export const hasStore = (url: string): Promise<boolean> => connected(url, hasSchema)

/** A second restore may have been as fast as this one. */
const alreadyThere = () => new OperatorError('the database has got a store meanwhile; nothing was restored')

/**
 * Loads the store of a folder into a database without one, in one transaction: there is a whole store, or none.
 * @throws OperatorError if the database has a store
 */
export async function loadIntoEmpty(url: string, folder: string, progress: LoadProgress): Promise<void> {
  const dump = openDump(folder)
  try {
    await connected(url, async db => {
      await db.exec('BEGIN')
      if (await hasSchema(db)) throw alreadyThere()
      await createSchema(db)
      await loadDump(db, dump, progress)
      await db.exec('COMMIT')
    })
  } finally {
    dump.close()
  }
}

async function connected<T>(url: string, work: (db: Connection) => Promise<T>): Promise<T> {
  const db = await connect({ url, statementTimeout: 0, queryTimeout: 0, setup: '' })
  try {
    return await work(db)
  } finally {
    // Without COMMIT, everything is rolled back.
    await db.close()
  }
}
