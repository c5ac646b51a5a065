import type { Membership } from '../accounts.ts'
import {
  type Found,
  keptFor,
  maxChanges,
  maxNamed,
  type PeopleNames,
  peopleNames,
} from '../statements/people-names.ts'
import type { Window } from '../window.ts'
import type { Pool } from './driver.ts'

/** The list of names that an event loop keeps, to search in (docs/decisions/0048). */
export interface KeptNames {
  /**
   * As the store has them now.
   * @param text a part of a name, or a whole uuid
   * @returns undefined where there are too many epersons for a list
   */
  find(text: string, window: Window, who: Membership | undefined): Promise<Found | undefined>
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
  /** How many groups were read into it. */
  kept: number
  /** How often it was asked what has changed, and which of these answers was set last. */
  asked: number
  set: number
}

type State = { snapshot: string; now: number; people: number; also: string | null }
type Changed = State & { email_key: string | null; name_key: string | null; groups: readonly string[] }

const state = `CAST(pg_current_snapshot() AS TEXT) AS snapshot, CAST(extract(epoch FROM now()) * 1000 AS BIGINT) AS now,
  (SELECT CAST(coalesce(sum(n), 0) AS BIGINT) FROM eperson_count) AS people`

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
        'SELECT email_key, name_key FROM eperson WHERE email_key > $1 ORDER BY email_key LIMIT $2',
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
    return { names, snapshot: before.snapshot, now: before.now, kept: 0, asked: 0, set: 0 }
  }

  async function loaded(): Promise<List | undefined> {
    loading ??= load().finally(() => {
      loading = undefined
    })
    list = await loading
    return list
  }

  /** By group: searches at the same time read its members once. */
  const keeping = new Map<string, Promise<void>>()
  async function keep(known: List, group: string): Promise<void> {
    const { snapshot } = known
    // One value: the driver would make an object of each row.
    const [row] = await pool.rows<{ emails: string }>(
      `SELECT CAST(coalesce(json_agg(e.email_key ORDER BY e.email_key), '[]') AS TEXT) AS emails
       FROM membership m JOIN eperson e ON e.uuid = m.eperson WHERE m.epersongroup = $1`,
      group,
    )
    known.names.keep(group, JSON.parse(row?.emails ?? '[]') as string[])
    known.kept++
    // What has changed meanwhile was set without this group, so it is asked for once more.
    known.snapshot = snapshot
  }
  async function kept(known: List, group: string): Promise<void> {
    if (known.names.keeps(group)) return
    const work = keeping.get(group) ?? keep(known, group).finally(() => keeping.delete(group))
    keeping.set(group, work)
    await work
  }

  /**
   * Brings those who have changed since the list's snapshot up to date. Of searches at the same time, one that was asked for
   * later has what an earlier one would set, too.
   * @returns what else was asked for; undefined if everything has to be read again
   */
  async function catchUp(known: List, uuid: string): Promise<State | undefined> {
    const turn = ++known.asked
    const { kept } = known
    const rows = await pool.rows<Changed>(
      `SELECT ${state}, (SELECT email_key FROM eperson WHERE uuid = $2) AS also, changed.email_key, e.name_key,
         ARRAY(SELECT m.epersongroup FROM membership m
               WHERE m.eperson = e.uuid AND m.epersongroup = ANY($4)) AS groups
       FROM (VALUES (1)) AS one LEFT JOIN (
         SELECT DISTINCT email_key FROM eperson_renamed
         WHERE transaction >= pg_snapshot_xmin($1::pg_snapshot) AND NOT pg_visible_in_snapshot(transaction, $1::pg_snapshot)
         LIMIT $3) AS changed ON true
       LEFT JOIN eperson e ON e.email_key = changed.email_key`,
      known.snapshot,
      uuid,
      maxChanges + 1,
      known.names.groups,
    )
    const [first] = rows
    if (!first || rows.length > maxChanges || Math.abs(first.now - known.now) > maxPause) return undefined
    if (turn < known.set) return first
    if (kept !== known.kept) return catchUp(known, uuid)
    known.set = turn
    for (const { email_key, name_key, groups } of rows)
      if (email_key !== null) known.names.set(email_key, name_key, groups)
    known.snapshot = first.snapshot
    known.now = first.now
    // Another database stands at the address, as after a restore.
    return known.names.size === first.people ? first : undefined
  }

  return {
    find: async (text, window, who) => {
      if (performance.now() < noneUntil) return undefined
      forget.refresh()
      for (const known of [list, undefined]) {
        const current = known ?? (await loaded())
        if (current && who) await kept(current, who.group)
        const state = current && (await catchUp(current, text))
        if (!state) continue
        const { names } = current
        // Others have asked for many groups meanwhile.
        if (names.isTooLarge || (who && !names.keeps(who.group))) return undefined
        return names.find(text, window, state.also ?? undefined, who)
      }
      return undefined
    },
  }
}
