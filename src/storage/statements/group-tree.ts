import { type Awaitable, andThen } from '../../lib/awaitable.ts'
import { administratorGroup, type Group } from '../../model/accounts.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { Change, Offered, Read } from './statements.ts'
import * as db from './statements.ts'

/** Groups in groups, as SQL (docs/decisions/0039). UNION visits each group once, even on several paths. */

/**
 * A CTE `mine` of the groups that an eperson is in, through any number of levels.
 * @param eperson SQL of the uuid
 */
export const mine = (eperson: string): string => `WITH RECURSIVE mine (id) AS (
  SELECT m.epersongroup FROM membership m WHERE m.eperson = ${eperson}
  UNION SELECT s.parent FROM subgroup s JOIN mine ON s.child = mine.id)`

/** A CTE `below` of these groups and all that are in them. @param groups SQL that selects uuids */
export const below = (groups: string): string => `WITH RECURSIVE below (id) AS (
  ${groups} UNION SELECT s.child FROM subgroup s JOIN below ON s.parent = below.id)`

/** A CTE `above` of these groups and all that they are in. */
export const above = (groups: string): string => `WITH RECURSIVE above (id) AS (
  ${groups} UNION SELECT s.parent FROM subgroup s JOIN above ON s.child = above.id)`

/** The group with the uuid $1. */
export const oneGroup = 'SELECT uuid FROM epersongroup WHERE uuid = $1'

/**
 * Locks groups and memberships until the change ends, and waits for other changes of them. Of two changes
 * that would make a circle together, the later one sees the earlier one, and epersons who join meanwhile get
 * a new stamp. Readers don't wait. Every change of a membership first locks its group's row, and so this
 * table.
 */
export function* lockGroups(): Change<void> {
  yield* db.lock('LOCK TABLE epersongroup IN EXCLUSIVE MODE')
  // `stampBelow` counts changes in this row, and it is locked before sessions (`rights`).
  yield* db.lock('SELECT 1 FROM state FOR NO KEY UPDATE')
}

/** Waits for changes that hold `lockGroups`, and makes later ones wait until this change ends. */
const keepGroups = (): Change<void> => db.lock('LOCK TABLE epersongroup IN ROW SHARE MODE')

/** Counts the levels below or above a group, itself included. Stops at one more than `max`. */
export function* levels(group: string, way: 'below' | 'above', max: number): Read<number> {
  const [from, to] = way === 'below' ? ['parent', 'child'] : ['child', 'parent']
  const found = yield* db.value<number>(
    `WITH RECURSIVE path (id, n) AS (
       SELECT uuid, 1 FROM epersongroup WHERE uuid = $1
       UNION SELECT s.${to}, n + 1 FROM subgroup s JOIN path ON s.${from} = path.id WHERE n <= $2)
     SELECT max(n) AS levels FROM path`,
    group,
    max,
  )
  return found ?? 1
}

/**
 * True if at least one enabled eperson is an administrator.
 * @param without the uuid of an eperson or a group to leave out
 */
export function* hasAdministrator(without = ''): Read<boolean> {
  const found = yield* db.row(
    `WITH RECURSIVE below (id) AS (
       SELECT uuid FROM epersongroup WHERE name = $1
       UNION SELECT s.child FROM subgroup s JOIN below ON s.parent = below.id WHERE s.child <> $2)
     SELECT 1 AS one FROM below JOIN membership m ON m.epersongroup = below.id
       JOIN eperson e ON e.uuid = m.eperson WHERE e.enabled = 1 AND e.uuid <> $2 LIMIT 1`,
    administratorGroup,
    without,
  )
  return found !== undefined
}

/**
 * Takes a change back if it leaves the service without an enabled administrator.
 * @param mayEnd true if the change could take the rights of an administrator
 * @param refusal the result of a change that is taken back
 */
export function* keepingAdministrator<T, R = 'last-administrator'>(
  mayEnd: boolean,
  event: AuditEvent,
  change: Change<T>,
  refusal = 'last-administrator' as R,
): Change<T | R> {
  // Two changes at once could each leave a different administrator: the lock makes the later one see the
  // earlier one.
  yield* mayEnd ? lockGroups() : keepGroups()
  yield* db.rights(event, 'own')
  // Without any administrator before, there is nothing to protect.
  const mustStay = mayEnd && (yield* hasAdministrator())
  const result = yield* change
  if (mustStay && !(yield* hasAdministrator())) throw new db.TakenBack(refusal)
  return result
}

/**
 * Gives every eperson below a group a new stamp. If the group or one below it may be a special group in a
 * token, it is unknown whose token that is, so every eperson gets one.
 */
export function* stampBelow(group: string): Change<void> {
  const special = yield* db.row(
    `${below(oneGroup)} SELECT 1 AS one FROM below JOIN epersongroup g ON g.uuid = below.id
     WHERE g.special = 1 LIMIT 1`,
    group,
  )
  if (special) {
    yield* stampAll()
    return
  }
  yield* groupsChanged()
  yield* db.run(
    `UPDATE eperson SET stamp = $2 WHERE uuid IN (
       ${below(oneGroup)} SELECT m.eperson FROM below JOIN membership m ON m.epersongroup = below.id)`,
    group,
    yield* db.nextStamp(),
  )
}

/** Gives every eperson a new stamp: a token of any of them may have a group as a special group (G2). */
export function* stampAll(): Change<void> {
  yield* groupsChanged()
  yield* db.run('UPDATE eperson SET stamp = $1', yield* db.nextStamp())
}

const groupsChanged = (): Change<number> => db.run('UPDATE state SET groups = groups + 1')

export const groupTree = {
  reads: {
    /** The groups and all that they are in, through any number of levels, current on every node. */
    *withParents(groups: readonly Group[]): Read<readonly Group[]> {
      const given = new Set(groups.map(({ uuid }) => uuid))
      return [...groups, ...(yield* allAbove([...given])).filter(({ uuid }) => !given.has(uuid))]
    },
  },
  changes: {},
}

export type GroupTree = Offered<typeof groupTree>

/** The groups with these uuids, in this order, and then all groups that they are in, by name. */
export function* groupsByUuid(uuids: readonly string[]): Read<readonly Group[]> {
  const all = yield* allAbove(uuids)
  const given = uuids.flatMap(uuid => all.find(group => group.uuid === uuid) ?? [])
  return [...given, ...all.filter(({ uuid }) => !uuids.includes(uuid))]
}

const allAbove = (uuids: readonly string[]): Read<readonly Group[]> =>
  db.rows(
    `${above('SELECT uuid FROM epersongroup WHERE uuid = ANY($1)')} SELECT g.uuid, g.name FROM above
       JOIN epersongroup g ON g.uuid = above.id ORDER BY g.name`,
    uuids,
  )

type Groups = readonly Group[]

/** The maximum number of sets of groups that are kept with their parents. */
const maxKept = 1_000

/**
 * Caches sets of groups with all groups that they are in, by the uuids asked for, until a group changes.
 * @param stateOf returns a number that changes when groups do
 */
export function keepParents(
  stateOf: () => Awaitable<number>,
  read: (groups: Groups) => Awaitable<Groups>,
): (groups: Groups) => Awaitable<Groups> {
  const kept = new Map<string, Groups>()
  /** The state before `kept` was read. */
  let keptState = -1

  function find(groups: Groups, state: number): Awaitable<Groups> {
    if (state !== keptState || kept.size >= maxKept) kept.clear()
    keptState = state
    const asked = groups.map(({ uuid }) => uuid).join()
    const keep = (found: Groups): Groups => {
      // The groups were read after their state, so they are at least as new.
      if (keptState === state) kept.set(asked, found)
      return found
    }
    const known = kept.get(asked)
    if (known) return known
    return andThen(read(groups), keep)
  }

  return groups => {
    if (groups.length === 0) return groups
    const state = stateOf()
    return typeof state === 'number' ? find(groups, state) : state.then(now => find(groups, now))
  }
}
