import { administratorGroup } from '../../model/accounts.ts'
import { type StoreFacts, searchedEvents } from '../inspection.ts'
import { count, type Read, row } from './statements.ts'

type Facts = Pick<StoreFacts, 'administrators' | 'newestEvent' | 'newestBackup' | 'hasFiles'>

/**
 * Facts that are read in the same way on both engines.
 * @param isCurrent false if the schema may be another one
 */
export function* factsOf(isCurrent: boolean): Read<Facts> {
  const administrators = yield* count(
    `eperson e JOIN membership m ON m.eperson = e.uuid
       JOIN epersongroup g ON g.uuid = m.epersongroup WHERE g.name = $1 AND e.enabled = 1`,
    administratorGroup,
  )
  const event = yield* row<{ time: string }>('SELECT time FROM event ORDER BY id DESC LIMIT 1')
  const backup = yield* row<{ time: string | null }>(
    `SELECT max(time) AS time FROM (SELECT time, event, outcome FROM event ORDER BY id DESC LIMIT ${searchedEvents}) recent
     WHERE event = 'store.backup' AND outcome = 'success'`,
  )
  const file = isCurrent ? yield* row('SELECT 1 AS one FROM bitstream LIMIT 1') : undefined
  return {
    administrators,
    newestEvent: toTime(event?.time),
    newestBackup: toTime(backup?.time),
    hasFiles: file !== undefined,
  }
}

/** @returns ms since 1970; null without a time */
export function toTime(text: string | null | undefined): number | null {
  const time = Date.parse(text ?? '')
  return Number.isNaN(time) ? null : time
}
