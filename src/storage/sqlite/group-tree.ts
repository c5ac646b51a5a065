import { administratorGroup, type Group } from '../../model/accounts.ts'
import type { Database } from './driver.ts'
import { nextStamp } from './stamps.ts'

/** Groups in groups, as SQL (docs/decisions/0039). UNION visits each group once, whatever leads to it. */

/** A CTE `mine` of the groups that an eperson is in, through any number of levels. @param eperson SQL of the uuid */
export const mine = (eperson: string): string => `WITH RECURSIVE mine (id) AS (
  SELECT epersongroup FROM membership WHERE membership.eperson = ${eperson}
  UNION SELECT parent FROM subgroup JOIN mine ON child = id)`

/** A CTE `below` of these groups and all that are in them. @param groups SQL that selects uuids */
export const below = (groups: string): string => `WITH RECURSIVE below (id) AS (
  ${groups} UNION SELECT child FROM subgroup JOIN below ON parent = id)`

/** A CTE `above` of these groups and all that they are in. */
export const above = (groups: string): string => `WITH RECURSIVE above (id) AS (
  ${groups} UNION SELECT parent FROM subgroup JOIN above ON child = id)`

/** How many levels there are below a group, or above it, itself included. */
export const levels = (db: Database, group: string, way: 'below' | 'above', max: number): number => {
  const [from, to] = way === 'below' ? ['parent', 'child'] : ['child', 'parent']
  return (
    db.get<{ levels: number }>(
      `WITH RECURSIVE path (id, n) AS (
         SELECT ?, 1 UNION SELECT ${to}, n + 1 FROM subgroup JOIN path ON ${from} = id WHERE n <= ?)
       SELECT max(n) AS levels FROM path`,
      group,
      max,
    )?.levels ?? 1
  )
}

/**
 * Whether anybody who may log in is an administrator.
 * @param without the uuid of an eperson or a group, as if there were none
 */
export const hasAdministrator = (db: Database, without = ''): boolean =>
  db.get(
    `WITH RECURSIVE below (id) AS (
       SELECT uuid FROM epersongroup WHERE name = ?1
       UNION SELECT child FROM subgroup JOIN below ON parent = id WHERE child <> ?2)
     SELECT 1 FROM below JOIN membership ON epersongroup = id JOIN eperson e ON e.uuid = membership.eperson
     WHERE e.enabled = 1 AND e.uuid <> ?2 LIMIT 1`,
    administratorGroup,
    without,
  ) !== undefined

/**
 * Gives everybody below a group a new stamp. If it, or one below it, may be a special group in a token, nobody knows whose
 * token that is, so everybody gets one.
 */
export function stampBelow(db: Database, group: string): void {
  const stamp = nextStamp(db)
  const special = db.get(
    `${below('SELECT ?')} SELECT 1 FROM below JOIN epersongroup ON uuid = id WHERE special = 1 LIMIT 1`,
    group,
  )
  if (special) db.run('UPDATE eperson SET stamp = ?', stamp)
  else
    db.run(
      `UPDATE eperson SET stamp = ?1 WHERE uuid IN (
         ${below('SELECT ?2')} SELECT membership.eperson FROM below JOIN membership ON epersongroup = id)`,
      stamp,
      group,
    )
}

/** The groups, and everything that they are in. */
export function withParents(db: Database, groups: readonly Group[]): readonly Group[] {
  if (!db.get('SELECT 1 FROM subgroup LIMIT 1')) return groups
  const given = new Set(groups.map(({ uuid }) => uuid))
  const parents = db.all<Group & Record<string, unknown>>(
    `${above('SELECT value FROM json_each(?)')} SELECT uuid, name FROM above
       JOIN epersongroup ON uuid = id ORDER BY name`,
    JSON.stringify([...given]),
  )
  return [...groups, ...parents.filter(({ uuid }) => !given.has(uuid)).map(row => ({ ...row }))]
}
