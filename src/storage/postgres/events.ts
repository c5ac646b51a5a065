import type { AuditEvent } from '../../model/audit-events.ts'
import { eventRow, newChain, nothingBefore, valuesOf } from '../../model/trail.ts'
import type { Connection, Pool, Row, Value } from './driver.ts'
import { replaceNul } from './rows.ts'

/** The audit trail. Each connection has a chain of its own, so that none waits for another (docs/decisions/0027). */
export const now = () => new Date().toISOString()

/** How many values a statement with an event has before its own, of which the first is the time. */
export const eventValues = 14

/**
 * Inserts the event of the first `eventValues` values, and returns its hash. Its id is given here, so it is hashed here.
 */
export const insertEvent = insert({ outcome: '$3', actor: '$5', seal: '$14', changes: '', from: '' })

/** The same for an event with changes, which come after its other values. */
const insertChange = insert({ outcome: '$3', actor: '$5', seal: '$14', changes: ', $15', from: '' })

/**
 * The same for a login, in a statement whose CTE `changed` has a row if the login succeeds.
 * @param next the number of the placeholder for the first of three values: what is sealed if it fails
 */
export const insertLoginEvent = (next: number): string =>
  insert({
    outcome: `CASE WHEN found THEN $3 ELSE $${next} END`,
    actor: `CASE WHEN found THEN $5 ELSE $${next + 1} END`,
    seal: `CASE WHEN found THEN $14::bytea ELSE $${next + 2}::bytea END`,
    changes: '',
    from: ', (SELECT EXISTS (SELECT 1 FROM changed) AS found) one',
  })

function insert(of: Readonly<Record<'outcome' | 'actor' | 'seal' | 'changes' | 'from', string>>): string {
  return `INSERT INTO event (id, time, event, outcome, eperson, actor, client_ip, method, object, reason, count,
      chain, place, hash${of.changes && ', changes'})
    SELECT n.id, $1, $2, ${of.outcome}, $4, ${of.actor}, $6, $7, $8, $9, $10::bigint, $11::bigint, $12::bigint,
      sha256($13::bytea || int8send(n.id) || ${of.seal}::bytea)${of.changes}
    FROM (SELECT nextval('event_id_seq') AS id) n${of.from} RETURNING hash AS event_hash`
}

/**
 * Runs a statement that inserts an event by `insertEvent` and returns the column `event_hash`.
 * @param event without changes: only `recordEvent` stores them
 * @param more its values after those of the event
 * @param otherwise for `insertLoginEvent`, the event if the login fails; its values come last
 * @returns the rows, of which there is always one
 */
export async function runRecording<T extends Row>(
  db: Connection,
  sql: string,
  event: AuditEvent,
  more: readonly Value[] = [],
  otherwise?: AuditEvent,
): Promise<T[]> {
  const { head } = db.chain
  const key = db.chain.key.current()
  const [time, chain, place] = [now(), head?.chain ?? newChain(), (head?.place ?? 0) + 1]
  const rowOf = ({ changes, ...one }: AuditEvent) =>
    eventRow(
      {
        ...one,
        ...(sql === insertChange && changes ? { changes } : {}),
        object: replaceNul(one.object),
        reason: replaceNul(one.reason),
      },
      time,
      chain,
      place,
    )
  const row = rowOf(event)
  const failed = otherwise && rowOf(otherwise)
  // If it fails, it may have been inserted all the same. Then the next event begins a chain.
  db.chain.head = undefined
  const rows = await db.rows<T & { event_hash: Uint8Array }>(
    sql,
    ...valuesOf(row),
    chain,
    place,
    head?.hash ?? nothingBefore,
    key.seal(row),
    ...(row.changes === null ? [] : [row.changes]),
    ...more,
    ...(failed ? [failed.outcome, failed.actor, key.seal(failed)] : []),
  )
  const [first] = rows
  if (!first) throw new Error('an event was not recorded')
  db.chain.head = { chain, place, hash: first.event_hash }
  return rows
}

/** @param db a connection in a transaction, or any of a pool */
export async function recordEvent(db: Connection | Pool, event: AuditEvent): Promise<void> {
  if ('statement' in db) await db.statement(connection => recordEvent(connection, event))
  else await runRecording(db, event.changes ? insertChange : insertEvent, event)
}
