import type { AuditEvent } from '../../model/audit-events.ts'
import { RightsChanged } from '../../model/errors.ts'
import type { Connection, Pool, Queries } from './driver.ts'

/** What tells every node that it must not keep using what it cached of an eperson. */
export const changeStamp = (db: Queries, uuid: string): Promise<number> =>
  db.run("UPDATE eperson SET stamp = nextval('stamp') WHERE uuid = $1", uuid)

/** Ends every login token, and what was made from one. $1: 32 random bytes. */
export const replaceSessionKey = "session_key = $1, stamp = nextval('stamp')"

type Relying = Pick<AuditEvent, 'reliesOn'>

/**
 * The lock on the sessions that a change relies on, so that none of them ends before it is committed. `shared`: for
 * changes that touch no eperson, of which several may be under way. `own`: for those that may change the caller, too.
 */
type SessionLock = 'shared' | 'own'
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

/** Runs a change in a transaction, with the rights that it relies on. */
export const changing = <T>(
  pool: Pool,
  event: Relying,
  lock: SessionLock,
  change: (db: Connection) => Promise<T>,
): Promise<T> =>
  pool.transaction(async db => {
    await requireRights(db, event, lock)
    return change(db)
  })
