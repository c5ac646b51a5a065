import type { AuditEvent } from '../../model/audit-events.ts'
import type { KeptVersionLimits } from '../../model/kept-versions.ts'
import type { EntityState } from '../../model/snapshots.ts'
import type { RecordEntity } from '../entities.ts'
import { type ChangeRow, lineOf } from '../records/pending-changes.ts'
import * as tables from '../schema/entities.ts'
import type { FollowedRow } from '../single-records.ts'
import { definitionOf, importedAs } from './entity-rows.ts'
import { beyond, keepVersion, oldestOf, ownSize, retire, type Sized } from './kept-versions.ts'
import type { Change, Read } from './statements.ts'
import * as db from './statements.ts'

/** Versions that were replaced a short while ago and that snapshots may name (docs/decisions/0082). */

/** Maximum number and bytes of the changes of a held version, which are read together. */
const maxChanges = 8_000
const maxBytes = 4 * 1024 * 1024

/** The number and the bytes of some changes. */
interface Amount {
  readonly count: number
  readonly bytes: number
}

function* amountOf(from: string, ...values: readonly (string | number)[]): Read<Amount> {
  const sql = `SELECT count(*) AS count, coalesce(sum(octet_length(json)), 0) AS bytes FROM ${from}`
  const found = yield* db.row<Amount>(sql, ...values)
  return { count: Number(found?.count ?? 0), bytes: Number(found?.bytes ?? 0) }
}

/**
 * Holds the version that an entity is about to lose, with its changes.
 * @param folded the last change that is in the new version, which has the same records; null: its records differ
 */
function* holdVersion(entity: RecordEntity, folded: number | null): Change<void> {
  const { name, source } = entity
  const line = lineOf(source)
  const upTo = folded ?? Number.MAX_SAFE_INTEGER
  const [of, given] = ['record_change WHERE entity = $1 AND seq <= $2', [name, upTo] as const]
  const changes = yield* amountOf(of, ...given)
  const last = (yield* db.value<number | null>(`SELECT max(seq) AS seq FROM ${of}`, ...given)) ?? line.folded
  // A version that was made of one that is held needs no files: its states are read from that one.
  const before = folded === null ? undefined : yield* extensible(line, changes)
  const version = before ?? source.version
  const at = yield* db.clock()
  if (before === undefined)
    yield* db.insert(tables.heldVersion, {
      version,
      entity: name,
      ...line,
      last,
      definition: definitionOf(entity),
      at,
      bytes: source.bytes,
      own: ownSize(entity) + changes.bytes,
    })
  else
    yield* db.run(
      'UPDATE held_version SET last = $1, at = $2, own = own + $3 WHERE version = $4',
      ...[last, at, changes.bytes, version],
    )
  yield* db.run(
    `INSERT INTO held_change (version, seq, key, key_values, json, added)
     SELECT CAST($3 AS TEXT), seq, key, key_values, json, added FROM ${of}`,
    ...[...given, version],
  )
}

/** @returns a held version of the line that ends where this one begins, and has room for these changes */
function* extensible({ root, folded }: ReturnType<typeof lineOf>, changes: Amount): Read<string | undefined> {
  const before = yield* db.value<string>(
    'SELECT version FROM held_version WHERE root = $1 AND last = $2 ORDER BY folded DESC LIMIT 1',
    ...[root, folded],
  )
  if (before === undefined) return undefined
  const held = yield* amountOf('held_change WHERE version = $1', before)
  const fits = held.count + changes.count <= maxChanges && held.bytes + changes.bytes <= maxBytes
  return fits ? before : undefined
}

/** Finds the version of the line from which a state can be read. */
export function* heldState(
  { entity: name, root, seq }: EntityState,
  { held }: KeptVersionLimits,
): Read<RecordEntity | undefined> {
  const found = yield* db.value<string>(
    `SELECT definition FROM held_version WHERE root = $1 AND entity = $2 AND folded <= $3 AND last >= $3 AND at > $4
     ORDER BY folded DESC LIMIT 1`,
    ...[root, name, seq, (yield* db.clock()) - held.time],
  )
  return importedAs(name, found)
}

/** The changes of a held version, oldest first. */
export function* heldChanges({ name, source }: RecordEntity): Read<readonly ChangeRow[]> {
  return yield* db.rows<ChangeRow>(
    `SELECT seq, CAST($1 AS TEXT) AS entity, key, key_values, json, added FROM held_change
     WHERE version = $2 ORDER BY seq`,
    ...[name, source.version],
  )
}

/** The changes of a held version from a number on, oldest first. */
export const heldFrom = (
  { source }: RecordEntity,
  seq: number,
  limit: number,
): Read<readonly FollowedRow[]> =>
  db.rows<FollowedRow>(
    `SELECT seq, key_values, json, added FROM held_change WHERE version = $1 AND seq >= $2 ORDER BY seq LIMIT $3`,
    ...[source.version, seq, limit],
  )

/** Size in bytes of all held versions, without the records that they share. */
export function* heldSize(): Read<number> {
  return Number((yield* db.value<number>('SELECT coalesce(sum(own), 0) FROM held_version')) ?? 0)
}

/** Removes the held versions that are beyond a limit. */
export function* trimHeld({ held }: KeptVersionLimits): Change<void> {
  const found = yield* db.rows<Sized>(
    'SELECT version, entity, at, bytes, own FROM held_version ORDER BY at DESC, folded DESC',
  )
  if (found.length === 0) return
  const elsewhere = yield* db.rows<Pick<Sized, 'entity' | 'version'>>(
    `SELECT name AS entity, version FROM entity WHERE version IS NOT NULL
     UNION ALL SELECT entity, version FROM kept_version`,
  )
  const limits = { oldest: yield* oldestOf(held.time), bytes: held.bytes, count: Number.POSITIVE_INFINITY }
  yield* letGo(beyond(found, elsewhere, limits))
}

/** Removes all held versions of an entity. */
export function* dropHeld(name: string): Change<void> {
  yield* letGo(
    yield* db.rows<Pick<Sized, 'version'>>('SELECT version FROM held_version WHERE entity = $1', name),
  )
}

function* letGo(held: readonly Pick<Sized, 'version'>[]): Change<void> {
  for (const { version } of held) {
    yield* forgetHeld(version)
    yield* retire(version)
  }
}

/** Forgets that a version was replaced, because its entity has it again. */
export function* forgetHeld(version: string): Change<void> {
  yield* db.run('DELETE FROM held_change WHERE version = $1', version)
  yield* db.run('DELETE FROM held_version WHERE version = $1', version)
}

interface Replaced {
  /** null: the records stay the same. */
  readonly event: AuditEvent | null
  /** As of `holdVersion`. */
  readonly folded: number | null
}

/** Keeps and holds the version of an entity that is about to get another one, or retires it. */
export function* giveUp(
  entity: RecordEntity,
  { event, folded }: Replaced,
  limits: KeptVersionLimits,
): Change<void> {
  if (event && limits.days > 0) yield* keepVersion(entity, event)
  if (limits.held.time > 0) yield* holdVersion(entity, folded)
  yield* retire(entity.source.version)
}
