import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { closeDatabases, createTemplate, runSql } from './databases.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

/** One PostgreSQL for all test files of a run (`--test-global-setup`); a file that runs alone starts its own. */
let server: PostgresServer | undefined

export async function globalSetup(): Promise<void> {
  // The many processes of the tests compile the same files.
  process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'carrel-compile-cache')
  if (process.env.CARREL_TEST_DATABASE_URL === undefined) {
    server = await startPostgres()
    process.env.CARREL_TEST_DATABASE_URL = server.url
  }
  process.env.CARREL_TEST_TEMPLATE = await createTemplate()
  // Copying a database needs it to itself.
  await closeDatabases()
}

export async function globalTeardown(): Promise<void> {
  const { CARREL_TEST_DATABASE_URL = '', CARREL_TEST_TEMPLATE = '' } = process.env
  if (server === undefined)
    await runSql(CARREL_TEST_DATABASE_URL, `DROP DATABASE ${CARREL_TEST_TEMPLATE} WITH (FORCE)`)
  await server?.remove()
}
