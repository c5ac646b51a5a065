import type { AuditEvent } from '../../model/audit-events.ts'
import type { KeptVersion, KeptVersionLimits } from '../../model/kept-versions.ts'
import type { RecordEntity } from '../entities.ts'
import { definitionOf, isImported, toEntity } from './entity-rows.ts'
import { type Change, clock, insert, insertNumbered, type Read, row, rows, run } from './statements.ts'

/** Versions that imports have replaced and that can be restored (docs/decisions/0071). */

/** Maximum number of kept versions of an entity: of those changed in part, and of all others. */
const maxOfEntity = 10
/** Estimated size in bytes of what is kept for each value of a record: its rank, and its part of files. */
const valueBytes = 32
/** Estimated size in bytes of files without records. It bounds the number of versions, however small they are. */
const emptyBytes = 64 * 1024

const day = 24 * 3600 * 1000

interface KeptRow {
  readonly id: number
  readonly entity: string
  readonly version: string
  readonly definition: string
  readonly replaced_by: AuditEvent['event']
  readonly at: number
  readonly records: number
  readonly bytes: number
  readonly own: number
}

/** Keeps the version that an entity has, with the single records that were written since. */
export function* keepVersion(entity: RecordEntity, event: AuditEvent): Change<void> {
  const { name, source, fields } = entity
  const written = yield* row<{ added: number; bytes: number }>(
    `SELECT coalesce(sum(added), 0) AS added, coalesce(sum(octet_length(json)), 0) AS bytes FROM record_change
     WHERE entity = $1`,
    name,
  )
  const kept = yield* insertNumbered('kept_version', {
    entity: name,
    version: source.version,
    definition: definitionOf(entity),
    replaced_by: event.event,
    at: yield* clock(),
    records: source.count + Number(written?.added ?? 0),
    bytes: source.bytes,
    own: emptyBytes + Number(written?.bytes ?? 0) + source.count * fields.length * valueBytes,
  })
  yield* run(
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
  const found = yield* row<{ definition: string }>(
    'SELECT definition FROM kept_version WHERE id = $1 AND entity = $2 AND at > $3',
    id,
    name,
    (yield* clock()) - days * day,
  )
  const entity = found && toEntity({ name, ...found })
  return entity && isImported(entity) ? entity : undefined
}

/** Gives a kept version to its entity again, which has no single records: those of the version come back. */
export function* takeKept(id: number): Change<void> {
  yield* run(
    `INSERT INTO record_change (seq, entity, key, key_values, json, added)
     SELECT c.seq, v.entity, c.key, c.key_values, c.json, c.added
     FROM kept_change c JOIN kept_version v ON v.id = c.kept WHERE c.kept = $1`,
    id,
  )
  yield* forget([id])
}

function* forget(ids: readonly number[]): Change<void> {
  yield* run('DELETE FROM kept_change WHERE kept = ANY($1)', ids)
  yield* run('DELETE FROM kept_version WHERE id = ANY($1)', ids)
}

type Sized = Pick<KeptRow, 'id' | 'entity' | 'version' | 'replaced_by' | 'at' | 'bytes' | 'own'>

/** Removes the kept versions that are beyond a limit. Called when all entities have their versions. */
export function* trimKept({ days, bytes }: KeptVersionLimits): Change<void> {
  const kept = yield* rows<Sized>(
    'SELECT id, entity, version, replaced_by, at, bytes, own FROM kept_version ORDER BY id DESC',
  )
  if (kept.length === 0) return
  const current = yield* rows<{ name: string; version: string }>(
    'SELECT name, version FROM entity WHERE version IS NOT NULL',
  )
  yield* remove(beyond(kept, current, { oldest: yield* oldestOf(days), bytes }))
}

/**
 * Returns the versions that are beyond a limit.
 * @param kept newest first
 * @param oldest in ms since 1970
 */
function beyond(
  kept: readonly Sized[],
  current: readonly { readonly name: string; readonly version: string }[],
  { oldest, bytes }: { readonly oldest: number; readonly bytes: number },
): readonly Sized[] {
  const counts = new Map<string, number>()
  const stored = new Set(current.map(({ name, version }) => wholeOf(name, version)))
  let size = 0
  let isFull = false
  return kept.filter(one => {
    const kind = `${one.entity} ${one.replaced_by === 'entity.update'}`
    const count = (counts.get(kind) ?? 0) + 1
    if (count > maxOfEntity || one.at <= oldest) return true
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
    yield* rows<Pick<Sized, 'id' | 'version'>>(
      'SELECT id, version FROM kept_version WHERE entity = $1',
      name,
    ),
  )
}

function* remove(kept: readonly Pick<Sized, 'id' | 'version'>[]): Change<void> {
  if (kept.length === 0) return
  for (const { version } of kept) yield* retire(version)
  yield* forget(kept.map(({ id }) => id))
}

/** Retires a version, which is removed once no request reads it. */
export function* retire(version: string): Change<void> {
  yield* insert('retired', { version, at: yield* clock() }, 'DO NOTHING')
}

/**
 * The time up to which versions are removed, in ms since 1970. It has certainly passed (docs/decisions/0024): a
 * clock that is far ahead for a moment hides versions, and removes none.
 */
function* oldestOf(days: number): Read<number> {
  if (days === 0) return Number.MAX_SAFE_INTEGER
  const state = yield* row<{ mark: number }>('SELECT mark FROM state')
  return Math.min(yield* clock(), state?.mark ?? 0) - days * day
}

/** @returns true if a kept version is older than the limit */
export function* hasOldKept({ days }: KeptVersionLimits): Read<boolean> {
  const sql = 'SELECT 1 AS one FROM kept_version WHERE at <= $1 LIMIT 1'
  return (yield* row(sql, yield* oldestOf(days))) !== undefined
}

/** Returns the kept versions of an entity, newest first. */
export function* keptVersions(name: string, { days }: KeptVersionLimits): Read<readonly KeptVersion[]> {
  const found = yield* rows<KeptRow>(
    'SELECT * FROM kept_version WHERE entity = $1 AND at > $2 ORDER BY id DESC',
    name,
    (yield* clock()) - days * day,
  )
  return found.map(({ id, definition, replaced_by, at, records, bytes, own }) => {
    const { key, fields } = toEntity({ name, definition })
    return {
      ...{ id, key, fields, records, bytes: bytes + own },
      replaced: new Date(at).toISOString(),
      replacedBy: replaced_by,
      until: new Date(at + days * day).toISOString(),
    }
  })
}
