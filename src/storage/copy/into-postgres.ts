import { OperatorError } from '../../model/errors.ts'
import { connect } from '../postgres/driver.ts'
import { createSchema, hasSchema } from '../postgres/migrate.ts'
import { openDump } from './from-sqlite.ts'
import { type LoadProgress, loadDump } from './to-postgres.ts'

/** @throws OperatorError if the database has a store */
export async function requireNoStore(url: string): Promise<void> {
  const db = await connect({ url, statementTimeout: 0, queryTimeout: 0, setup: '' })
  try {
    if (await hasSchema(db)) throw alreadyThere()
  } finally {
    await db.close()
  }
}

const alreadyThere = () =>
  new OperatorError('the database has a store already; restore into a database without the schema `carrel`')

/**
 * Loads the store of a folder into a database without one, in one transaction: there is a whole store, or none.
 * @throws OperatorError if the database has a store
 */
export async function loadIntoEmpty(url: string, folder: string, progress: LoadProgress): Promise<void> {
  const dump = openDump(folder)
  const db = await connect({ url, statementTimeout: 0, queryTimeout: 0, setup: '' })
  try {
    await db.exec('BEGIN')
    if (await hasSchema(db)) throw alreadyThere()
    await createSchema(db)
    await loadDump(db, dump, progress)
    await db.exec('COMMIT')
  } finally {
    // Without COMMIT, everything is rolled back.
    await db.close()
    dump.close()
  }
}
