import { type AuditEvent, chainKindOf, failedLogin } from '../../model/audit-events.ts'
import { eventHash, eventRow, newChain, nothingBefore } from '../../model/trail.ts'
import type { Table } from '../schema/table.ts'
import { event as table } from '../schema/trail.ts'
import { postgresTypes } from '../schema.ts'
import { now } from '../statements/statements.ts'
import { insertedColumns, insertedValues } from '../trail.ts'
import type { Connection, Pool, Row, Value } from './driver.ts'

/**
 * The audit trail. Each connection has two chains of its own, so that none waits for another
 * (docs/decisions/0027, docs/decisions/0069).
 */

/** A statement whose values have names, `:name` in its text. */
export interface Named {
  readonly sql: string
  /** The names of the values, in the order of their numbers. */
  readonly names: readonly string[]
}

/** Numbers the values of a statement, once for all its calls. */
export function named(text: string): Named {
  const names = [...new Set(text.match(marks))].map(mark => mark.slice(1))
  return { sql: text.replaceAll(marks, mark => `$${names.indexOf(mark.slice(1)) + 1}`), names }
}

/** The values of all columns of a table: those with names of their columns, unless SQL is given for them. */
export const namedValues = ({ columns }: Table, given: Readonly<Record<string, string>>): string =>
  Object.entries(columns)
    .map(([name, { type }]) => given[name] ?? `:${name}::${postgresTypes[type]}`)
    .join(', ')

/** The second colon of a cast, `::text`, begins no name. */
const marks = /(?<!:):[a-z_]+/g

/** SQL that adds an event, and returns its hash as `event_hash`. The statement assigns the id that is hashed. */
export const insertEvent = insertOf((name, type) => `:${name}::${type}`)

/** SQL that adds the event of a login, in a statement whose CTE `changed` has a row if the login succeeds. */
export const insertLoginEvent = insertOf(
  (name, type) => `CASE WHEN found THEN :${name}::${type} ELSE :failed_${name}::${type} END`,
  ', (SELECT EXISTS (SELECT 1 FROM changed) AS found) one',
)

function insertOf(value: (name: string, type: string) => string, from = ''): string {
  const computed = {
    id: 'n.id',
    outcome: value('outcome', 'text'),
    actor: value('actor', 'text'),
    hash: `sha256(:before::bytea || int8send(n.id) || ${value('seal', 'bytea')})`,
  }
  return `INSERT INTO event (${insertedColumns}) SELECT ${namedValues(table, computed)}
    FROM (SELECT nextval('event_id_seq') AS id) n${from} RETURNING hash AS event_hash`
}

const onlyEvent = named(insertEvent)

/**
 * Runs a statement that adds an event by `insertEvent` or `insertLoginEvent`, and returns the column
 * `event_hash`.
 * @param values those other than the event's
 * @returns the rows, of which there is always one
 */
export async function runRecording<T extends Row>(
  db: Connection,
  { sql, names }: Named,
  event: AuditEvent,
  values: Readonly<Record<string, Value>> = {},
): Promise<T[]> {
  const { heads } = db.chain
  const kind = chainKindOf(event)
  const head = heads[kind]
  const key = db.chain.key.current()
  const [time, chain, place] = [now(), head?.chain ?? newChain(kind), (head?.place ?? 0) + 1]
  const row = storableRow(event, time, chain, place)
  const all: Record<string, Value> = {
    ...row,
    before: head?.hash ?? nothingBefore,
    seal: key.seal(row),
    ...values,
  }
  if (names.includes('failed_seal')) {
    const failed = storableRow(failedLogin(event), time, chain, place)
    all.failed_outcome = failed.outcome
    all.failed_actor = failed.actor
    all.failed_seal = key.seal(failed)
  }
  // If the statement fails, the event may be stored all the same. Then the next event begins a chain.
  delete heads[kind]
  const rows = await db.rows<T & { event_hash: Uint8Array }>(sql, ...names.map(name => valueIn(all, name)))
  const [first] = rows
  if (!first) throw new Error('an event was not recorded')
  heads[kind] = { chain, place, hash: first.event_hash }
  return rows
}

const storableRow = (event: AuditEvent, ...at: [time: string, chain: number, place: number]) =>
  eventRow({ ...event, object: replaceNul(event.object), reason: replaceNul(event.reason) }, ...at)

function valueIn(all: Readonly<Record<string, Value>>, name: string): Value {
  const value = all[name]
  if (value === undefined) throw new Error(`the value :${name} of a statement is missing`)
  return value
}

/** @param db a connection in a transaction, or a pool */
export async function recordEvent(db: Connection | Pool, event: AuditEvent): Promise<void> {
  if ('statement' in db) await db.statement(connection => recordEvent(connection, event))
  else await runRecording(db, onlyEvent, event)
}

/** Number of events that are added by a statement. */
const inStatement = 50

/** Adds many events of changes in the transaction of the caller: a few statements for a hundred of them. */
export async function recordEvents(db: Connection, events: readonly AuditEvent[]): Promise<void> {
  const { heads, key } = db.chain
  const head = heads.changes
  const found = await db.rows<{ id: number }>(
    "SELECT nextval('event_id_seq') AS id FROM generate_series(1, $1::bigint)",
    events.length,
  )
  const ids = found.map(({ id }) => id).toSorted((one, other) => one - other)
  const [time, chain] = [now(), head?.chain ?? newChain('changes')]
  let [place, last] = [head?.place ?? 0, head?.hash ?? nothingBefore]
  // If a statement fails, the next event begins a chain.
  delete heads.changes
  for (let from = 0; from < events.length; from += inStatement) {
    const values = events.slice(from, from + inStatement).map((event, at) => {
      const id = ids[from + at] as number
      const row = storableRow(event, time, chain, ++place)
      last = eventHash(last, id, key.current().seal(row))
      return insertedValues(id, row, last)
    })
    const marks = values.map((row, at) => `(${row.map((_, n) => `$${at * row.length + n + 1}`)})`)
    await db.run(`INSERT INTO event (${insertedColumns}) VALUES ${marks}`, ...values.flat())
  }
  heads.changes = { chain, place, hash: last }
}

/** True if a stored value could equal this text. PostgreSQL's text can't contain NUL. */
export const isStorable = (text: string): boolean => !text.includes('\0')

/** Free text in a form that can be stored. */
export const replaceNul = (text: string | null): string | null => text?.replaceAll('\0', '\uFFFD') ?? null
