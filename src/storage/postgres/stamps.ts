import { RightsChanged } from '../../model/errors.ts'
import type { Relying, SessionLock } from '../statements/statements.ts'
import type { Queries } from './driver.ts'

const locks = { shared: 'FOR SHARE', own: 'FOR NO KEY UPDATE' } as const

/**
 * Keeps the sessions that a change relies on as they are until the transaction ends (T12). Locks are taken in this order
 * everywhere, so that no two transactions wait for each other: the groups, the row of the store's state, these, all others.
 * @throws RightsChanged unless they are as they were when the request was admitted
 */
export async function requireRights(
  db: Queries,
  event: Relying,
  lock: SessionLock = 'shared',
): Promise<void> {
  if (!(await haveRights(db, [event], lock))[0]) throw new RightsChanged()
}

/** Does the same for several changes at once. @returns for each change, true if its sessions are as they were */
export async function haveRights(
  db: Queries,
  events: readonly Relying[],
  lock: SessionLock = 'shared',
): Promise<readonly boolean[]> {
  const relied = events.flatMap(({ reliesOn = [] }) => reliesOn)
  if (relied.length === 0) return events.map(() => true)
  const rows = await db.rows<{ uuid: string; stamp: number }>(
    `SELECT uuid, stamp FROM eperson WHERE uuid = ANY($1) AND enabled = 1 ORDER BY uuid ${locks[lock]}`,
    [...new Set(relied.map(({ uuid }) => uuid))],
  )
  const stamps = new Map(rows.map(({ uuid, stamp }) => [uuid, stamp]))
  return events.map(({ reliesOn = [] }) => reliesOn.every(({ uuid, stamp }) => stamps.get(uuid) === stamp))
}
