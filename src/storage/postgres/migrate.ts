import { randomBytes, randomUUID } from 'node:crypto'
import { version as program } from '../../lib/version.ts'
import { administratorGroup, type Group, nameKey } from '../../model/accounts.ts'
import { StoreUnavailable } from '../../model/errors.ts'
import { type Connection, type ConnectionOptions, connect } from './driver.ts'
import { retryOnConflict, startPatience } from './errors.ts'
import { migrations } from './migrations.ts'
import { transactionOn } from './transaction.ts'

/** Random values are made here: not every engine has functions for them. */
async function firstRows(db: Connection): Promise<void> {
  await db.run(
    'INSERT INTO epersongroup VALUES ($1, $2, $3)',
    randomUUID(),
    administratorGroup,
    new Date().toISOString(),
  )
  await db.run('INSERT INTO secret (secret, made) VALUES ($1, now())', randomBytes(32))
}

/** In JavaScript, as for a new eperson: what the database folds depends on its locale. */
async function fillNameKeys(db: Connection): Promise<void> {
  type Named = { uuid: string; first_name: string | null; last_name: string | null }
  const epersons = await db.rows<Named>('SELECT uuid, first_name, last_name FROM eperson')
  const groups = await db.rows<Group & Record<string, unknown>>('SELECT uuid, name FROM epersongroup')
  const fill = (table: string, rows: readonly (readonly [uuid: string, key: string])[]) =>
    db.run(
      `UPDATE ${table} SET name_key = key
       FROM unnest($1::text[], $2::text[]) AS filled(id, key) WHERE uuid = id`,
      rows.map(([uuid]) => uuid),
      rows.map(([, key]) => key),
    )
  await fill(
    'eperson',
    epersons.map(one => [one.uuid, nameKey(one.first_name, one.last_name)] as const),
  )
  await fill(
    'epersongroup',
    groups.map(({ uuid, name }) => [uuid, nameKey(name)] as const),
  )
}

/**
 * Opens a connection whose statements may wait for other nodes for as long as it takes, and brings the database to this
 * version's schema. Nodes that start together wait for each other at one row, an ordinary lock that every engine has; the
 * later ones find the work done.
 * @param create whether to create a store where there is none
 * @returns the connection, and whether there was no store
 * @throws StoreUnavailable when there is none, or a newer Carrel wrote it; nothing was changed then
 */
export async function openMigrated(
  options: ConnectionOptions,
  create: boolean,
): Promise<{ readonly db: Connection; readonly isNew: boolean }> {
  try {
    const limits = { statementTimeout: 0, queryTimeout: 0, connectTimeout: startPatience }
    const db = await connect({ ...options, ...limits })
    try {
      return { db, isNew: await migrate(db, create) }
    } catch (error) {
      await db.close()
      throw error
    }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    // Without the password.
    const { host, pathname } = new URL(options.url)
    throw new StoreUnavailable(`${error.message} (the database is ${host}${pathname})`, { cause: error })
  }
}

async function migrate(db: Connection, create: boolean): Promise<boolean> {
  const noStore = () => new StoreUnavailable('no store in the database; set CARREL_DATABASE_URL')
  if (!(await hasSchema(db))) {
    if (!create) throw noStore()
    await retryOnConflict(() => createVersion(db))
  }
  return await transactionOn(db, async () => {
    const [row] = await db.rows<{ version: number }>('SELECT version FROM schema_version FOR UPDATE')
    const from = row?.version ?? 0
    if (from === 0 && !create) throw noStore()
    if (from > migrations.length)
      throw new StoreUnavailable(
        `the store has schema version ${from}, and Carrel ${program} knows versions up to ${migrations.length}; use a newer Carrel`,
      )
    if (from < migrations.length) {
      await migrateFrom(db, from)
      if (from === 0) await firstRows(db)
      await fillNameKeys(db)
    }
    return from === 0
  })
}

export async function hasSchema(db: Connection): Promise<boolean> {
  const [found] = await db.rows<{ known: boolean }>(
    "SELECT EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = 'carrel' AND table_name = 'schema_version') AS known",
  )
  return found?.known === true
}

/** Creates the schema without any rows, in the current transaction: it appears together with what is loaded into it. */
export async function createSchema(db: Connection): Promise<void> {
  await createVersion(db)
  await migrateFrom(db, 0)
}

async function createVersion(db: Connection): Promise<void> {
  await db.exec('CREATE SCHEMA IF NOT EXISTS carrel')
  await db.exec(
    'CREATE TABLE IF NOT EXISTS schema_version (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL)',
  )
  await db.exec('INSERT INTO schema_version VALUES (1, 0) ON CONFLICT DO NOTHING')
}

async function migrateFrom(db: Connection, from: number): Promise<void> {
  for (const sql of migrations.slice(from)) await db.exec(sql)
  await db.run("UPDATE state SET store = $1 WHERE store = ''", randomUUID())
  await db.run('UPDATE schema_version SET version = $1', migrations.length)
}
