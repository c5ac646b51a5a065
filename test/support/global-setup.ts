import { type PostgresServer, startPostgres } from './postgres-server.ts'

/** One PostgreSQL for all test files of a run (`--test-global-setup`); a file that runs alone starts its own. */
let server: PostgresServer | undefined

export async function globalSetup(): Promise<void> {
  if (process.env.CARREL_TEST_DATABASE_URL !== undefined) return
  server = await startPostgres()
  process.env.CARREL_TEST_DATABASE_URL = server.url
}

export async function globalTeardown(): Promise<void> {
  await server?.remove()
}
