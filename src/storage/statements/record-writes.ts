import { RightsChanged, StoreUnavailable } from '../../lib/errors.ts'
import { parseWritten } from '../../lib/json.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import { orderOf } from '../../model/value-order.ts'
import type { Agreed, RecordEntity, RecordWrite } from '../entities.ts'
import {
  agreedParts,
  baseEntity,
  type ChangeRow,
  changesOf,
  lastChanges,
  type TakenChanges,
  versionParts,
} from '../records/pending-changes.ts'
import * as tables from '../schema/entities.ts'
import type { RecordEvent, Reliance } from '../single-records.ts'
import type { Change, Read } from './statements.ts'
import * as db from './statements.ts'

/** Changes of single records (docs/decisions/0041). */

export interface StoredWrite extends Omit<ChangeRow, 'seq'> {
  /** The version of the entity that the record was looked up in. */
  readonly version: string
  readonly before: number
  /** The declarations of fields that the record was checked against, as JSON. */
  readonly declared: string
  readonly relies?: readonly Reliance[]
}

export const storedWrite = ({ entity, values, ...change }: RecordWrite): StoredWrite => ({
  ...change,
  entity: entity.name,
  key_values: JSON.stringify(values),
  version: baseEntity(entity).source.version,
  declared: JSON.stringify(entity.declaredFields ?? null),
})

/** Writes over the state that an entity was read in. */
export function storedWrites(
  entity: RecordEntity,
  writes: readonly Omit<RecordWrite, 'entity' | 'before'>[],
): readonly StoredWrite[] {
  const changed = changesOf(entity)
  const last = changed && lastChanges(changed)
  return writes.map(write => storedWrite({ ...write, entity, before: last?.get(write.key)?.change.seq ?? 0 }))
}

export interface Writing {
  readonly write: StoredWrite
  readonly event: AuditEvent
}

/** The result of a write whose entity another change holds, or one that it relies on. */
export const held = Symbol('held')

/** The result of `Entities.writeRecord`, or the reason why the record can't be written. */
type WriteOutcome = boolean | RightsChanged | StoreUnavailable | typeof held

/**
 * SQL that is true for an entity e whose records and ranks are there. The embedded store's writer checks the
 * files instead, before and after each change.
 */
export const hasRecords = {
  sqlite: 'true',
  postgres: `(to_regclass(format('carrel.%I', 'records.' || split_part(e.version, '.', 1))) IS NOT NULL
    AND ((e.definition::json #>> '{source,count}')::bigint = 0
      OR EXISTS (SELECT 1 FROM rank r WHERE r.version = e.version)))`,
}

export const lostRecords = (entity: string): StoreUnavailable =>
  new StoreUnavailable(
    `the records of ${entity} are gone from the database: restore a backup, or import them again`,
  )

const versionsOf = (isThere: string, declared: string) =>
  `SELECT e.name, e.version, ${isThere} AS is_there, ${declared} AS declared FROM entity e
   WHERE e.name = ANY($1) AND e.version IS NOT NULL`
const versions = {
  sqlite: versionsOf(hasRecords.sqlite, `e.definition ->> '$.declaredFields'`),
  postgres: versionsOf(hasRecords.postgres, `e.definition::json ->> 'declaredFields'`),
}

/**
 * Makes several writes in one transaction, in their order.
 * @param areTogether true to write all of them or none
 * @param waits false: those of entities that another change holds have the result `held`
 */
export function* writeRecords(
  batch: readonly Writing[],
  { areTogether = false, waits = true }: { readonly areTogether?: boolean; readonly waits?: boolean } = {},
): Change<readonly WriteOutcome[]> {
  // One transaction at a time for an entity, so that its changes become visible in the order of their numbers.
  const lock = {
    own: [...new Set(batch.map(({ write }) => write.entity))],
    relied: batch.flatMap(({ write }) => write.relies?.map(({ entity }) => entity) ?? []),
  }
  const locked = yield* db.tryRecords(lock, batch.length, waits)
  const isHeld = (entity: string) => locked.held.includes(entity)
  const allowed = yield* db.haveRights(
    batch.map(({ event }) => event),
    'shared',
  )
  const named = yield* db.rows<StoredEntity>(versions, lock.own)
  const stored = new Map(named.map(one => [one.name, one] as const))
  const changed = yield* db.rows<{ key: string; seq: number }>(
    'SELECT key, max(seq) AS seq FROM record_change WHERE key = ANY($1) GROUP BY key',
    [...new Set(batch.map(({ write }) => write.key))],
  )
  const known = new Map(changed.map(({ key, seq }) => [key, seq] as const))
  const outcomes: WriteOutcome[] = []
  const written: { readonly change: ChangeRow; readonly event: AuditEvent }[] = []
  let inserted = 0
  for (const [at, { write, event }] of batch.entries()) {
    if (isHeld(write.entity) || write.relies?.some(({ entity }) => isHeld(entity))) {
      outcomes.push(held)
      continue
    }
    if (!allowed[at]) {
      outcomes.push(new RightsChanged())
      continue
    }
    const { version, before, declared, relies = [], ...change } = write
    // A write relies on those before it, too; of several that are made together, that was checked before.
    if (relies.length > 0 && !areTogether) yield* insertWritten()
    const entity = stored.get(change.entity)
    const isCurrent =
      entity?.version === version &&
      (known.get(change.key) ?? 0) === before &&
      declaredIn(entity) === declared &&
      (yield* allHold(relies))
    const isWritten = isCurrent && Boolean(entity.is_there)
    outcomes.push(isCurrent && !isWritten ? lostRecords(change.entity) : isWritten)
    if (!isWritten) continue
    const seq = locked.numbers[at] as number
    known.set(change.key, seq)
    written.push({ change: { seq, ...change }, event })
  }
  if (areTogether && written.length < batch.length) return outcomes
  yield* insertWritten()
  const [first, ...more] = written.map(({ event }) => event)
  if (first && more.length === 0) yield* db.record(first)
  else if (first) yield* db.recordAll([first, ...more])
  return outcomes

  function* insertWritten(): Change<void> {
    const rest = written.slice(inserted).map(({ change }) => ({ ...change }))
    inserted = written.length
    if (rest.length > 0) yield* db.insertAll(tables.recordChange, rest)
  }
}

interface StoredEntity {
  readonly name: string
  readonly version: string
  readonly is_there: boolean | number
  readonly declared: string | null
}

/** The declarations of fields, written as those of a write. */
const declaredIn = ({ declared }: StoredEntity): string => JSON.stringify(JSON.parse(declared ?? 'null'))

/** True if nothing has been written that a change doesn't allow for (docs/decisions/0076). */
export function* allHold(relies: readonly Reliance[]): Read<boolean> {
  for (const { entity, version, since } of relies) {
    const { stored, seq } = versionParts(version)
    const now = yield* db.value<string | null>('SELECT version FROM entity WHERE name = $1', entity)
    if (now !== stored) return false
    if (since.kind === 'kept') {
      if ((yield* db.count('record_change WHERE entity = $1 AND seq > $2 AND json IS NULL', entity, seq)) > 0)
        return false
      continue
    }
    const { field } = since
    const written = yield* db.rows<{ key: string; json: string }>(
      'SELECT key, json FROM record_change WHERE entity = $1 AND seq > $2 AND json IS NOT NULL',
      ...[entity, seq],
    )
    if (!field && written.length > 0) return false
    if (!field || written.length === 0) continue
    const [values, except] = [new Set(since.values), new Set(since.except)]
    const { key: nameOf } = orderOf(field)
    for (const { key, json } of written) {
      const its = (parseWritten(json) as Readonly<Record<string, unknown>>)[field.name] ?? null
      if (its !== null && !except.has(key) && values.has(nameOf(its))) return false
    }
  }
  return true
}

export const recordWriting = {
  reads: {
    // The condition is that of the index by which the events are found.
    history: (object: string, before: number | null, limit: number): Read<readonly RecordEvent[]> =>
      db.rows(
        `SELECT id, time, event, (SELECT email FROM eperson WHERE uuid = actor) AS actor_email, changes FROM event
         WHERE event IN ('record.put', 'record.change', 'record.delete') AND object = $1 AND id < $2
           AND outcome = 'success'
         ORDER BY id DESC LIMIT $3`,
        object,
        before ?? Number.MAX_SAFE_INTEGER,
        limit,
      ),
  },
  changes: {
    /** @returns as `Entities.writeRecord` */
    *writeRecord(write: StoredWrite, event: AuditEvent): Change<boolean> {
      const [outcome = false] = yield* writeRecords([{ write, event }])
      if (typeof outcome !== 'boolean') throw outcome
      return outcome
    },
    /** @returns as `Entities.writeTogether` */
    *writeTogether(writes: readonly StoredWrite[], events: readonly AuditEvent[]): Change<boolean> {
      const batch = writes.map((write, at) => ({ write, event: events[at] as AuditEvent }))
      const outcomes = yield* writeRecords(batch, { areTogether: true })
      for (const outcome of outcomes) if (typeof outcome !== 'boolean') throw outcome
      return !outcomes.includes(false)
    },
  },
}

/**
 * True if a new version was made from the current state of the entity.
 * @param version the current version of the entity
 * @param declared the declarations of its fields, as JSON
 */
export function* mayReplace(
  { name, replaces, agreed, keepsNewer, relies = [] }: TakenChanges,
  version: string | undefined,
  declared: string,
): Read<boolean> {
  if (!(yield* allHold([...relies, ...(agreed?.relies ?? [])]))) return false
  if (agreed?.declared !== undefined && agreed.declared !== declared) return false
  if (replaces === undefined) return !agreed || (yield* stillAgreed(name, agreed, version))
  if (replaces === null) return version === undefined
  const { stored, seq } = versionParts(replaces)
  if (stored !== version) return false
  // Changes that it doesn't have, or that the store doesn't, are of a state that was lost (docs/decisions/0085).
  if (keepsNewer !== undefined)
    return (yield* db.count('record_change WHERE entity = $1 AND seq <= $2', name, seq)) === keepsNewer
  const sql = 'SELECT max(seq) AS seq FROM record_change WHERE entity = $1'
  return ((yield* db.value<number | null>(sql, name)) ?? 0) === seq
}

/** Removes the changes that are in a new version, or that it replaces. */
export function* takeChanges({ name, replaces }: TakenChanges): Change<void> {
  if (replaces === undefined) yield* dropChanges(name)
  else if (replaces !== null)
    yield* db.run(
      'DELETE FROM record_change WHERE entity = $1 AND seq <= $2',
      name,
      versionParts(replaces).seq,
    )
}

function* stillAgreed(name: string, agreed: Agreed, version: string | undefined): Read<boolean> {
  const { stored, seq } = agreedParts(agreed)
  if (stored !== version) return false
  return (yield* db.count('record_change WHERE entity = $1 AND seq > $2', name, seq)) <= agreed.changes
}

export const dropChanges = (entity: string): Change<number> =>
  db.run('DELETE FROM record_change WHERE entity = $1', entity)
