import type { Viewer } from '../../model/readers.ts'
import type { TrailKey } from '../../model/trail.ts'
import type { Seen } from '../statements/audiences.ts'
import {
  type Change,
  type LockedRecords,
  type Relying,
  type SessionLock,
  type Statements,
  type Step,
  storeTime,
  TakenBack,
  type Value,
} from '../statements/statements.ts'
import type { Connection, Pool, Queries } from './driver.ts'
import { recordEvent, recordEvents } from './events.ts'

/**
 * Runs statements, in the transaction of the caller if they are a change.
 * @param db a connection in a transaction, or for reads any of a pool
 * @param audiencesOf for reads of an event loop
 */
export async function perform<T>(
  db: Connection | Pool,
  work: Statements<T>,
  audiencesOf?: AudiencesOf,
): Promise<T> {
  const run = { wereRightsAsked: false, audiencesOf }
  let step = work.next()
  while (!step.done) step = work.next(await resultOf(db, step.value, run))
  return step.value
}

export type AudiencesOf = (viewer: Viewer, how: Seen) => Promise<readonly number[]>

interface Run {
  wereRightsAsked: boolean
  readonly audiencesOf: AudiencesOf | undefined
}

/** Runs a change in a transaction, and again after a conflict. @param work makes the statements */
export async function change<T>(pool: Pool, work: () => Change<T>): Promise<T> {
  try {
    return await pool.transaction(db => perform(db, work()))
  } catch (error) {
    if (error instanceof TakenBack) return error.result as T
    throw error
  }
}

/** Works on a connection of its own, and then closes it, which rolls back what isn't committed. */
export async function withConnection<T>(
  open: () => Promise<Connection>,
  work: (db: Connection) => Promise<T>,
): Promise<T> {
  const db = await open()
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

async function resultOf(db: Connection | Pool, step: Step, run: Run): Promise<unknown> {
  switch (step.kind) {
    case 'rows':
      return db.rows(textOf(step), ...step.values.map(storable))
    case 'together':
      return Promise.all(step.reads.map(read => perform(db, read, run.audiencesOf)))
    case 'run':
      return db.run(textOf(step), ...step.values.map(storable))
    case 'lock':
      return db.run(step.sql, ...step.values)
    case 'stamp':
      return (await db.rows<{ stamp: number }>("SELECT nextval('stamp') AS stamp"))[0]?.stamp
    case 'records':
      return lockRecords(db, step)
    case 'clock':
      return (await db.rows<{ now: number }>(`SELECT ${storeTime.postgres} AS now`))[0]?.now
    case 'audiences':
      if (!run.audiencesOf) throw new Error('audiences are known to event loops')
      return run.audiencesOf(step.viewer, 'by address')
    case 'rights':
      run.wereRightsAsked = true
      return haveRights(db, step.events, step.lock)
    case 'event':
      if (step.event.reliesOn && !run.wereRightsAsked) throw new Error('a change did not look at its rights')
      return recordEvent(db, step.event)
    case 'events':
      if (!run.wereRightsAsked) throw new Error('changes did not look at their rights')
      if (!('chain' in db)) throw new Error('events at once belong to a transaction')
      return recordEvents(db, step.events)
    case 'key':
      return keyOn(db, step)
  }
}

function keyOn(db: Connection | Pool, step: Step & { readonly kind: 'key' }): TrailKey | undefined {
  if (!('chain' in db)) throw new Error('the key of the trail belongs to a connection')
  if (!('to' in step)) return db.chain.key.current()
  db.chain.key.use(step.to)
  return step.to
}

const textOf = ({ sql }: Step & { readonly kind: 'rows' | 'run' }): string =>
  typeof sql === 'string' ? sql : sql.postgres

/** PostgreSQL's text can't contain NUL: values that are stored or looked for have U+FFFD instead. */
const storable = (value: Value): Value =>
  typeof value === 'string'
    ? withoutNul(value)
    : Array.isArray(value)
      ? value.map(one => (typeof one === 'string' ? withoutNul(one) : one))
      : value

const withoutNul = (text: string): string => (text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text)

/**
 * Locks are taken in one order whatever the entities, and are fair, unlike those of rows: a change that wants an entity for
 * itself isn't passed by all that rely on it. `entity_writes` tells other nodes that there is something new, once it is
 * committed; a number is given once the lock is held.
 */
const lockedRecords = `WITH locked AS MATERIALIZED (
    SELECT names, CASE
      WHEN $4 AND is_own THEN pg_advisory_xact_lock(hashtext('carrel records'), key) IS NOT NULL
      WHEN $4 THEN pg_advisory_xact_lock_shared(hashtext('carrel records'), key) IS NOT NULL
      WHEN is_own THEN pg_try_advisory_xact_lock(hashtext('carrel records'), key)
      ELSE pg_try_advisory_xact_lock_shared(hashtext('carrel records'), key) END AS is_locked
    FROM (SELECT hashtext(name) AS key, array_agg(DISTINCT name) AS names, bool_or(name = ANY($1)) AS is_own
      FROM unnest($1::text[] || $2::text[]) AS name GROUP BY 1 ORDER BY 1) each
  ), each AS (
    SELECT name, is_locked FROM locked, unnest(names) AS name
  ), told AS (
    INSERT INTO entity_writes (entity, count)
    SELECT name, 1 FROM each WHERE is_locked AND name = ANY($1) AND $3::integer > 0
    ON CONFLICT (entity) DO UPDATE SET count = entity_writes.count + 1
  )
  SELECT nextval('record_number') AS number, held
  FROM (SELECT array_agg(name) FILTER (WHERE NOT is_locked) AS held FROM each) first,
    generate_series(1, $3::integer + 0 * (SELECT count(*)::integer FROM locked))`

async function lockRecords(
  db: Queries,
  { lock: { own, relied = [] }, count, waits }: Step & { readonly kind: 'records' },
): Promise<LockedRecords> {
  type Row = { number: number; held: readonly string[] | null }
  const rows = await db.rows<Row>(lockedRecords, own, relied, count, waits)
  return { numbers: rows.map(({ number }) => number), held: rows[0]?.held ?? [] }
}

const locks = { shared: 'FOR SHARE', own: 'FOR NO KEY UPDATE' } as const

async function haveRights(
  db: Queries,
  events: readonly Relying[],
  lock: SessionLock,
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
