import { keptFor, maxChanges, maxNamed, type PeopleNames, peopleNames } from '../shared/people-names.ts'
import type { Pool } from './driver.ts'

/** The list of names that an event loop keeps, to search in (docs/decisions/0048). */
export interface KeptNames {
  /**
   * As the store has them now.
   * @param uuid whose address is wanted, too
   * @returns undefined where there are too many epersons for a list
   */
  current(uuid: string): Promise<{ readonly names: PeopleNames; readonly also?: string } | undefined>
}

/** How many are read at a time, so that the event loop does something else in between. */
const atOnce = 2_000
/** Changes are kept for a day. A machine that slept for longer than this, in ms, reads everything again. */
const maxPause = 12 * 3_600_000

interface List {
  readonly names: PeopleNames
  /** The last one whose changes are in it. */
  snapshot: string
  /** When that was, by the database's clock. */
  now: number
}

type State = { snapshot: string; now: number; people: number; also: string | null }
type Changed = State & { email_key: string | null; name_key: string | null }

const state = `CAST(pg_current_snapshot() AS TEXT) AS snapshot, CAST(extract(epoch FROM now()) * 1000 AS BIGINT) AS now,
  (SELECT CAST(coalesce(sum(n), 0) AS BIGINT) FROM carrel.eperson_count) AS people`

export function keepNames(pool: Pool): KeptNames {
  let list: List | undefined
  let loading: Promise<List | undefined> | undefined
  /** Everything was read, and was too large for a list. */
  let noneUntil = 0
  const forget = setTimeout(() => {
    list = undefined
  }, keptFor).unref()

  async function load(): Promise<List | undefined> {
    const [before] = await pool.rows<State>(`SELECT ${state}`)
    if (!before || before.people > maxNamed) return undefined
    const names = peopleNames()
    for (let after = ''; ; ) {
      const rows = await pool.rows<{ email_key: string; name_key: string }>(
        'SELECT email_key, name_key FROM carrel.eperson WHERE email_key > $1 ORDER BY email_key LIMIT $2',
        after,
        atOnce,
      )
      for (const { email_key, name_key } of rows) names.append(email_key, name_key)
      if (names.isTooLarge) {
        noneUntil = performance.now() + keptFor
        return undefined
      }
      if (rows.length < atOnce) break
      after = rows.at(-1)?.email_key ?? ''
    }
    return { names, snapshot: before.snapshot, now: before.now }
  }

  async function loaded(): Promise<List | undefined> {
    loading ??= load().finally(() => {
      loading = undefined
    })
    list = await loading
    return list
  }

  /**
   * Brings those who have changed since the list's snapshot up to date. Searches at the same time may do so in any
   * order: what is set again is the same or newer, and the list goes on from the snapshot that was set last.
   * @returns what else was asked for; undefined if everything has to be read again
   */
  async function catchUp(known: List, uuid: string): Promise<State | undefined> {
    const rows = await pool.rows<Changed>(
      `SELECT ${state}, (SELECT email_key FROM carrel.eperson WHERE uuid = $2) AS also, changed.email_key, e.name_key
       FROM (VALUES (1)) AS one LEFT JOIN (
         SELECT DISTINCT email_key FROM carrel.eperson_renamed
         WHERE transaction >= pg_snapshot_xmin($1::pg_snapshot) AND NOT pg_visible_in_snapshot(transaction, $1::pg_snapshot)
         LIMIT $3) AS changed ON true
       LEFT JOIN carrel.eperson e ON e.email_key = changed.email_key`,
      known.snapshot,
      uuid,
      maxChanges + 1,
    )
    const [first] = rows
    if (!first || rows.length > maxChanges || Math.abs(first.now - known.now) > maxPause) return undefined
    for (const { email_key, name_key } of rows) if (email_key !== null) known.names.set(email_key, name_key)
    known.snapshot = first.snapshot
    known.now = first.now
    // Another database stands at the address, as after a restore.
    return known.names.size === first.people ? first : undefined
  }

  return {
    current: async uuid => {
      if (performance.now() < noneUntil) return undefined
      forget.refresh()
      for (const known of [list, undefined]) {
        const current = known ?? (await loaded())
        const found = current && (await catchUp(current, uuid))
        if (found && current.names.isTooLarge) return undefined
        if (found) return { names: current.names, ...(found.also !== null && { also: found.also }) }
      }
      return undefined
    },
  }
}
