import { parseWritten } from '../../lib/json.ts'
import type { RecordChange } from '../../model/record-changes.ts'
import type { EntityState } from '../../model/snapshots.ts'
import type { Agreed, NewEntity, RecordEntity, Revision } from '../entities.ts'
import { slotsOf } from './record-source.ts'

/**
 * Changes of single records since the version of their entity was made (docs/decisions/0041). An entity with
 * changes is shown as a version of its own, which is not stored but derived from its base.
 */
export interface Changed {
  /** The entity with the version that is stored as a whole, or is a revision of one. */
  readonly base: RecordEntity
  /** All changes since then, oldest first. Change n is in slot n after those of the base. */
  readonly changes: readonly LoadedChange[]
}

export interface LoadedChange extends RecordChange {
  readonly record: Readonly<Record<string, unknown>> | null
}

/** A change as a row of the store. */
export interface ChangeRow {
  readonly seq: number
  readonly entity: string
  readonly key: string
  readonly key_values: string
  readonly json: string | null
  readonly added: number
}

/** Changes by the entity's source, which copies of the entity share. */
const changedOf = new WeakMap<RecordEntity['source'], Changed>()

/** @returns undefined if no record was written since the version was made */
export const changesOf = (entity: RecordEntity): Changed | undefined => changedOf.get(entity.source)

/** Number of single records that were written since the stored version was made. */
export const changesIn = (entity: RecordEntity): number => changesOf(entity)?.changes.length ?? 0

/** The entity in the version that is stored. */
export const baseEntity = (entity: RecordEntity): RecordEntity => changesOf(entity)?.base ?? entity

/** The line of a version that is stored (docs/decisions/0082). */
export const lineOf = ({
  version,
  root = version,
  folded = 0,
}: RecordEntity['source']): { readonly root: string; readonly folded: number } => ({ root, folded })

/** The state that an entity is in. */
export function stateOf(entity: RecordEntity): EntityState {
  const { root, folded } = lineOf(baseEntity(entity).source)
  return { entity: entity.name, root, seq: changesOf(entity)?.changes.at(-1)?.seq ?? folded }
}

/** The last change of each record. */
export function lastChanges({ changes }: Changed): ReadonlyMap<string, { change: LoadedChange; at: number }> {
  const known = latest.get(changes)
  if (known) return known
  const made = new Map(changes.map((change, at) => [change.key, { change, at }] as const))
  latest.set(changes, made)
  return made
}
const latest = new WeakMap<Changed['changes'], Map<string, { change: LoadedChange; at: number }>>()

/** Adds changes to a list, and moves the map of last changes to the new one. An earlier list makes its own again if asked. */
function appended(
  changes: readonly LoadedChange[],
  further: readonly LoadedChange[],
): readonly LoadedChange[] {
  const all = [...changes, ...further]
  const last = latest.get(changes)
  if (last) {
    latest.delete(changes)
    for (const [n, change] of further.entries()) last.set(change.key, { change, at: changes.length + n })
    latest.set(all, last)
  }
  return all
}

/** The records in the slots after those of the base; '{}' in a slot to which nothing refers any more. */
export const changedSlots = (changed: Changed): readonly string[] => {
  const last = lastChanges(changed)
  return changed.changes.map(({ key, json }, at) => (last.get(key)?.at === at && json !== null ? json : '{}'))
}

/** Makes a revision of an entity with changes one of its base that adds the changes, too. */
export function withChangedSlots(revision: Revision): Revision {
  const changed = changesOf(revision.of)
  if (!changed) return revision
  return { ...revision, of: changed.base, added: [...changedSlots(changed), ...revision.added] }
}

const separator = '+'

/** Splits a version into the stored one and the `seq` of its last change; 0: none. */
export function versionParts(version: string): { readonly stored: string; readonly seq: number } {
  const [stored = '', seq = '0'] = version.split(separator)
  return { stored, seq: Number(seq) }
}

/** The parts of a new version that decide what happens to the changes of the one before. */
export type TakenChanges = Pick<NewEntity, 'name' | 'replaces' | 'keepsNewer' | 'relies'> & {
  readonly agreed?: Agreed
}

export const agreedParts = ({
  version,
}: Agreed): { readonly stored: string | undefined; readonly seq: number } =>
  version === null ? { stored: undefined, seq: 0 } : versionParts(version)

/**
 * Shows an entity with its changes.
 * @param before the entity with the first of them, so that only the others are counted
 */
export function withChanges(
  base: RecordEntity,
  changes: readonly LoadedChange[],
  before: RecordEntity = base,
): RecordEntity {
  const last = changes.at(-1)
  if (!last) return base
  const { source } = base
  let { count, bytes, largest } = before.source
  const further = changes.slice(changesIn(before))
  for (const { json, added } of further) {
    const size = Buffer.byteLength(json ?? '')
    count += added
    bytes += size
    largest = Math.max(largest, size)
  }
  const lacking = (name: string) =>
    further.some(({ record }) => record !== null && (!Object.hasOwn(record, name) || record[name] === null))
  const entity: RecordEntity = {
    ...base,
    fields: base.fields.map((field, at) =>
      !field.nullable && (before.fields[at]?.nullable || lacking(field.name))
        ? { ...field, nullable: true }
        : field,
    ),
    source: {
      kind: 'records',
      version: `${source.version}${separator}${last.seq}`,
      count,
      bytes,
      largest,
      slots: slotsOf(base) + changes.length,
    },
  }
  changedOf.set(entity.source, { base, changes })
  return entity
}

interface ChangedEntities {
  /** The `seq` of the last known change of each entity that has changes. Those of one entity become visible in this order. */
  last(): Readonly<Record<string, number>>
  /**
   * @param stored all imported entities
   * @param rows the changes of each after its last known one, in their order
   * @returns the entities with their changes; undefined: the changes of those with a new version are known no longer, and
   * have to be read with all others
   */
  apply(stored: readonly RecordEntity[], rows: readonly ChangeRow[]): readonly RecordEntity[] | undefined
}

interface KnownEntity {
  readonly base: RecordEntity
  readonly changes: readonly LoadedChange[]
  readonly entity: RecordEntity
}

/** Keeps the changes of single records that an event loop knows. */
export function createChangedEntities(): ChangedEntities {
  let known: ReadonlyMap<string, KnownEntity> = new Map()

  return {
    last: () =>
      Object.fromEntries(
        [...known].flatMap(([name, { changes }]) => changes.slice(-1).map(({ seq }) => [name, seq])),
      ),
    apply: (stored, rows) => {
      const isCurrent = ({ name, source }: RecordEntity) =>
        (known.get(name)?.base.source.version ?? source.version) === source.version
      if (!stored.every(isCurrent)) {
        known = new Map(stored.filter(isCurrent).flatMap(({ name }) => entryOf(known, name)))
        return undefined
      }
      const more = Map.groupBy(rows, row => row.entity)
      known = new Map(
        stored.map(base => {
          const before = known.get(base.name)
          const further = more.get(base.name)?.map(loaded)
          if (before?.base === base && !further) return [base.name, before]
          const there = before?.changes ?? []
          const changes = further ? appended(there, further) : there
          return [base.name, { base, changes, entity: withChanges(base, changes, before?.entity) }]
        }),
      )
      return [...known.values()].map(({ entity }) => entity)
    },
  }
}

function entryOf<T>(map: ReadonlyMap<string, T>, name: string): readonly (readonly [string, T])[] {
  const value = map.get(name)
  return value === undefined ? [] : [[name, value]]
}

export const loaded = ({ seq, key, key_values, json, added }: ChangeRow): LoadedChange => ({
  seq,
  key,
  values: parseWritten(key_values) as readonly unknown[],
  json,
  added: added as RecordChange['added'],
  record: json === null ? null : (parseWritten(json) as Readonly<Record<string, unknown>>),
})
