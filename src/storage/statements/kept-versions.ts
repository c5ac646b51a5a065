import type { AuditEvent } from '../../model/audit-events.ts'
import type { KeptVersion, KeptVersionLimits } from '../../model/kept-versions.ts'
import type { RecordEntity } from '../entities.ts'
import * as tables from '../schema/entities.ts'
import type { RowOf } from '../schema/table.ts'
import { definitionOf, importedAs, toEntity } from './entity-rows.ts'
import type { Change, Read } from './statements.ts'
import * as db from './statements.ts'

/**
 * Versions that imports have replaced and that can be restored (docs/decisions/0071), and those that nothing needs any more,
 * but that a request may just have looked up.
 */

/** Maximum number of kept versions of an entity: of those changed in part, and of all others. */
const maxOfEntity = 10
/** Estimated size in bytes of what is kept for each value of a record: its rank, and its part of files. */
const valueBytes = 32
/** Estimated size in bytes of files without records. It bounds the number of versions, however small they are. */
const emptyBytes = 64 * 1024

const day = 24 * 3600 * 1000

interface KeptRow extends RowOf<typeof tables.keptVersion> {
  readonly replaced_by: AuditEvent['event']
}

/** Estimated size in bytes of what a version shares with no other one, besides its changes. */
export const ownSize = ({ source, fields }: RecordEntity): number =>
  emptyBytes + source.count * fields.length * valueBytes

/** Keeps the version that an entity has, with the single records that were written since. */
export function* keepVersion(entity: RecordEntity, event: AuditEvent): Change<void> {
  const { name, source } = entity
  const written = yield* db.row<{ added: number; bytes: number }>(
    `SELECT coalesce(sum(added), 0) AS added, coalesce(sum(octet_length(json)), 0) AS bytes FROM record_change
     WHERE entity = $1`,
    name,
  )
  const kept = yield* db.insertNumbered(tables.keptVersion, {
    entity: name,
    version: source.version,
    definition: definitionOf(entity),
    replaced_by: event.event,
    at: yield* db.clock(),
    records: source.count + Number(written?.added ?? 0),
    bytes: source.bytes,
    own: ownSize(entity) + Number(written?.bytes ?? 0),
  })
  yield* db.run(
    `INSERT INTO kept_change (seq, kept, key, key_values, json, added)
     SELECT seq, CAST($1 AS BIGINT), key, key_values, json, added FROM record_change WHERE entity = $2`,
    kept,
    name,
  )
}

/** Finds a kept version that is not too old. */
export function* findKept(
  name: string,
  id: number,
  { days }: KeptVersionLimits,
): Read<RecordEntity | undefined> {
  const found = yield* db.value<string>(
    'SELECT definition FROM kept_version WHERE id = $1 AND entity = $2 AND at > $3',
    id,
    name,
    (yield* db.clock()) - days * day,
  )
  return importedAs(name, found)
}

/** Gives a kept version to its entity again, which has no single records: those of the version come back. */
export function* takeKept(id: number): Change<void> {
  yield* db.run(
    `INSERT INTO record_change (seq, entity, key, key_values, json, added)
     SELECT c.seq, v.entity, c.key, c.key_values, c.json, c.added
     FROM kept_change c JOIN kept_version v ON v.id = c.kept WHERE c.kept = $1`,
    id,
  )
  yield* forget([id])
}

function* forget(ids: readonly number[]): Change<void> {
  yield* db.run('DELETE FROM kept_change WHERE kept = ANY($1)', ids)
  yield* db.run('DELETE FROM kept_version WHERE id = ANY($1)', ids)
}

/** A version that counts against limits. */
export type Sized = Pick<KeptRow, 'entity' | 'version' | 'at' | 'bytes' | 'own'> & Partial<KeptRow>

/** Removes the kept versions that are beyond a limit. Called when all entities have their versions. */
export function* trimKept({ days, bytes }: KeptVersionLimits): Change<void> {
  const kept = yield* db.rows<Sized & Pick<KeptRow, 'id'>>(
    'SELECT id, entity, version, replaced_by, at, bytes, own FROM kept_version ORDER BY id DESC',
  )
  if (kept.length === 0) return
  const current = yield* db.rows<Pick<Sized, 'entity' | 'version'>>(
    'SELECT name AS entity, version FROM entity WHERE version IS NOT NULL',
  )
  const oldest = days === 0 ? Number.MAX_SAFE_INTEGER : yield* oldestOf(days * day)
  yield* remove(beyond(kept, current, { oldest, bytes, count: maxOfEntity }))
}

interface Bounds {
  /** In ms since 1970. */
  readonly oldest: number
  readonly bytes: number
  /** Maximum number for each entity, of those changed in part and of all others. */
  readonly count: number
}

/**
 * Returns the versions that are beyond a limit.
 * @param kept newest first
 * @param elsewhere versions that stay for another reason
 */
export function beyond<V extends Sized>(
  kept: readonly V[],
  elsewhere: readonly Pick<Sized, 'entity' | 'version'>[],
  { oldest, bytes, count: most }: Bounds,
): readonly V[] {
  const counts = new Map<string, number>()
  const stored = new Set(elsewhere.map(({ entity, version }) => wholeOf(entity, version)))
  let size = 0
  let isFull = false
  return kept.filter(one => {
    const kind = `${one.entity} ${one.replaced_by === 'entity.update'}`
    const count = (counts.get(kind) ?? 0) + 1
    if (count > most || one.at <= oldest) return true
    const whole = wholeOf(one.entity, one.version)
    const needed = one.own + (stored.has(whole) ? 0 : one.bytes)
    // A version that has no room by itself takes none from others.
    if (needed > bytes) return true
    size += needed
    isFull ||= size > bytes
    if (isFull) return true
    counts.set(kind, count)
    stored.add(whole)
    return false
  })
}

/** The version that has all records of this one, or the base with which it shares most of them. */
const wholeOf = (entity: string, version: string): string =>
  version
    .split('.')
    .slice(0, version.startsWith(`${entity}.`) ? 2 : 1)
    .join('.')

/** Removes all kept versions of an entity. */
export function* dropKept(name: string): Change<void> {
  yield* remove(
    yield* db.rows<Pick<KeptRow, 'id' | 'version'>>(
      'SELECT id, version FROM kept_version WHERE entity = $1',
      name,
    ),
  )
}

function* remove(kept: readonly Pick<KeptRow, 'id' | 'version'>[]): Change<void> {
  if (kept.length === 0) return
  yield* forget(kept.map(({ id }) => id))
  for (const { version } of kept) yield* retire(version)
}

/**
 * The time up to which versions are removed, in ms since 1970. It has certainly passed (docs/decisions/0024): a
 * clock that is far ahead for a moment hides versions, and removes none.
 * @param time for which they are kept, in ms
 */
export function* oldestOf(time: number): Read<number> {
  const mark = yield* db.value<number>('SELECT mark FROM state')
  return Math.min(yield* db.clock(), mark ?? 0) - time
}

/** @returns true if a kept or held version is older than the limit */
export function* hasOldKept({ days, held }: KeptVersionLimits): Read<boolean> {
  const sql = `SELECT 1 AS one FROM kept_version WHERE at <= $1
    UNION ALL SELECT 1 FROM held_version WHERE at <= $2 LIMIT 1`
  const [kept, oldest] = [yield* oldestOf(days * day), yield* oldestOf(held.time)]
  return (yield* db.row(sql, kept, oldest)) !== undefined
}

/** Returns the kept versions of an entity, newest first. */
export function* keptVersions(name: string, { days }: KeptVersionLimits): Read<readonly KeptVersion[]> {
  const found = yield* db.rows<KeptRow>(
    'SELECT * FROM kept_version WHERE entity = $1 AND at > $2 ORDER BY id DESC',
    name,
    (yield* db.clock()) - days * day,
  )
  return found.map(({ id, definition, replaced_by, at, records, bytes, own }) => {
    const { key, fields } = toEntity({ name, definition })
    return {
      id,
      key,
      fields,
      records,
      bytes: bytes + own,
      replaced: new Date(at).toISOString(),
      replacedBy: replaced_by,
      until: new Date(at + days * day).toISOString(),
    }
  })
}

/** Retires a version that no entity has. It is removed once no request reads it, and it is neither kept nor held. */
export function* retire(version: string): Change<void> {
  yield* db.run(
    `INSERT INTO retired (version, at) SELECT CAST($1 AS TEXT), CAST($2 AS BIGINT)
     WHERE NOT EXISTS (SELECT 1 FROM kept_version WHERE version = $1)
       AND NOT EXISTS (SELECT 1 FROM held_version WHERE version = $1)
     ON CONFLICT DO NOTHING`,
    version,
    yield* db.clock(),
  )
}

/** Marks retired versions as in use, because they are being read or pointed at again. */
export function* keepRetired(versions: readonly string[]): Change<void> {
  yield* db.run('UPDATE retired SET at = $1 WHERE version = ANY($2)', yield* db.clock(), versions)
}

/** Time in ms for which a replaced version is kept for requests that have just looked it up. */
const retiredGrace = 60_000

/** Forgets those of these versions that are old. @returns the number of forgotten versions */
export function* forgetRetired(versions: readonly string[]): Change<number> {
  const sql = 'DELETE FROM retired WHERE version = ANY($1) AND at < $2'
  return yield* db.run(sql, versions, (yield* db.clock()) - retiredGrace)
}

interface StoredVersion {
  readonly version: string
  /** `old`: retired, and no request can still look it up. */
  readonly state: 'used' | 'retired' | 'old'
}

/**
 * All versions that are not to be removed yet, or are: those of entities, those kept or held, and retired ones. One
 * statement sees one moment of the store, so none that is restored meanwhile is overlooked.
 */
export function* storedVersions(): Read<readonly StoredVersion[]> {
  const before = (yield* db.clock()) - retiredGrace
  const found = yield* db.rows<{ version: string; at: number | null }>(
    `SELECT version, CAST(NULL AS BIGINT) AS at FROM entity WHERE version IS NOT NULL
     UNION ALL SELECT version, CAST(NULL AS BIGINT) FROM kept_version
     UNION ALL SELECT version, CAST(NULL AS BIGINT) FROM held_version UNION ALL SELECT version, at FROM retired`,
  )
  return found.map(({ version, at }) => ({
    version,
    state: at === null ? 'used' : at < before ? 'old' : 'retired',
  }))
}
