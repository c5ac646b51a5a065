import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, cpSync, openSync, readFileSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import pg from 'pg'
import type { Event } from '../data/events.ts'
import { atEnd } from './at-end.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'
import { cleanEnvironment, entry, type Finished, repository } from './process.ts'
import { startService, temporaryFolder } from './service.ts'
import { until } from './waiting.ts'

/**
 * A PostgreSQL of a test's own, which can be stopped in several ways. It is removed at the end of the test.
 */
export interface FragilePostgres {
  readonly url: string
  /** Stops it cleanly, which ends all connections. */
  stop(): Promise<void>
  /** Sends SIGKILL, as the system does when memory runs out. @returns when all its processes are gone */
  kill(): Promise<void>
  start(): Promise<void>
  /** Suspends all its processes: connections stay open, but get no answer. */
  hang(): Promise<void>
  goOn(): void
}

/**
 * Flags with which a commit reaches the operating system, so that only a crash of the machine could lose it.
 */
const durableForProcesses = ['fsync=off', 'max_connections=100']

export async function fragilePostgres(t: TestContext): Promise<FragilePostgres> {
  const server = await startPostgres({ flags: durableForProcesses })
  let goOn = () => {}
  atEnd(t, () => server.remove())
  // A suspended process doesn't receive the signal to end.
  atEnd(t, () => goOn())
  return {
    url: server.url,
    stop: () => server.stop(),
    start: () => server.start(),
    kill: () => killPostgres(server),
    hang: async () => {
      goOn = await suspendPostgres(server)
    },
    goOn: () => goOn(),
  }
}

/** Sends SIGKILL, as the system does when memory runs out. @returns when all its processes are gone */
export async function killPostgres(server: PostgresServer): Promise<void> {
  const postmaster = postmasterOf(server)
  const others = await withClient(server.url, processesOf)
  // Suspended first, so that SIGKILL arrives before the signal that `stop` sends and waits for.
  process.kill(postmaster, 'SIGSTOP')
  const stopping = server.stop()
  process.kill(postmaster, 'SIGKILL')
  await stopping
  await until(
    'the end of all processes of PostgreSQL',
    () => others.filter(pid => !isGone(pid)),
    left => left.length === 0,
  )
}

/** Suspends all processes of a server. @returns a function that lets them go on */
export const suspendPostgres = (server: PostgresServer): Promise<() => void> =>
  withClient(server.url, async client => {
    const postmaster = postmasterOf(server)
    // The postmaster is suspended first, so that it starts no new processes.
    process.kill(postmaster, 'SIGSTOP')
    let hanging = [postmaster]
    for (const pid of await processesOf(client)) {
      signal(pid, 'SIGSTOP')
      hanging.push(pid)
    }
    return () => {
      for (const pid of hanging.toReversed()) signal(pid, 'SIGCONT')
      hanging = []
    }
  })

const postmasterOf = ({ folder }: PostgresServer) =>
  Number(readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')[0])

const processesOf = async (client: pg.Client) =>
  (await client.query<{ pid: number }>('SELECT pid FROM pg_stat_activity')).rows.map(({ pid }) => pid)

/** Sends a signal to a process that may have ended already. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** True if the process has ended, even if its parent hasn't collected it yet (proc(5): state Z). */
function isGone(pid: number): boolean {
  try {
    return /^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return true
  }
}

/**
 * Connects past the service, as the tests' superuser. Closing the connection isn't awaited, because the
 * server may hang or be gone.
 */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    void client.end().catch(() => {})
  }
}

/** Returns records of these tests' entity, which is readable for everyone. */
export const letters = (count: number, text = 'x') =>
  Array.from({ length: count }, (_, id) => ({ id, name: `Letter ${id % 97}`, text }))

interface Content {
  readonly epersons?: readonly string[]
  readonly administrator?: string
  readonly letters?: readonly object[]
}

/** Puts epersons, with passwords for `Client.login`, and the entity `letters` into a store. */
export async function fill(
  t: TestContext,
  env: Readonly<Record<string, string>>,
  { epersons = [], administrator, letters: records }: Content,
): Promise<ReadonlyMap<string, string>> {
  const uuids = new Map<string, string>()
  await t.test('prepare', async prepare => {
    const service = await startService(prepare, { env })
    for (const email of epersons) uuids.set(email, (await service.addEperson(email)).uuid)
    if (administrator !== undefined)
      uuids.set(administrator, (await service.addEperson(administrator, { admin: true })).uuid)
    if (records !== undefined) await service.addRecords('letters', 'id', records)
  })
  return uuids
}

/** Counts the successful events of this name for an eperson in the audit trail. */
export const eventCounts = (events: readonly Event[], eperson: string | undefined, name: string): number =>
  events
    .filter(one => one.event === name && one.outcome === 'success' && one.eperson === eperson)
    .reduce((sum, { count }) => sum + count, 0)

/** The beginning of a command line that runs `carrel`. */
export const carrelProgram: readonly [string, ...string[]] = [process.execPath, entry]

export interface Command {
  readonly ended: Promise<Finished & { readonly signal: NodeJS.Signals | null }>
  kill(): void
}

/** Starts `carrel <args>`, to be ended while it runs. It is gone at the end of the test. */
export function startCommand(
  t: TestContext,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Command {
  const [node, entry] = carrelProgram
  const child = spawn(node, [entry as string, ...args], {
    cwd: repository,
    env: cleanEnvironment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]).then(
    ([[code, signal], stdout, stderr]) => ({
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
      stdout,
      stderr,
    }),
  )
  const kill = () => void child.kill('SIGKILL')
  atEnd(t, async () => {
    kill()
    await ended
  })
  return { ended, kill }
}

/** A folder on a small file system of its own, which only the commands started with it see. */
export interface SmallDisk {
  readonly folder: string
  /** The beginning of a command line that sees the folder. */
  readonly enter: readonly [string, ...string[]]
  /** The folder as this process sees it. Don't use it with SQLite, which resolves the link in the path. */
  readonly inside: string
  /** Fills the disk up to this number of free bytes. */
  fill(room?: number): void
  /** Frees the space again. */
  free(): void
}

/**
 * Mounts a small disk. Everyone has the right to do so in a user namespace of their own; root also has it
 * without one, where user namespaces are disabled (user_namespaces(7)).
 *
 * @param content path of a folder that is copied to the disk
 */
export async function smallDisk(t: TestContext, megabytes: number, content?: string): Promise<SmallDisk> {
  const folder = temporaryFolder(t, 'sqlite')
  const said: string[] = []
  for (const namespaces of [['--user', '--mount'], ['--mount']]) {
    const asRoot = namespaces.includes('--user') ? ['--map-root-user'] : []
    const mount = 'mount -t tmpfs -o "size=$1m" none "$2" && echo mounted && exec cat'
    const holder = spawn(
      'unshare',
      [...namespaces, ...asRoot, 'sh', '-c', mount, 'sh', String(megabytes), folder],
      { stdio: 'pipe' },
    )
    const stderr = text(holder.stderr)
    const ended = once(holder, 'close')
    atEnd(t, async () => {
      holder.stdin.end()
      await ended
    })
    if (!(await Promise.race([once(holder.stdout, 'data').then(() => true), ended.then(() => false)]))) {
      said.push(await stderr)
      continue
    }
    const inside = `/proc/${holder.pid}/root${folder}`
    if (content !== undefined) cpSync(content, inside, { recursive: true })
    const filler = join(inside, 'filler')
    const free = () => rmSync(filler, { force: true })
    return {
      folder,
      inside,
      enter: [
        'nsenter',
        ...[`--target=${holder.pid}`, ...namespaces, `--wd=${repository}`],
        ...(asRoot.length > 0 ? ['--preserve-credentials'] : []),
      ],
      fill: (room = 0) => {
        free()
        writeUntilFull(filler)
        truncateSync(filler, statSync(filler).size - room)
      },
      free,
    }
  }
  throw new Error(`this machine has no way to a small disk: ${said.join('')}`)
}

function writeUntilFull(file: string): void {
  const handle = openSync(file, 'w')
  const page = Buffer.alloc(4096)
  try {
    for (;;) writeSync(handle, page)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    closeSync(handle)
  }
}
