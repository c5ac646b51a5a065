import { administratorGroup, type Group } from '../../model/accounts.ts'
import type { Queries } from './driver.ts'

/** Groups in groups, as SQL (docs/decisions/0039). UNION visits each group once, whatever leads to it. */

/** A CTE `mine` of the groups that an eperson is in, through any number of levels. @param eperson SQL of the uuid */
export const mine = (eperson: string): string => `WITH RECURSIVE mine (id) AS (
  SELECT m.epersongroup FROM membership m WHERE m.eperson = ${eperson}
  UNION SELECT s.parent FROM subgroup s JOIN mine ON s.child = mine.id)`

/** A CTE `below` of these groups and all that are in them. @param groups SQL that selects uuids */
export const below = (groups: string): string => `WITH RECURSIVE below (id) AS (
  ${groups} UNION SELECT s.child FROM subgroup s JOIN below ON s.parent = below.id)`

/** A CTE `above` of these groups and all that they are in. */
export const above = (groups: string): string => `WITH RECURSIVE above (id) AS (
  ${groups} UNION SELECT s.parent FROM subgroup s JOIN above ON s.child = above.id)`

/**
 * Waits until nobody else changes groups or memberships, and keeps them waiting until the transaction ends: of two changes
 * that would make a circle together, the later one sees the earlier one, and those who join meanwhile are stamped. Readers
 * don't wait. Every change of a membership locks its group's row, and so this table, first.
 */
export async function lockGroups(db: Queries): Promise<void> {
  await db.run('LOCK TABLE epersongroup IN EXCLUSIVE MODE')
  // Its count of changes grows with them (`stampBelow`), and it comes before sessions (`requireRights`).
  await db.rows('SELECT 1 FROM state FOR NO KEY UPDATE')
}

/** Waits until nobody changes all groups, and keeps those who would waiting until the transaction ends. */
export const keepGroups = (db: Queries): Promise<unknown> =>
  db.run('LOCK TABLE epersongroup IN ROW SHARE MODE')

/** How many levels there are below a group, or above it, itself included. */
export async function levels(
  db: Queries,
  group: string,
  way: 'below' | 'above',
  max: number,
): Promise<number> {
  const [from, to] = way === 'below' ? ['parent', 'child'] : ['child', 'parent']
  const [row] = await db.rows<{ levels: number }>(
    `WITH RECURSIVE path (id, n) AS (
       SELECT $1::text COLLATE "C", 1 UNION
       SELECT s.${to}, n + 1 FROM subgroup s JOIN path ON s.${from} = path.id WHERE n <= $2::integer)
     SELECT max(n) AS levels FROM path`,
    group,
    max,
  )
  return row?.levels ?? 1
}

/**
 * Whether anybody who may log in is an administrator.
 * @param without the uuid of an eperson or a group, as if there were none
 */
export const hasAdministrator = async (db: Queries, without = ''): Promise<boolean> =>
  (
    await db.rows(
      `WITH RECURSIVE below (id) AS (
         SELECT uuid FROM epersongroup WHERE name = $1
         UNION SELECT s.child FROM subgroup s JOIN below ON s.parent = below.id WHERE s.child <> $2)
       SELECT 1 AS one FROM below JOIN membership m ON m.epersongroup = below.id
         JOIN eperson e ON e.uuid = m.eperson WHERE e.enabled = 1 AND e.uuid <> $2 LIMIT 1`,
      administratorGroup,
      without,
    )
  ).length > 0

const stamped = "UPDATE eperson SET stamp = nextval('stamp')"
const given = 'SELECT $1::text COLLATE "C"'

/**
 * Gives everybody below a group a new stamp. If it, or one below it, may be a special group in a token, nobody knows whose
 * token that is, so everybody gets one.
 */
export async function stampBelow(db: Queries, group: string): Promise<void> {
  await db.run('UPDATE state SET groups = groups + 1')
  const special = await db.rows(
    `${below(given)} SELECT 1 AS one FROM below JOIN epersongroup g ON g.uuid = below.id
     WHERE g.special = 1 LIMIT 1`,
    group,
  )
  if (special.length > 0) await db.run(stamped)
  else
    await db.run(
      `${stamped} WHERE uuid IN (
         ${below(given)} SELECT m.eperson FROM below JOIN membership m ON m.epersongroup = below.id)`,
      group,
    )
}

/** The groups, and everything that they are in. */
export async function withParents(db: Queries, groups: readonly Group[]): Promise<readonly Group[]> {
  const given = groups.map(({ uuid }) => uuid)
  const parents = await db.rows<Group & Record<string, unknown>>(
    `${above('SELECT unnest($1::text[]) COLLATE "C"')} SELECT g.uuid, g.name FROM above
       JOIN epersongroup g ON g.uuid = above.id ORDER BY g.name`,
    given,
  )
  return [...groups, ...parents.filter(({ uuid }) => !given.includes(uuid))]
}
