import { administratorGroup } from '../../model/accounts.ts'
import { type StoreFacts, searchedEvents } from '../inspection.ts'
import { below } from './group-tree.ts'
import { heldSize } from './held-versions.ts'
import { trail } from './prune-trail.ts'
import { type Read, row } from './statements.ts'

type Facts = Pick<
  StoreFacts,
  'administrators' | 'newestEvent' | 'newestBackup' | 'repeatedEvents' | 'heldVersions' | 'hasFiles'
>

/**
 * Facts that are read in the same way on both engines.
 * @param isCurrent false if the schema may be another one
 */
export function* factsOf(isCurrent: boolean): Read<Facts> {
  const administrators = yield* row<{ count: number }>(
    `${below('SELECT uuid FROM epersongroup WHERE name = $1')} SELECT count(DISTINCT e.uuid) AS count FROM below
       JOIN membership m ON m.epersongroup = below.id JOIN eperson e ON e.uuid = m.eperson WHERE e.enabled = 1`,
    administratorGroup,
  )
  const event = yield* row<{ time: string }>('SELECT time FROM event ORDER BY id DESC LIMIT 1')
  const backup = yield* row<{ time: string | null }>(
    `SELECT max(time) AS time FROM (SELECT time, event, outcome FROM event ORDER BY id DESC LIMIT ${searchedEvents}) recent
     WHERE event = 'store.backup' AND outcome = 'success'`,
  )
  const file = isCurrent ? yield* row('SELECT 1 AS one FROM bitstream LIMIT 1') : undefined
  return {
    administrators: administrators?.count ?? 0,
    newestEvent: toTime(event?.time),
    newestBackup: toTime(backup?.time),
    repeatedEvents: isCurrent ? yield* trail.reads.size() : null,
    heldVersions: isCurrent ? yield* heldSize() : null,
    hasFiles: file !== undefined,
  }
}

/** @returns ms since 1970; null without a time */
export function toTime(text: string | null | undefined): number | null {
  const time = Date.parse(text ?? '')
  return Number.isNaN(time) ? null : time
}
