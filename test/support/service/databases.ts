import { randomBytes, randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { openStore } from '../../../src/cli/store.ts'
import { toConfig } from '../../../src/config/config.ts'
import { atEnd } from './at-end.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

/** The server for all databases of the tests. */
let server: Promise<PostgresServer> | undefined

/** Returns the address of that server. */
export async function serverUrl(): Promise<string> {
  const given = process.env.CARREL_TEST_DATABASE_URL
  if (given !== undefined) return given
  server ??= startPostgres()
  return (await server).url
}
/** @returns the address of a new, empty database, which is dropped at the end of the test */
export const createDatabase = (t: TestContext): Promise<string> => createFrom(t, 'template0')

/**
 * Creates a database with the schema of a new store. The schema is created once and copied, which takes a
 * fifth of the time.
 *
 * @param t undefined to keep the database as long as the server
 */
export async function createStore(t: TestContext | undefined): Promise<string> {
  const url = await createFrom(t, `${await template()} STRATEGY FILE_COPY`)
  // Gives the store its own identity, in one call, because a connection costs more than all statements.
  await runSql(
    url,
    `UPDATE carrel.secret SET secret = '\\x${randomBytes(32).toString('hex')}', made = extract(epoch FROM now()) * 1000;
     UPDATE carrel.epersongroup SET uuid = '${randomUUID()}';
     UPDATE carrel.state SET store = '${randomUUID()}';
     DELETE FROM carrel.trail_key; DELETE FROM carrel.trail_checkpoint; DELETE FROM carrel.trail_head`,
  )
  return url
}

async function createFrom(t: TestContext | undefined, source: string): Promise<string> {
  const name = newName()
  await administer(`CREATE DATABASE ${name} TEMPLATE ${source}`)
  if (t) atEnd(t, () => administer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))
  return named(name)
}

const newName = () => `carrel_test_${randomBytes(6).toString('hex')}`

async function named(database: string): Promise<string> {
  const url = new URL(await serverUrl())
  url.pathname = `/${database}`
  return url.href
}

let ownTemplate: Promise<string> | undefined
const template = async (): Promise<string> => {
  ownTemplate ??= process.env.CARREL_TEST_TEMPLATE
    ? Promise.resolve(process.env.CARREL_TEST_TEMPLATE)
    : createTemplate()
  return ownTemplate
}

/** @returns the name of a database on which only Carrel has been started */
export async function createTemplate(): Promise<string> {
  const name = newName()
  await administer(`CREATE DATABASE ${name} TEMPLATE template0`)
  await (await openStore(toConfig({ CARREL_DATABASE_URL: await named(name) }), { create: true })).close()
  return name
}

let administrator: Promise<pg.Client> | undefined

/** Creates and drops databases over a permanent connection. */
async function administer(sql: string): Promise<void> {
  administrator ??= (async () => {
    const client = new pg.Client({ connectionString: await serverUrl() })
    client.on('error', () => {})
    await client.connect()
    return client
  })()
  await (await administrator).query(sql)
}

/** Runs SQL as the tests' superuser, past the service. @returns the rows of the last statement */
export async function runSql<T = Record<string, unknown>>(
  url: string,
  sql: string,
  values?: readonly unknown[],
): Promise<T[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    const result = await (values ? client.query(sql, [...values]) : client.query(sql))
    return (Array.isArray(result) ? result.at(-1) : result).rows as T[]
  } finally {
    await client.end()
  }
}

/** Closes and stops everything that this process has opened or started here. */
export async function closeDatabases(): Promise<void> {
  await (await administrator)?.end()
  administrator = undefined
  await (await server)?.remove()
  server = undefined
}
