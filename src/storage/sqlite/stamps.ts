import type { AuditEvent } from '../../model/audit-events.ts'
import { RightsChanged } from '../../model/errors.ts'
import type { Database } from './driver.ts'

/** What tells every reader that it must not keep using what it cached of an eperson. */
export function nextStamp(db: Database): number {
  const row = db.get<{ stamp: number }>('UPDATE stamp SET last = last + 1 RETURNING last AS stamp')
  if (!row) throw new Error('the store has lost its row of stamps')
  return row.stamp
}

/** @throws RightsChanged unless the sessions that a change relies on are as they were when its request was admitted (T12) */
export function requireRights(db: Database, event: Pick<AuditEvent, 'reliesOn'>): void {
  if (!hasRights(db, event)) throw new RightsChanged()
}

export const hasRights = (db: Database, { reliesOn = [] }: Pick<AuditEvent, 'reliesOn'>): boolean =>
  reliesOn.every(({ uuid, stamp }) => {
    const row = db.get<{ stamp: number }>('SELECT stamp FROM eperson WHERE uuid = ? AND enabled = 1', uuid)
    return row?.stamp === stamp
  })
