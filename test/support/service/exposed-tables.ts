import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import { StoreUnavailable } from '../../../src/lib/errors.ts'
import type { Entity } from '../../../src/model/entities.ts'
import { ExposeError, type ExposeRequest } from '../../../src/storage/exposing.ts'
import type { Client } from '../clients/client.ts'
import { list } from '../clients/listings.ts'
import { atEnd } from './at-end.ts'
import { runSql, serverUrl } from './databases.ts'
import { storeSettings } from './engines.ts'
import { carrel, type Finished } from './process.ts'
import { type Service, startService, temporaryFolder } from './service.ts'

interface Tables {
  readonly service: Service
  readonly client: Client
  /** The address of the database. */
  readonly url: string
  /** Runs `carrel expose …` as a process. */
  command(...args: readonly string[]): Promise<Finished>
  /** Does the work of the command, without the half second that a process takes to start. */
  expose(table: string, more?: Partial<ExposeRequest>): Promise<Entity>
}

/** Starts a service on a new PostgreSQL database with these tables. */
export async function withTables(
  t: TestContext,
  sql: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Tables> {
  // Roles belong to the server, and remain when the database is dropped.
  let database = ''
  atEnd(t, () => dropReader(database))
  const dataFolder = temporaryFolder(t, 'postgres')
  const { CARREL_DATABASE_URL: url = '' } = await storeSettings(dataFolder)
  database = new URL(url).pathname.slice(1)
  const service = await startService(t, { dataFolder, env })
  await runSql(url, sql)
  return {
    service,
    client: service.client(),
    url,
    command: (...args) => carrel(dataFolder, ['expose', ...args]),
    expose: (table, more = {}) => exposeIn(service, table, more),
  }
}

/** Drops the reader role of a database, which otherwise would remain on the server. */
export const dropReader = async (database: string) =>
  runSql(await serverUrl(), `DROP ROLE IF EXISTS carrel_reader_${database}`)

/** Exposes a table of the schema public, by default with all fields and for everyone. */
export function exposeIn(
  { storage }: Service,
  table: string,
  more: Partial<ExposeRequest> = {},
): Promise<Entity> {
  assert.ok(storage.entities.expose)
  const request = {
    name: table,
    schema: 'public',
    table,
    key: null,
    read: 'anonymous',
    fields: null,
    ...more,
  } as const
  return storage.entities.expose(request, commandEvent('entity.expose'))
}

/** @returns true if there was such an entity */
export const drop = async ({ storage }: Service, name: string): Promise<boolean> =>
  (await storage.entities.drop(name, commandEvent('entity.drop'))) === true

/** Runs SQL with the rights of the database's reader role. The transaction is rolled back. */
export async function asReader(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const [role] = await runSql<{ name: string }>(
    url,
    "SELECT rolname AS name FROM pg_roles WHERE rolname = left('carrel_reader_' || current_database(), 63)",
  )
  assert.ok(role, 'there is a role to read with')
  return runSql(url, `BEGIN; SET LOCAL ROLE "${role.name}"; ${sql}`)
}

/** Asserts that a table can't be exposed. The command prints such errors in one line (D1). */
export const assertCannot = (exposing: Promise<unknown>, says: RegExp): Promise<void> =>
  assert.rejects(exposing, (error: unknown) => {
    const isKnown = error instanceof ExposeError || error instanceof StoreUnavailable
    assert.ok(isKnown, String(error instanceof Error ? error.stack : error))
    assert.match(error.message, /^[^\n]+$/, 'one line')
    assert.match(error.message, says)
    return true
  })

/** Asserts that the reader role has no right to run this SQL. */
export const assertNotForReader = (url: string, sql: string): Promise<void> =>
  assert.rejects(asReader(url, sql), /permission denied/, sql)

interface Described {
  readonly name: string
  readonly key: string | readonly string[]
  readonly fields: readonly { name: string; type: string; nullable: boolean; sortable?: boolean }[]
}

/** Returns the entity as `GET {query_base}` describes it (Q12). */
export async function described(
  client: { get(path: string): Promise<Response> },
  name: string,
): Promise<Described> {
  const all = await list<Described & Record<string, unknown>>(client, '')
  const found = all.find(entity => entity.name === name)
  assert.ok(found, `${name} is listed`)
  return found
}

/** Arguments with which the command exposes a table to everyone. */
export const anonymous = ['--read', 'anonymous'] as const
