import type { AuditEvent } from '../../model/audit-events.ts'
import {
  type Declared,
  declaredOf,
  entityChanges,
  entityTag,
  fieldUses,
  withDeclared,
} from '../../model/declared.ts'
import { type Entity, newEntityRule, type ReadRule } from '../../model/entities.ts'
import type { KeptVersionLimits, Restored } from '../../model/kept-versions.ts'
import { changedDescription, type DescriptionChange, descriptionOf } from '../../model/relations.ts'
import type { Agreed, Entities, NewEntity, RecordEntity } from '../entities.ts'
import { lineOf, versionParts } from '../records/pending-changes.ts'
import type { Reliance } from '../single-records.ts'
import { findEntity, isImported, lockList, putEntity } from './entity-rows.ts'
import { requireReaders } from './entity-rules.ts'
import {
  dropHeld,
  forgetHeld,
  giveUp,
  heldChanges,
  heldFrom,
  heldSize,
  heldState,
  trimHeld,
} from './held-versions.ts'
import {
  dropKept,
  findKept,
  forgetRetired,
  hasOldKept,
  keptVersions,
  retire,
  storedVersions,
  takeKept,
  trimKept,
} from './kept-versions.ts'
import { allHold, dropChanges, mayReplace, recordWriting, takeChanges } from './record-writes.ts'
import type { Change, Read, StatementsOf } from './statements.ts'
import * as db from './statements.ts'

/** A version whose records are written, for an entity to point at. */
export interface PublishedEntity extends Omit<NewEntity, 'ranks' | 'agree'> {
  readonly agreed?: Agreed
  readonly version: string
  readonly count: number
  readonly bytes: number
  readonly largest: number
  readonly slots?: number
}

type Declaring = Pick<Entities, 'changeReadRule' | 'changeWriteRule' | 'describe' | 'declare' | 'drop'>

const declaring: StatementsOf<Declaring>['changes'] = {
  *changeReadRule(name, read, event) {
    const change = (before: Entity) => ({ ...declaredOf(before), read })
    return (yield* declare(name, change, event)) === 'declared'
  },
  changeWriteRule: (name, write, event) => describe(name, { write }, event),
  describe: (name, change, event) => describe(name, change, event),
  declare: (name, declared, of, event, relies = []) =>
    declare(name, before => (entityTag(before) === of ? declared : undefined), event, relies),
  *drop(name, event, of) {
    const dropped = yield* dropEntity(name, event, of)
    return typeof dropped === 'object' ? true : dropped
  },
}

/** Changes of the list of entities. Engines wrap those that also involve files or tables. */
export const entities = {
  reads: {
    ...recordWriting.reads,
    versions: keptVersions,
    hasOldKept,
    storedVersions,
    heldState,
    heldChanges,
    heldFrom,
    heldSize,
  },
  changes: {
    ...declaring,
    /** @returns as `Entities.publish` */
    *point(
      published: PublishedEntity,
      event: AuditEvent | null,
      limits: KeptVersionLimits,
    ): Change<ReadRule | undefined> {
      return (yield* pointEntity(published, event, limits))?.read
    },
    /** @returns as `Entities.restore` */
    *restore(
      name: string,
      id: number,
      event: AuditEvent,
      limits: KeptVersionLimits,
      of?: string,
    ): Change<Restored> {
      const restored = yield* restoreVersion(name, id, event, limits, of)
      return typeof restored === 'object' ? 'restored' : restored
    },
    /** Removes kept and held versions that are beyond a limit. */
    *trim(limits: KeptVersionLimits): Change<void> {
      yield* trimKept(limits)
      yield* trimHeld(limits)
    },
    ...recordWriting.changes,
    forgetRetired,
  },
}

/**
 * Points an entity at a version.
 * @returns the entity before, and its read rule now; undefined if its version is not the one to replace
 */
export function* pointEntity(
  published: PublishedEntity,
  event: AuditEvent | null,
  limits: KeptVersionLimits,
): Change<{ readonly before: Entity | undefined; readonly read: ReadRule } | undefined> {
  const relied = [...(published.relies ?? []), ...(published.agreed?.relies ?? [])]
  yield* lockList({ own: [published.name], relied: relied.map(({ entity }) => entity) })
  if (event) yield* db.rights(event, 'shared')
  const { name, key, fields, version, count, bytes, largest, slots } = published
  const before = yield* findEntity(name)
  const stored = before && isImported(before) ? before.source.version : undefined
  if (!(yield* mayReplace(published, stored, JSON.stringify(before?.declaredFields ?? null))))
    return undefined
  if (published.uses !== undefined && published.uses !== fieldUses(before ?? {})) return undefined
  // A version of the same records needs none before it.
  const keeps = event !== null && published.keepsNewer === undefined
  // A version of the same records, in the same orders, continues the line of the one before (docs/decisions/0082).
  const folds =
    before &&
    isImported(before) &&
    published.keepsNewer !== undefined &&
    ordersOf(before) === ordersOf(published) &&
    published.replaces
  const line = folds ? { ...lineOf(before.source), ...foldedIn(folds) } : undefined
  if (before && isImported(before))
    yield* giveUp(before, { event: keeps ? event : null, folded: line?.folded ?? null }, limits)
  yield* takeChanges(published)
  const read = published.read ?? before?.read ?? newEntityRule
  const source = {
    ...({ kind: 'records', version, count, bytes, largest } as const),
    ...(slots !== undefined && { slots }),
    ...line,
    imported: db.now(),
  }
  // Without new declarations, the existing ones stay (Q21, Q25), and a right that was withdrawn meanwhile doesn't come back.
  const stays = descriptionOf({ ...before, ...published.declare })
  const declared =
    published.recipe === undefined ? stays : changedDescription(stays, { recipe: published.recipe })
  const after = { name, key, fields, read, source, ...declared }
  yield* requireReaders(before, after)
  yield* putEntity(after)
  if (keeps) yield* trimKept(limits)
  yield* trimHeld(limits)
  if (event) yield* db.record({ ...event, object: name, changes: entityChanges(before, after) })
  return { before, read }
}

/** All orders in which records can be listed, as text. */
const ordersOf = ({ fields }: Pick<Entity, 'fields'>): string =>
  JSON.stringify(fields.map(({ name, type, collation }) => [name, type, collation]))

function foldedIn(replaced: string): { readonly folded?: number } {
  const { seq } = versionParts(replaced)
  return seq === 0 ? {} : { folded: seq }
}

/**
 * Points an entity at a kept version, and keeps the one that it has. What is declared of the entity stays.
 * @param of the tag that the entity must have; undefined: any
 * @param ready called with the version before anything changes; may throw to stop
 */
export function* restoreVersion(
  name: string,
  id: number,
  event: AuditEvent,
  limits: KeptVersionLimits,
  of: string | undefined,
  ready: (kept: RecordEntity) => Read<void> = function* () {},
): Change<Exclude<Restored, 'restored'> | { readonly after: Entity }> {
  yield* lockList({ own: [name] })
  yield* db.rights(event, 'shared')
  const before = yield* findEntity(name)
  if (!before || !isImported(before)) return 'missing'
  const kept = yield* findKept(name, id, limits)
  if (!kept) return 'unknown'
  if (of !== undefined && entityTag(before) !== of) return 'changed'
  const { key, fields, source } = kept
  yield* ready(kept)
  yield* giveUp(before, { event, folded: null }, limits)
  yield* dropChanges(name)
  yield* takeKept(id)
  yield* forgetHeld(source.version)
  const after = {
    name,
    key,
    fields,
    read: before.read,
    source: { ...source, imported: db.now() },
    ...descriptionOf(before),
  }
  yield* putEntity(after)
  yield* trimKept(limits)
  yield* trimHeld(limits)
  const changes = entityChanges(before, after)
  const restored = { ...changes, after: { ...changes.after, version: id } }
  yield* db.record({ ...event, object: name, changes: restored })
  return { after }
}

/** @returns the dropped entity; false if there was none; `changed` if it has another tag than `of` */
export function* dropEntity(
  name: string,
  event: AuditEvent,
  of: string | undefined,
): Change<Entity | false | 'changed'> {
  yield* lockList({ own: [name] })
  yield* db.rights(event, 'shared')
  const before = yield* findEntity(name)
  if (!before) return false
  if (of !== undefined && entityTag(before) !== of) return 'changed'
  yield* dropKept(name)
  yield* dropHeld(name)
  if (isImported(before)) yield* retire(before.source.version)
  yield* dropChanges(name)
  yield* db.lock('DELETE FROM entity_writes WHERE entity = $1', name)
  yield* db.run('DELETE FROM entity WHERE name = $1', name)
  yield* db.record({ ...event, object: name, changes: entityChanges(before, undefined) })
  return before
}

function* describe(name: string, change: DescriptionChange, event: AuditEvent): Change<boolean> {
  const described = (before: Entity) =>
    'write' in change && !isImported(before)
      ? undefined
      : { ...changedDescription(before, change), read: before.read }
  return (yield* declare(name, described, event)) === 'declared'
}

/** @param change returns undefined if the entity is not the intended one */
function* declare(
  name: string,
  change: (before: Entity) => Declared | undefined,
  event: AuditEvent,
  relies: readonly Reliance[] = [],
): Change<'declared' | 'changed' | 'missing'> {
  yield* lockList({ own: [name], relied: relies.map(({ entity }) => entity) })
  yield* db.rights(event, 'shared')
  const before = yield* findEntity(name)
  if (before === undefined) return 'missing'
  const declared = change(before)
  if (declared === undefined || !(yield* allHold(relies))) return 'changed'
  yield* requireReaders(before, declared)
  const after = withDeclared(before, declared)
  yield* putEntity(after)
  yield* db.record({ ...event, object: name, changes: entityChanges(before, after) })
  return 'declared'
}

/** Maximum number of attempts: more imports and bursts of writes are not expected during one publication. */
const maxAttempts = 20

/**
 * Points an entity at its new version as agreed. If the entity has changed meanwhile, asks for a new
 * agreement.
 * @param first the agreement from before the version was written
 * @param point returns undefined if the entity has changed
 */
export async function pointAgreed<T>(
  agree: NewEntity['agree'],
  first: Agreed | undefined,
  point: (agreed: Agreed | undefined) => Promise<T | undefined>,
): Promise<T | undefined> {
  let agreed = first
  for (let attempt = 1; ; attempt++) {
    const done = await point(agreed)
    if (done !== undefined || !agree || attempt === maxAttempts) return done
    agreed = await agree()
  }
}
