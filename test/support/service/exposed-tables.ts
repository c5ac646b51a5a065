import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import type { Entity } from '../../../src/model/entities.ts'
import { StoreUnavailable } from '../../../src/model/errors.ts'
import { ExposeError, type ExposeRequest } from '../../../src/storage/entities.ts'
import type { Client } from '../clients/client.ts'
import { list } from '../clients/listings.ts'
import { atEnd } from './at-end.ts'
import { runSql, serverUrl } from './databases.ts'
import { storeSettings } from './engines.ts'
import { carrel, type Finished } from './process.ts'
import { type Service, startService, temporaryFolder } from './service.ts'

/** Tables and views of the operator's own as entities; only PostgreSQL has such. */

interface Tables {
  readonly service: Service
  readonly client: Client
  /** Of the database. */
  readonly url: string
  /** `carrel expose …`, as a process. */
  command(...args: readonly string[]): Promise<Finished>
  /** What the command does, without the half second that a process takes to start. */
  expose(table: string, more?: Partial<ExposeRequest>): Promise<Entity>
}

/** A service on a new database with these tables. */
export async function withTables(
  t: TestContext,
  sql: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Tables> {
  // Roles belong to the server and stay when the database has gone.
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

/** Roles belong to the server and stay when the database has gone. */
export const dropReader = async (database: string) =>
  runSql(await serverUrl(), `DROP ROLE IF EXISTS carrel_reader_${database}`)

/** A table of the schema public, all of it, for everyone, unless told otherwise. */
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

/** @returns whether there was such an entity */
export const drop = async ({ storage }: Service, name: string): Promise<boolean> =>
  (await storage.entities.drop(name, commandEvent('entity.drop'))) === true

/** What the reader role of this database does; the rest is taken back. */
export async function asReader(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const [role] = await runSql<{ name: string }>(
    url,
    "SELECT rolname AS name FROM pg_roles WHERE rolname = left('carrel_reader_' || current_database(), 63)",
  )
  assert.ok(role, 'there is a role to read with')
  return runSql(url, `BEGIN; SET LOCAL ROLE "${role.name}"; ${sql}`)
}

/** A table can't be exposed so; the command prints such errors in one line (D1). */
export const assertCannot = (exposing: Promise<unknown>, says: RegExp): Promise<void> =>
  assert.rejects(exposing, (error: unknown) => {
    const isKnown = error instanceof ExposeError || error instanceof StoreUnavailable
    assert.ok(isKnown, String(error instanceof Error ? error.stack : error))
    assert.match(error.message, /^[^\n]+$/, 'one line')
    assert.match(error.message, says)
    return true
  })

/** The reader role has no right to do this. */
export const assertNotForReader = (url: string, sql: string): Promise<void> =>
  assert.rejects(asReader(url, sql), /permission denied/, sql)

interface Described {
  readonly name: string
  readonly key: string | readonly string[]
  readonly fields: readonly { name: string; type: string; nullable: boolean; sortable?: boolean }[]
}

/** How `GET {query_base}` shows the entity (Q12). */
export async function described(
  client: { get(path: string): Promise<Response> },
  name: string,
): Promise<Described> {
  const all = await list<Described & Record<string, unknown>>(client, '')
  const found = all.find(entity => entity.name === name)
  assert.ok(found, `${name} is listed`)
  return found
}

/** For what the command exposes to everyone. */
export const anonymous = ['--read', 'anonymous'] as const
