import { randomBytes } from 'node:crypto'
import { after, test as nodeTest, type TestContext } from 'node:test'
import pg from 'pg'
import { atEnd } from './at-end.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

/** Every contract and data test runs on each of these engines. */
export const engines = ['sqlite', 'postgres'] as const
export type Engine = (typeof engines)[number]

const engineOf = new WeakMap<TestContext, Engine>()

/** A test on every engine; what it starts, it starts on that one. */
export function test(name: string, work: (t: TestContext) => Promise<void> | void): void {
  for (const engine of engines)
    void nodeTest(`${name} (${engine})`, t => {
      engineOf.set(t, engine)
      return work(t)
    })
}

/** The engine of a test that was made by the function above, or was told. */
export const engineIn = (t: TestContext): Engine => engineOf.get(t) ?? 'sqlite'

/** A store is known by its data folder; on PostgreSQL that stands for a database. */
const databases = new Map<string, () => Promise<string>>()

/** From now on the folder stands for a new database; it is dropped at the end of the test. */
export function useDatabase(t: TestContext, dataFolder: string): void {
  if (databases.has(dataFolder)) return
  let url: Promise<string> | undefined
  databases.set(dataFolder, () => {
    url ??= createDatabase(t)
    return url
  })
}

/** The settings that make a command or a service use the store of this folder. */
export async function storeSettings(dataFolder: string): Promise<Readonly<Record<string, string>>> {
  const url = await databases.get(dataFolder)?.()
  return { CARREL_DATA: dataFolder, ...(url === undefined ? {} : { CARREL_DATABASE_URL: url }) }
}

/** @returns the address of a new, empty database, which is dropped at the end of the test */
export async function createDatabase(t: TestContext): Promise<string> {
  const server = await serverUrl()
  const name = `carrel_test_${randomBytes(6).toString('hex')}`
  await runSql(server, `CREATE DATABASE ${name}`)
  atEnd(t, () => runSql(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
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

let server: Promise<PostgresServer> | undefined

/** The server that all databases of the tests are on. */
export async function serverUrl(): Promise<string> {
  const given = process.env.CARREL_TEST_DATABASE_URL
  if (given !== undefined) return given
  server ??= startPostgres()
  return (await server).url
}
after(async () => (await server)?.remove())
