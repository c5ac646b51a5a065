import { join } from 'node:path'
import { after, test as nodeTest, type TestContext } from 'node:test'
import { openDatabase } from '../../../src/storage/sqlite/driver.ts'
import { isLong } from '../scale.ts'
import { atEnd } from './at-end.ts'
import { closeDatabases, createStore, runSql, serverUrl } from './databases.ts'
import { until } from './waiting.ts'

/** Each contract and data test runs on all these engines, in one of the runs that CONTRIBUTING.md names. */
export const allEngines = ['sqlite', 'postgres'] as const
export type Engine = (typeof allEngines)[number]

/** Engines of the file being loaded. Tests run later, so inside them use `allEngines`. */
export let engines: readonly Engine[] = allEngines
/** Engines of the file's tests that are about a single engine. */
let ownEngines: readonly Engine[] = allEngines

/**
 * Makes the tests declared from now on run on these engines only.
 *
 * @param own engines of the tests that are about a single engine
 */
export function useEngines(some: readonly Engine[], own: readonly Engine[] = some): void {
  engines = some
  ownEngines = own
}

const engineOf = new WeakMap<TestContext, Engine>()

type Work = (t: TestContext) => Promise<void> | void

/** Declares a test on every engine. Services that it starts use that engine. */
export function test(name: string, work: Work): void {
  for (const engine of engines) declare(engine, name, work)
}

/** Declares a test of behavior that only this engine has. */
export function testOn(engine: Engine, name: string, work: Work): void {
  if (ownEngines.includes(engine)) declare(engine, name, work)
}

/**
 * Declares a test of behavior that doesn't depend on the engine, such as files and processes: on every engine
 * in the long run, on one in CI.
 */
export const testOnOne: typeof test = isLong ? test : (name, work) => testOn('sqlite', name, work)

function declare(engine: Engine, name: string, work: Work): void {
  void nodeTest(`${name} (${engine})`, t => {
    engineOf.set(t, engine)
    return work(t)
  })
}

/** Declares a test that opens no store, in a file whose others do. */
export const testWithoutStore = nodeTest

/** Returns the engine of a test declared with the functions above. */
export const engineIn = (t: TestContext): Engine => engineOf.get(t) ?? 'sqlite'

/**
 * Databases by data folder. A store is identified by its data folder, which with PostgreSQL stands for a
 * database.
 */
const databases = new Map<string, () => Promise<string>>()

/** Makes the folder stand for a new database, which is dropped at the end of the test. */
export function useDatabase(
  t: TestContext,
  dataFolder: string,
  make: (t: TestContext) => Promise<string> = createStore,
): void {
  if (databases.has(dataFolder)) return
  let url: Promise<string> | undefined
  databases.set(dataFolder, () => {
    url ??= make(t)
    return url
  })
}

/**
 * Returns the address of the database that this folder stands for; undefined if it holds an embedded store.
 */
export const databaseOf = async (dataFolder: string): Promise<string | undefined> =>
  databases.get(dataFolder)?.()

/** Returns settings with which a command or a service uses the store of this folder. */
export async function storeSettings(dataFolder: string): Promise<Readonly<Record<string, string>>> {
  const url = await databaseOf(dataFolder)
  return { CARREL_DATA: dataFolder, ...(url === undefined ? {} : { CARREL_DATABASE_URL: url }) }
}

/** Runs SQL in the database that this folder stands for. */
export async function runSqlIn<T = Record<string, unknown>>(
  dataFolder: string,
  sql: string,
  values?: readonly unknown[],
): Promise<T[]> {
  const url = await databaseOf(dataFolder)
  if (url === undefined) throw new Error(`${dataFolder} stands for no database`)
  return runSql<T>(url, sql, values)
}

/** Runs SQL that updates a table of the store. */
export async function runOnStore(
  { dataFolder }: { readonly dataFolder: string },
  sql: string,
): Promise<void> {
  if ((await databaseOf(dataFolder)) !== undefined)
    return void (await runSqlIn(dataFolder, sql.replace('UPDATE ', 'UPDATE carrel.')))
  const db = openDatabase(join(dataFolder, 'carrel.db'), { mode: 'write' })
  db.exec(sql)
  db.close()
}

/** True if no query is still running that began before the last change. */
export async function isReadByNobody({ dataFolder }: { readonly dataFolder: string }): Promise<boolean> {
  if ((await databaseOf(dataFolder)) !== undefined) {
    const busy = await runSqlIn(
      dataFolder,
      `SELECT pid FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_xmin IS NOT NULL`,
    )
    return busy.length === 0
  }
  // A query that began before the last change keeps that change from being copied to the main file.
  const db = openDatabase(join(dataFolder, 'carrel.db'), { mode: 'write' })
  const state = db.get<{ log: number; checkpointed: number }>('PRAGMA wal_checkpoint(PASSIVE)')
  db.close()
  return state !== undefined && state.log === state.checkpointed
}

/** Waits until no query is still running that began before the last change. */
export const untilReadByNobody = (service: { readonly dataFolder: string }): Promise<boolean> =>
  until('a store that nobody reads', () => isReadByNobody(service))

/**
 * Makes the database of this folder unavailable. @returns a function that restores it, which the end of the
 * test does, too
 */
export async function hideDatabase(t: TestContext, dataFolder: string): Promise<() => Promise<void>> {
  const name = new URL((await databaseOf(dataFolder)) ?? '').pathname.slice(1)
  const admin = await serverUrl()
  await renameDatabase(admin, name, `${name}_hidden`)
  let isHidden = true
  const restoreOrphan = async () => {
    if (!isHidden) return
    isHidden = false
    await runSql(admin, `ALTER DATABASE ${name}_hidden RENAME TO ${name}`)
  }
  atEnd(t, restoreOrphan)
  return restoreOrphan
}

/**
 * Renames a database. A service may reconnect between the two statements, so it may take several attempts.
 */
async function renameDatabase(admin: string, name: string, to: string): Promise<void> {
  const maxAttempts = 50
  for (let attempt = 1; ; attempt++)
    try {
      await runSql(admin, 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name])
      await runSql(admin, `ALTER DATABASE ${name} RENAME TO ${to}`)
      return
    } catch (error) {
      if ((error as { code?: string }).code !== objectInUse || attempt === maxAttempts) throw error
    }
}
const objectInUse = '55006'

after(closeDatabases)
