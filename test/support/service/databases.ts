import { randomBytes, randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { openStore } from '../../../src/cli/store.ts'
import { toConfig } from '../../../src/config/config.ts'
import { atEnd } from './at-end.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

/** Databases for the tests, on one server. */
let server: Promise<PostgresServer> | undefined

/** The server that all databases of the tests are on. */
export async function serverUrl(): Promise<string> {
  const given = process.env.CARREL_TEST_DATABASE_URL
  if (given !== undefined) return given
  server ??= startPostgres()
  return (await server).url
}
/** @returns the address of a new, empty database, which is dropped at the end of the test */
export const createDatabase = (t: TestContext): Promise<string> => createFrom(t, 'template0')

/**
 * The same with the schema of a new store, made once and copied, which takes a fifth of the time.
 * @param t undefined: it stays as long as the server
 */
export async function createStore(t: TestContext | undefined): Promise<string> {
  const url = await createFrom(t, `${await template()} STRATEGY FILE_COPY`)
  // What every store has of its own; in one go, as a connection costs more than all of it.
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

/** @returns the name of a database that a Carrel has started on, and nothing else has happened to */
export async function createTemplate(): Promise<string> {
  const name = newName()
  await administer(`CREATE DATABASE ${name} TEMPLATE template0`)
  await (await openStore(toConfig({ CARREL_DATABASE_URL: await named(name) }), { create: true })).close()
  return name
}

let administrator: Promise<pg.Client> | undefined

/** Creates and drops databases, on a connection that is kept. */
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

/** Lets go of everything that this process has opened or started here. */
export async function closeDatabases(): Promise<void> {
  await (await administrator)?.end()
  administrator = undefined
  await (await server)?.remove()
  server = undefined
}
