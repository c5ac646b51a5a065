import { randomBytes, randomUUID } from 'node:crypto'
import { databaseAddress } from '../../lib/database-address.ts'
import { StoreUnavailable } from '../../lib/errors.ts'
import { setAhead } from '../../lib/ms-now.ts'
import { newestOf, refusedVersion, stepsFrom } from '../schema.ts'
import { firstRows } from '../statements/first-rows.ts'
import { storeTime } from '../statements/statements.ts'
import { type Connection, connect } from './driver.ts'
import { Conflict, retryOnConflict, startPatience } from './errors.ts'
import { perform } from './perform.ts'
import { schema } from './schema.ts'
import type { ConnectionOptions } from './servers.ts'

/**
 * Opens a connection whose statements may wait for other nodes for as long as it takes, and brings the
 * database to this version's schema. Nodes that start together wait for each other at one row, an ordinary
 * lock that every engine has; the later ones find the work done.
 * @param create true to create a store where there is none
 * @returns the connection, and true if there was no store
 * @throws StoreUnavailable when there is none, or a newer Carrel wrote it; nothing was changed then
 */
export async function openMigrated(
  options: ConnectionOptions,
  create: boolean,
): Promise<{ readonly db: Connection; readonly isNew: boolean }> {
  try {
    const limits = { statementTimeout: 0, queryTimeout: 0, connectTimeout: startPatience }
    const patient = { ...options, ...limits }
    const db = await connect(patient)
    try {
      await requireSession(db, patient)
      const [read] = await db.rows<{ now: number }>(`SELECT ${storeTime.postgres} AS now`)
      if (read) setAhead(Date.now() - read.now)
      return { db, isNew: await migrate(db, create) }
    } catch (error) {
      await db.close()
      throw error
    }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    // The message names the database without the password.
    const { name } = databaseAddress(options.url)
    throw new StoreUnavailable(`${error.message} (the database is ${name.replace('postgres://', '')})`, {
      cause: error,
    })
  }
}

/**
 * Carrel sets up a session, prepares statements in it and locks rows between statements. Behind a pooler in
 * transaction mode, two connections that are open at once may have the same session.
 */
async function requireSession(db: Connection, options: ConnectionOptions): Promise<void> {
  const sessionOf = async ({ unnamedRows }: Pick<Connection, 'unnamedRows'>) =>
    (await unnamedRows<{ id: number }>('SELECT pg_backend_pid() AS id'))[0]?.id
  const own = await sessionOf(db)
  const other = await connect(options)
  try {
    await other.exec('BEGIN')
    if ((await sessionOf(other)) === own || (await sessionOf(db)) !== own)
      throw new StoreUnavailable(
        'the connections to the database share sessions: a pooler such as PgBouncer must be in session mode (pool_mode = session)',
      )
  } finally {
    await other.close()
  }
}

async function migrate(db: Connection, create: boolean): Promise<boolean> {
  const noStore = () => new StoreUnavailable('no store in the database; set CARREL_DATABASE_URL')
  if (!(await hasSchema(db))) {
    if (!create) throw noStore()
    await retryOnConflict(() => createVersion(db))
  }
  return await transactionOn(db, async () => {
    const [row] = await db.rows<{ version: number }>('SELECT version FROM store_schema FOR UPDATE')
    // Without the row there is no lock, and two nodes would create the tables.
    if (!row) throw new Conflict('PostgreSQL: another program removed the schema’s version; start again')
    const from = row.version
    if (from === 0 && !create) throw noStore()
    const refused = refusedVersion(schema, from)
    if (refused !== undefined) throw new StoreUnavailable(`the store ${refused}`)
    if (from < newestOf(schema)) {
      await migrateFrom(db, from)
      if (from === 0) {
        await perform(db, firstRows())
        await db.run(`INSERT INTO secret (secret, made) VALUES ($1, ${storeTime.postgres})`, randomBytes(32))
      }
    }
    return from === 0
  })
}

/** True if the database has a store. @throws StoreUnavailable if another program has made the schema */
export async function hasSchema(db: Connection): Promise<boolean> {
  // In one statement: another node may be creating the store.
  const [found] = await db.rows<{ is: boolean; tables: boolean }>(
    `SELECT to_regclass('carrel.store_schema') IS NOT NULL AS is,
       EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = 'carrel') AS tables`,
  )
  // A first start of an earlier release may have been killed between the table and its row.
  if (found?.is) return (await db.rows('SELECT version FROM carrel.store_schema')).length > 0
  if (found?.tables)
    throw new StoreUnavailable(
      'the schema carrel has tables that are no store of this Carrel; use another database (nothing was changed)',
    )
  return false
}

/** Creates the schema without any rows, in the current transaction: it appears together with its content. */
export async function createSchema(db: Connection): Promise<void> {
  await createVersion(db)
  await migrateFrom(db, 0)
}

/** Creates the row that nodes wait at, in one transaction with its table: no node sees one without the other. */
async function createVersion(db: Connection): Promise<void> {
  await db.exec(`
    CREATE SCHEMA IF NOT EXISTS carrel;
    CREATE TABLE IF NOT EXISTS store_schema (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL);
    INSERT INTO store_schema VALUES (1, 0) ON CONFLICT DO NOTHING`)
}

async function migrateFrom(db: Connection, from: number): Promise<void> {
  for (const sql of stepsFrom(schema, from)) await db.exec(sql)
  await db.run("UPDATE state SET store = $1 WHERE store = ''", randomUUID())
  await db.run('UPDATE store_schema SET version = $1', newestOf(schema))
}

/** Runs work in a transaction on one connection, again after a conflict. `work` must be safe to repeat. */
export const transactionOn = <T>(db: Connection, work: () => Promise<T>): Promise<T> =>
  retryOnConflict(async () => {
    await db.exec('BEGIN')
    try {
      const result = await work()
      await db.exec('COMMIT')
      return result
    } catch (error) {
      // A connection that was lost has rolled back already.
      await db.exec('ROLLBACK').catch(() => {})
      throw error
    }
  })
