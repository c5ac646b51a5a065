import type { AuditEvent } from '../../model/audit-events.ts'
import { type Declared, declaredOf, entityChanges, entityTag, withDeclared } from '../../model/declared.ts'
import { type Entity, newEntityRule, type ReadRule } from '../../model/entities.ts'
import { changedDescription, type DescriptionChange, descriptionOf } from '../../model/relations.ts'
import type { Agreed, Entities, NewEntity } from '../entities.ts'
import { definitionOf, findEntity, isImported } from './entity-rows.ts'
import { dropChanges, type StoredWrite, takeChanges, writeRecords } from './record-writes.ts'
import {
  type Change,
  clock,
  insert,
  now,
  type Read,
  record,
  rights,
  rows,
  run,
  type StatementsOf,
} from './statements.ts'

/** A version whose records are written, for an entity to point at. */
export interface PublishedEntity extends Omit<NewEntity, 'ranks' | 'agree'> {
  readonly agreed?: Agreed
  readonly version: string
  readonly count: number
  readonly bytes: number
  readonly largest: number
  readonly slots?: number
}

interface EntityChanges
  extends Pick<Entities, 'changeReadRule' | 'changeWriteRule' | 'describe' | 'declare' | 'drop'> {
  /** @returns as `Entities.publish` */
  point(published: PublishedEntity, event: AuditEvent | null): Promise<ReadRule | undefined>
  /** @returns as `Entities.writeRecord` */
  writeRecord(write: StoredWrite, event: AuditEvent): Promise<boolean>
  /** @returns as the function of this name */
  forgetRetired(versions: readonly string[]): Promise<number>
}

/** Changes of the list of entities. Engines wrap those that also involve files or tables. */
export const entities = {
  reads: {},
  changes: {
    *changeReadRule(name, read, event) {
      const change = (before: Entity) => ({ ...declaredOf(before), read })
      return (yield* declare(name, change, event)) === 'declared'
    },
    changeWriteRule: (name, write, event) => describe(name, { write }, event),
    describe: (name, change, event) => describe(name, change, event),
    declare: (name, declared, of, event) =>
      declare(name, before => (entityTag(before) === of ? declared : undefined), event),
    *drop(name, event, of) {
      const dropped = yield* dropEntity(name, event, of)
      return typeof dropped === 'object' ? true : dropped
    },
    *point(published, event) {
      return (yield* pointEntity(published, event))?.read
    },
    *writeRecord(write, event) {
      const [outcome = false] = yield* writeRecords([{ write, event }])
      if (typeof outcome !== 'boolean') throw outcome
      return outcome
    },
    forgetRetired: versions => forgetRetired(versions),
  },
} satisfies StatementsOf<EntityChanges>

/** Locks the list of entities: one transaction at a time changes it. */
export const lockList = (): Change<number> => run('UPDATE state SET entities = entities + 1')

/**
 * Points an entity at a version.
 * @returns the entity before, and its read rule now; undefined if its version is not the one to replace
 */
export function* pointEntity(
  published: PublishedEntity,
  event: AuditEvent | null,
): Change<{ readonly before: Entity | undefined; readonly read: ReadRule } | undefined> {
  yield* lockList()
  if (event) yield* rights(event, 'shared')
  const { name, key, fields, version, count, bytes, largest, slots } = published
  const before = yield* findEntity(name)
  const stored = before && isImported(before) ? before.source.version : undefined
  if (!(yield* takeChanges(published, stored))) return undefined
  yield* retireVersionOf(name)
  const read = published.read ?? before?.read ?? newEntityRule
  const source = {
    ...({ kind: 'records', version, count, bytes, largest } as const),
    ...(slots !== undefined && { slots }),
    imported: now(),
  }
  // Without new declarations, the existing ones stay (Q21, Q25).
  const after = { name, key, fields, read, source, ...(published.declare ?? descriptionOf(before ?? {})) }
  yield* putEntity(after)
  if (event) yield* record({ ...event, object: name, changes: entityChanges(before, after) })
  return { before, read }
}

/** @returns the dropped entity; false if there was none; `changed` if it has another tag than `of` */
export function* dropEntity(
  name: string,
  event: AuditEvent,
  of: string | undefined,
): Change<Entity | false | 'changed'> {
  yield* lockList()
  yield* rights(event, 'shared')
  const before = yield* findEntity(name)
  if (!before) return false
  if (of !== undefined && entityTag(before) !== of) return 'changed'
  yield* retireVersionOf(name)
  yield* dropChanges(name)
  yield* run('DELETE FROM entity WHERE name = $1', name)
  yield* record({ ...event, object: name, changes: entityChanges(before, undefined) })
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
): Change<'declared' | 'changed' | 'missing'> {
  yield* lockList()
  yield* rights(event, 'shared')
  const before = yield* findEntity(name)
  if (before === undefined) return 'missing'
  const declared = change(before)
  if (declared === undefined) return 'changed'
  const after = withDeclared(before, declared)
  yield* putEntity(after)
  yield* record({ ...event, object: name, changes: entityChanges(before, after) })
  return 'declared'
}

export const putEntity = (entity: Entity): Change<number> =>
  insert(
    'entity',
    {
      name: entity.name,
      definition: definitionOf(entity),
      version: isImported(entity) ? entity.source.version : null,
      changed: now(),
    },
    '(name) DO UPDATE SET definition = excluded.definition, version = excluded.version, changed = excluded.changed',
  )

/** Retires the version of an entity that gets another one or none. It is removed once no request reads it. */
function* retireVersionOf(name: string): Change<void> {
  const [entity] = yield* rows<{ version: string }>(
    'SELECT version FROM entity WHERE name = $1 AND version IS NOT NULL',
    name,
  )
  if (entity) yield* retire(entity.version)
}

export function* retire(version: string): Change<void> {
  yield* insert('retired', { version, at: yield* clock() }, 'DO NOTHING')
}

/** Marks retired versions as in use, because they are being read or pointed at again. */
export function* keepRetired(versions: readonly string[]): Change<void> {
  yield* run('UPDATE retired SET at = $1 WHERE version = ANY($2)', yield* clock(), versions)
}

/** Time in ms for which a replaced version is kept for requests that have just looked it up. */
const retiredGrace = 60_000

/** Forgets those of these versions that are old. @returns the number of forgotten versions */
export function* forgetRetired(versions: readonly string[]): Change<number> {
  const sql = 'DELETE FROM retired WHERE version = ANY($1) AND at < $2'
  return yield* run(sql, versions, (yield* clock()) - retiredGrace)
}

export interface RetiredVersion {
  readonly version: string
  /** True if no request can still look it up. */
  readonly isOld: boolean
}

export function* retiredVersions(): Read<readonly RetiredVersion[]> {
  const before = (yield* clock()) - retiredGrace
  const found = yield* rows<{ version: string; at: number }>('SELECT version, at FROM retired')
  return found.map(({ version, at }) => ({ version, isOld: at < before }))
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
