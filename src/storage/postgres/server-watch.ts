import { StoreUnavailable } from '../../lib/errors.ts'
import type { Shared } from '../runtime/event-loops.ts'
import { codeOf } from './errors.ts'
import { type Reads, type ServerWatch, standbyRefused } from './servers.ts'

interface Server {
  /** Half of the number of the cluster, which a standby and all restored copies share; 0 if the server doesn't tell. */
  readonly system: bigint
  /** A promotion and each recovery to a point in time begin a new one; 0 if the server doesn't tell. */
  readonly timeline: number
  /** Names the server, its history and the tables of the store. A restart changes it, too. */
  readonly mark: string
}

/**
 * Returns the watch of one event loop, for all its connections to the primary.
 * @param newest a number that the event loops of the process share: the newest server that any of them has seen
 */
export function createServerWatch(newest: Shared['newestServer']): ServerWatch {
  let current: Server | undefined
  let generation = 0

  /** The timeline of the server as far as this process knows; 0: it has not seen the server. */
  function seenTimeline({ system }: Server): number {
    const seen = Atomics.load(newest, 0)
    return seen >> 32n === system ? Number(seen & 0xffffffffn) : 0
  }

  function requireNewest(found: Server): void {
    const seen = seenTimeline(found)
    if (found.timeline < seen)
      throw new StoreUnavailable(
        `the database is on timeline ${found.timeline}, and this node has seen it on timeline ${seen}: this is a primary from before a failover; point CARREL_DATABASE_URL to the new one, or restart the service to use this one`,
      )
  }

  return {
    get generation() {
      // Another event loop has met the new primary, and connections of this one lead to the old one.
      return current && seenTimeline(current) > current.timeline ? generation + 1 : generation
    },
    admit: async db => {
      const found = await look(db)
      requireNewest(found)
      if (found.mark !== found.stored) await register(db, found)
      // Another event loop may have met a newer primary meanwhile.
      requireNewest(found)
      if (found.mark !== current?.mark) {
        current = found
        Atomics.store(newest, 0, packed(found))
        generation++
      }
      return generation
    },
  }
}

/** Returns a watch for connections whose role doesn't see the store: they are replaced when the others are. */
export const followed = (watch: ServerWatch): ServerWatch => ({
  get generation() {
    return watch.generation
  },
  admit: async () => watch.generation,
})

/** The system and the timeline, 32 bits each: both must be read at once. */
const packed = ({ system, timeline }: Server): bigint => (system << 32n) | BigInt(timeline)

const lookSql = (system: string, timeline: string, started: string) =>
  `SELECT pg_is_in_recovery() AS standby, ${system} AS system, ${timeline} AS timeline, ${started} AS started,
     (SELECT d.oid || '.' || v.tableoid FROM store_schema v, pg_database d WHERE d.datname = current_database())
       AS tables, s.server AS stored FROM state s`

const started = 'CAST(extract(epoch FROM pg_postmaster_start_time()) AS text)'
const whole = lookSql(
  '(SELECT CAST(system_identifier AS text) FROM pg_control_system())',
  // The one that is being written. The control file only learns of it with the first checkpoint after a promotion.
  "CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END",
  started,
)
/** For servers that don't know these functions, or keep them from ordinary roles. */
const partial = lookSql("''", "''", started)
const lacksFunction = /^(42883|42501|0A000|55000)$/

interface Look {
  readonly [column: string]: unknown
  readonly standby: boolean
  readonly system: string
  readonly timeline: string
  readonly started: string
  readonly tables: string
  readonly stored: string
}

async function look(db: Reads): Promise<Server & { readonly stored: string }> {
  const [row] = await db.rows<Look>(whole).catch((error: unknown) => {
    if (lacksFunction.test(codeOf(error) ?? '')) return db.rows<Look>(partial)
    throw error
  })
  if (!row) throw new StoreUnavailable('the store has lost its state row: restore the database from a backup')
  const { standby, system, timeline, started, tables, stored } = row
  if (standby) throw new StoreUnavailable(standbyRefused)
  const mark = [system, timeline, started, tables].join('/')
  const half = BigInt.asIntN(32, BigInt(system))
  return { system: half, timeline: Number.parseInt(timeline || '0', 16), mark, stored }
}

/**
 * Notes in the store which server it is on. Numbers that may have been given before are not given again, so nothing that
 * anybody holds of a lost state is taken for something else. A connection that finds the mark waits here for the one
 * that sets it, and so nothing is written before.
 */
async function register(db: Reads, { mark, stored }: Server & { readonly stored: string }): Promise<void> {
  await db.rows(
    `WITH moved AS (
       UPDATE state SET server = $1, audiences = audiences + 1000000, entities = ${beyond('entities')},
         secrets = ${beyond('secrets')}, groups = ${beyond('groups')}
       WHERE server = $2 RETURNING server)
     SELECT ${['stamp', 'record_number'].map(name => `setval('${name}', ${beyond(`nextval('${name}')`)})`)} FROM moved`,
    mark,
    stored,
  )
}

/** No store makes as many changes as time has microseconds (as in storage/copy/restored.ts). */
const beyond = (number: string): string =>
  `greatest(${number} + 1000000000, CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint))`
