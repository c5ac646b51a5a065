import { parseWritten } from '../../lib/json.ts'
import type { RecordChange } from '../../model/record-changes.ts'
import type { Agreed, NewEntity, RecordEntity, Revision } from '../entities.ts'
import { slotsOf } from './record-source.ts'

/**
 * Single records that were written since the version of their entity was made (docs/decisions/0041). An entity that has
 * some is shown as a version of its own, which lies nowhere as a whole: it is derived from its base.
 */
export interface Changed {
  /** The entity with the version that is stored as a whole, or is a revision of one. */
  readonly base: RecordEntity
  /** All since then, oldest first. Change n is in slot n behind those of the base. */
  readonly changes: readonly LoadedChange[]
}

export interface LoadedChange extends RecordChange {
  readonly record: Readonly<Record<string, unknown>> | null
}

/** As a row of the store. */
export interface ChangeRow {
  readonly seq: number
  readonly entity: string
  readonly key: string
  readonly key_values: string
  readonly json: string | null
  readonly added: number
}

/** By the source, which copies of an entity share. */
const changedOf = new WeakMap<RecordEntity['source'], Changed>()

/** @returns undefined where no single record was written since the version was made */
export const changesOf = (entity: RecordEntity): Changed | undefined => changedOf.get(entity.source)

/** The version of an entity that the store has. */
export const baseEntity = (entity: RecordEntity): RecordEntity => changesOf(entity)?.base ?? entity

/** The last change of each record. */
export function lastChanges({ changes }: Changed): ReadonlyMap<string, { change: LoadedChange; at: number }> {
  const known = latest.get(changes)
  if (known) return known
  const made = new Map(changes.map((change, at) => [change.key, { change, at }] as const))
  latest.set(changes, made)
  return made
}
const latest = new WeakMap<Changed['changes'], ReturnType<typeof lastChanges>>()

/** The records in the slots behind those of the base. Nothing refers to what is not a record any more. */
export const changedSlots = (changed: Changed): readonly string[] => {
  const last = lastChanges(changed)
  return changed.changes.map(({ key, json }, at) => (last.get(key)?.at === at && json !== null ? json : '{}'))
}

/** A revision of an entity with changes is one of its base, to which it also adds them. */
export function withChangedSlots(revision: Revision): Revision {
  const changed = changesOf(revision.of)
  if (!changed) return revision
  return { ...revision, of: changed.base, added: [...changedSlots(changed), ...revision.added] }
}

const separator = '+'

/** The version that is stored, and the last change that is in it; 0: none. */
export function versionParts(version: string): { readonly stored: string; readonly seq: number } {
  const [stored = '', seq = '0'] = version.split(separator)
  return { stored, seq: Number(seq) }
}

/** The parts of a new version that decide what happens to the changes of the one before. */
export type TakenChanges = Pick<NewEntity, 'name' | 'replaces' | 'keepsNewer'> & { readonly agreed?: Agreed }

export const agreedParts = ({
  version,
}: Agreed): { readonly stored: string | undefined; readonly seq: number } =>
  version === null ? { stored: undefined, seq: 0 } : versionParts(version)

function withChanges(base: RecordEntity, changes: readonly LoadedChange[]): RecordEntity {
  const last = changes.at(-1)
  if (!last) return base
  const { source } = base
  let { count, bytes, largest } = source
  for (const { json, added } of changes) {
    const size = Buffer.byteLength(json ?? '')
    count += added
    bytes += size
    largest = Math.max(largest, size)
  }
  const lacking = (name: string) =>
    changes.some(({ record }) => record !== null && (!Object.hasOwn(record, name) || record[name] === null))
  const entity: RecordEntity = {
    ...base,
    fields: base.fields.map(field =>
      !field.nullable && lacking(field.name) ? { ...field, nullable: true } : field,
    ),
    source: {
      kind: 'records',
      version: `${source.version}${separator}${last.seq}`,
      ...{ count, bytes, largest, slots: slotsOf(base) + changes.length },
    },
  }
  changedOf.set(entity.source, { base, changes })
  return entity
}

export interface ChangedEntities {
  /** The last change that is known. */
  readonly last: number
  /**
   * @param stored all imported entities
   * @param rows changes after the last known one, in their order
   * @returns the entities as they are with their changes; undefined: all rows have to be read, because an entity has another
   *   version by now
   */
  apply(stored: readonly RecordEntity[], rows: readonly ChangeRow[]): readonly RecordEntity[] | undefined
  /** The same with all rows that there are. */
  replace(stored: readonly RecordEntity[], rows: readonly ChangeRow[]): readonly RecordEntity[]
}

/** What an event loop knows of the changes of single records. */
export function createChangedEntities(): ChangedEntities {
  let known = new Map<string, { readonly version: string; readonly changes: readonly LoadedChange[] }>()
  let last = 0

  function added(stored: readonly RecordEntity[], rows: readonly ChangeRow[]): readonly RecordEntity[] {
    const more = new Map<string, LoadedChange[]>()
    for (const row of rows) {
      const list = more.get(row.entity) ?? []
      list.push(loaded(row))
      more.set(row.entity, list)
      last = Math.max(last, row.seq)
    }
    const next: typeof known = new Map()
    const entities = stored.map(base => {
      const { name, source } = base
      const before = known.get(name)?.changes ?? []
      const changes = more.has(name) ? [...before, ...(more.get(name) ?? [])] : before
      next.set(name, { version: source.version, changes })
      return withChanges(base, changes)
    })
    known = next
    return entities
  }

  return {
    get last() {
      return last
    },
    apply: (stored, rows) => {
      const isOutdated = stored.some(({ name, source }) => {
        const before = known.get(name)
        return before !== undefined && before.changes.length > 0 && before.version !== source.version
      })
      return isOutdated ? undefined : added(stored, rows)
    },
    replace: (stored, rows) => {
      known = new Map()
      return added(stored, rows)
    },
  }
}

const loaded = ({ seq, key, key_values, json, added }: ChangeRow): LoadedChange => ({
  seq,
  key,
  values: parseWritten(key_values) as readonly unknown[],
  json,
  added: added as RecordChange['added'],
  record: json === null ? null : (parseWritten(json) as Readonly<Record<string, unknown>>),
})
