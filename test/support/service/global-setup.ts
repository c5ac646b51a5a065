import { execFileSync } from 'node:child_process'
import { globSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { closeDatabases, createTemplate, runSql } from './databases.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'
import { repository, testBuild } from './process.ts'

/**
 * One PostgreSQL for all test files of a run (`--test-global-setup`). A file that runs alone starts its own.
 */
let server: PostgresServer | undefined

export async function globalSetup(): Promise<void> {
  buildConsole()
  buildProgram()
  // The many processes of the tests compile the same files, so they share a cache.
  process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'carrel-compile-cache')
  if (process.env.CARREL_TEST_DATABASE_URL === undefined) {
    server = await startPostgres()
    process.env.CARREL_TEST_DATABASE_URL = server.url
  }
  process.env.CARREL_TEST_TEMPLATE = await createTemplate()
  // A database can be copied only without connections to it.
  await closeDatabases()
}

/** Builds the console if its sources have changed, because the service serves the built files. */
function buildConsole(): void {
  const sources = changed('{console/{src/**/*,*.*},packages/client/src/**/*}')
  if (sources > changed('console/dist/index.html')) runScript('console/build.js')
}

/** Builds the program if its sources have changed, because processes of their own run the built files. */
function buildProgram(): void {
  const sources = changed('{src/**/*,scripts/*.ts,package-lock.json}')
  if (sources > changed(`${testBuild}/cli/carrel.js`)) runScript('scripts/build.ts', testBuild)
  process.env.CARREL_TEST_BUILD = testBuild
}

/** Returns the time of the last change of these files in ms since 1970; 0 if there are none. */
const changed = (pattern: string): number =>
  Math.max(0, ...globSync(pattern, { cwd: repository }).map(file => statSync(join(repository, file)).mtimeMs))

function runScript(name: string, ...args: readonly string[]): void {
  execFileSync(process.execPath, [join(repository, name), ...args], { stdio: 'inherit' })
}

export async function globalTeardown(): Promise<void> {
  const { CARREL_TEST_DATABASE_URL = '', CARREL_TEST_TEMPLATE = '' } = process.env
  if (server === undefined)
    await runSql(CARREL_TEST_DATABASE_URL, `DROP DATABASE ${CARREL_TEST_TEMPLATE} WITH (FORCE)`)
  await server?.remove()
}
