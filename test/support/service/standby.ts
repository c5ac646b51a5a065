import { execFileSync } from 'node:child_process'
import { appendFileSync, chmodSync, chownSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import { atEnd } from './at-end.ts'
import { runSql } from './databases.ts'
import { killPostgres, suspendPostgres, withClient } from './faults.ts'
import { type PostgresServer, scratch, startPostgres } from './postgres-server.ts'
import { answers, askedOf, followerFlags, streaming } from './replica.ts'
import { until } from './waiting.ts'

/** A line to a server, whose other end moves like a virtual address, or is cut. */
export interface Line {
  readonly port: number
  /** Ends the connections there are, and leads new ones to this server; undefined: to none. */
  leadTo(server: Pick<PostgresServer, 'port'> | undefined): void
}

export async function startLine(t: TestContext, first: Pick<PostgresServer, 'port'>): Promise<Line> {
  let target: typeof first | undefined = first
  const open = new Set<Socket>()
  const server = createServer(near => {
    if (!target) return void near.destroy()
    const far = connect(target.port, '127.0.0.1')
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one)
      one.setNoDelay(true)
      one.pipe(other)
      one.on('error', () => {})
      one.once('close', () => {
        open.delete(one)
        other.destroy()
      })
    }
  })
  const cut = () => {
    for (const socket of open) socket.destroy()
  }
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  atEnd(t, () => {
    cut()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    leadTo: next => {
      target = next
      cut()
    },
  }
}

/** The database of the tests' store, and its owner, an ordinary role. */
const database = 'carrel'
const owner = 'carrel:carrel'

/** Returns the address of the store on a server, or at the other end of a line. */
export const storeAt = ({ port }: { readonly port: number }): string =>
  `postgres://${owner}@127.0.0.1:${port}/${database}`

/** Returns that address for a superuser. */
export const asSuperuser = ({ port }: { readonly port: number }): string =>
  `postgres://postgres:postgres@127.0.0.1:${port}/${database}`

/** A stopped cluster with the empty database, made once for all tests of a file. */
let prepared: Promise<PostgresServer> | undefined
after(async () => (await prepared)?.remove())

async function prepare(): Promise<PostgresServer> {
  const server = await startPostgres({ flags: streaming })
  await runSql(server.url, "CREATE ROLE carrel LOGIN PASSWORD 'carrel' CREATEROLE")
  await runSql(server.url, `CREATE DATABASE ${database} OWNER carrel ENCODING 'UTF8' TEMPLATE template0`)
  await server.stop()
  return server
}

/** Copies the files of a server, which must not change meanwhile. */
function copyFiles(from: string, to: string): void {
  execFileSync('cp', ['-a', `${from}/.`, to])
  rmSync(join(to, 'postmaster.pid'), { force: true })
}

const newFolder = (kind: string) => mkdtempSync(join(scratch, `carrel-${kind}-`))

/** Writes a file that belongs to the user that PostgreSQL runs as. */
function writeIn(folder: string, name: string, text: string): void {
  const { uid, gid } = statSync(join(folder, 'PG_VERSION'))
  appendFileSync(join(folder, name), text)
  chownSync(join(folder, name), uid, gid)
}

const follows = (folder: string, port: number, name: string) => {
  writeIn(folder, 'standby.signal', '')
  writeIn(
    folder,
    'postgresql.auto.conf',
    `primary_conninfo = 'host=127.0.0.1 port=${port} user=postgres password=postgres application_name=${name}'\n`,
  )
}

/** A primary with a standby that follows it over a line of its own. */
export interface PrimaryAndStandby {
  readonly primary: PostgresServer
  readonly standby: PostgresServer
  readonly replication: Line
  /** Waits until the standby has everything that the primary has acknowledged so far. */
  caughtUp(): Promise<void>
  /** Sends SIGKILL to all processes of the primary. */
  killPrimary(): Promise<void>
  /** Makes the standby a primary. @returns when it accepts writes */
  promote(): Promise<void>
}

/** @param flags of the primary, such as those of docs/deployment.md */
export async function startWithStandby(
  t: TestContext,
  flags: readonly string[] = [],
): Promise<PrimaryAndStandby> {
  prepared ??= prepare()
  const { folder } = await prepared
  const folders = { primary: newFolder('primary'), standby: newFolder('standby') }
  for (const copy of Object.values(folders)) copyFiles(folder, copy)
  const primary = await startPostgres({ folder: folders.primary, flags: [...streaming, ...flags] })
  atEnd(t, () => primary.remove())
  const replication = await startLine(t, primary)
  follows(folders.standby, replication.port, 'standby')
  const standby = await startPostgres({ folder: folders.standby, flags: followerFlags })
  atEnd(t, () => standby.remove())
  await answers(standby)
  return {
    primary,
    standby,
    replication,
    caughtUp: async () => {
      const written = await askedOf<string>(primary.url, 'CAST(pg_current_wal_lsn() AS text)')
      await until(`a standby that has replayed ${written}`, () =>
        askedOf<boolean>(standby.url, `pg_last_wal_replay_lsn() >= CAST('${written}' AS pg_lsn)`),
      )
    },
    killPrimary: () => killPostgres(primary),
    promote: async () => {
      await runSql(standby.url, 'SELECT pg_promote(true, 120)')
      await until('a promoted standby', () => askedOf<boolean>(standby.url, 'NOT pg_is_in_recovery()'))
    },
  }
}

/** A primary whose files can be copied and put back, with an archive of its log. */
export interface Restorable {
  readonly server: PostgresServer
  /** Copies all files at one moment, as a snapshot of the disk does. */
  snapshot(): Promise<Copy>
  /** Copies all files while the server runs, as a base backup does. */
  baseBackup(): Promise<Copy>
  /** Names the current moment, to which a base backup made before can be recovered. */
  restorePoint(): Promise<string>
}

export interface Copy {
  /** Puts the files in place of the server's, and starts it: it goes on from the moment of the copy. */
  putBack(): Promise<void>
  /** Puts the files in place of the server's, and recovers them up to a restore point, on a new timeline. */
  recoverTo(restorePoint: string): Promise<void>
}

export async function startRestorable(t: TestContext): Promise<Restorable> {
  prepared ??= prepare()
  const folder = newFolder('primary')
  copyFiles((await prepared).folder, folder)
  const archive = newFolder('archive')
  chmodSync(archive, 0o777)
  atEnd(t, () => rmSync(archive, { recursive: true, force: true }))
  const archiving = ['archive_mode=on', `archive_command=test ! -f ${archive}/%f && cp %p ${archive}/%f`]
  const server = await startPostgres({ folder, flags: [...streaming, ...archiving] })
  atEnd(t, () => server.remove())

  const copyOf = (copied: string): Copy => {
    const put = async (change: () => void) => {
      await server.stop()
      for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true })
      copyFiles(copied, folder)
      change()
      await server.start()
    }
    atEnd(t, () => rmSync(copied, { recursive: true, force: true }))
    return {
      putBack: () => put(() => {}),
      recoverTo: async restorePoint => {
        // The archive must have all of the log up to that point.
        await switchLog(server)
        await put(() => {
          writeIn(folder, 'recovery.signal', '')
          const settings = {
            restore_command: `cp ${archive}/%f %p`,
            recovery_target_name: restorePoint,
            recovery_target_action: 'promote',
          }
          for (const [name, value] of Object.entries(settings))
            writeIn(folder, 'postgresql.auto.conf', `${name} = '${value}'\n`)
        })
        await until('the end of the recovery', () => askedOf<boolean>(server.url, 'NOT pg_is_in_recovery()'))
      },
    }
  }
  let points = 0
  return {
    server,
    snapshot: async () => {
      const copied = newFolder('snapshot')
      const goOn = await suspendPostgres(server)
      try {
        copyFiles(folder, copied)
      } finally {
        goOn()
      }
      return copyOf(copied)
    },
    baseBackup: () =>
      withClient(server.url, async client => {
        const copied = newFolder('base')
        await client.query("SELECT pg_backup_start('base', true)")
        copyRunning(folder, copied)
        const { rows } = await client.query<{ labelfile: string }>(
          'SELECT labelfile FROM pg_backup_stop(true)',
        )
        writeIn(copied, 'backup_label', rows[0]?.labelfile ?? '')
        return copyOf(copied)
      }),
    restorePoint: async () => {
      const name = `point ${++points}`
      await runSql(server.url, 'SELECT pg_create_restore_point($1)', [name])
      return name
    },
  }
}

/** Copies the files of a running server. Its log comes from the archive. */
function copyRunning(from: string, to: string): void {
  // Temporary files may vanish meanwhile, of which tar warns.
  execFileSync('sh', [
    '-c',
    'tar -C "$1" --exclude=./postmaster.pid --exclude="./pg_wal/0*" -cf - . 2>/dev/null | tar -C "$2" -xpf -',
    ...['sh', from, to],
  ])
}

/** Ends the current segment of the log. @returns when it is in the archive */
async function switchLog({ url }: PostgresServer): Promise<void> {
  const segment = await askedOf<string>(url, 'pg_walfile_name(pg_switch_wal())')
  await until(`segment ${segment} in the archive`, () =>
    askedOf<boolean>(url, `(SELECT last_archived_wal >= '${segment}' FROM pg_stat_archiver)`),
  )
}
