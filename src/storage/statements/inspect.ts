import { administratorGroup } from '../../model/accounts.ts'
import { type StoreFacts, searchedEvents, type TokenHolder } from '../inspection.ts'
import { below } from './group-tree.ts'
import { heldSize } from './held-versions.ts'
import { trail } from './prune-trail.ts'
import type { Read } from './statements.ts'
import * as db from './statements.ts'

type Facts = Pick<
  StoreFacts,
  | 'administrators'
  | 'newestEvent'
  | 'newestBackup'
  | 'repeatedEvents'
  | 'heldVersions'
  | 'tokensWithoutFactor'
  | 'hasFiles'
>

/**
 * Facts that are read in the same way on both engines.
 * @param isCurrent false if the schema may be another one
 */
export function* factsOf(isCurrent: boolean): Read<Facts> {
  const administrators = yield* db.value<number>(
    `${below('SELECT uuid FROM epersongroup WHERE name = $1')} SELECT count(DISTINCT e.uuid) AS count FROM below
       JOIN membership m ON m.epersongroup = below.id JOIN eperson e ON e.uuid = m.eperson WHERE e.enabled = 1`,
    administratorGroup,
  )
  const event = yield* db.value<string>('SELECT time FROM event ORDER BY id DESC LIMIT 1')
  const backup = yield* db.value<string | null>(
    `SELECT max(time) AS time FROM (SELECT time, event, outcome FROM event ORDER BY id DESC LIMIT ${searchedEvents}) recent
     WHERE event = 'store.backup' AND outcome = 'success'`,
  )
  const file = isCurrent ? yield* db.row('SELECT 1 AS one FROM bitstream LIMIT 1') : undefined
  return {
    administrators: administrators ?? 0,
    newestEvent: toTime(event),
    newestBackup: toTime(backup),
    repeatedEvents: isCurrent ? yield* trail.reads.size() : null,
    heldVersions: isCurrent ? yield* heldSize() : null,
    tokensWithoutFactor: isCurrent ? yield* tokensWithoutFactor() : null,
    hasFiles: file !== undefined,
  }
}

function* tokensWithoutFactor(): Read<readonly TokenHolder[]> {
  const found = yield* db.rows<{ email: string; administrator: number }>(
    `${below('SELECT uuid FROM epersongroup WHERE name = $1')} SELECT e.email,
       CASE WHEN EXISTS (SELECT 1 FROM below JOIN membership m ON m.epersongroup = below.id WHERE m.eperson = e.uuid)
         THEN 1 ELSE 0 END AS administrator FROM eperson e
     WHERE e.enabled = 1 AND NOT EXISTS (SELECT 1 FROM factor f WHERE f.eperson = e.uuid) AND EXISTS
       (SELECT 1 FROM access_token t WHERE t.eperson = e.uuid AND t.password_stamp = e.password_stamp AND t.expires > $2)
     ORDER BY e.email LIMIT 1000`,
    administratorGroup,
    yield* db.clock(),
  )
  return found.map(({ email, administrator }) => ({ email, isAdministrator: administrator === 1 }))
}

/** @returns ms since 1970; null without a time */
export function toTime(text: string | null | undefined): number | null {
  const time = Date.parse(text ?? '')
  return Number.isNaN(time) ? null : time
}
