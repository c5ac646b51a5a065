import { parseWritten } from '../../lib/json.ts'
import { RecentlyUsed } from '../../lib/memo.ts'
import { compareKeys, keyValues, sortKeys } from '../../model/record-changes.ts'
import { orderOf } from '../../model/value-order.ts'
import type { Edit } from '../columns/edits.ts'
import type { Place } from '../columns/look-up.ts'
import { type NewValue, newValues } from '../columns/rank-revision.ts'
import type { RecordEntity, RevisedRecords } from '../entities.ts'
import { type Changed, type LoadedChange, lastChanges } from './pending-changes.ts'
import { slotsOf } from './record-source.ts'

/** Finds the places of keys in a version, each by its sort keys. */
type FindKeys = (keys: readonly (readonly string[])[]) => Promise<readonly Place[]>

/** The changes of single records to their base version. */
export interface Edits {
  readonly edits: readonly Edit[]
  readonly written: readonly LoadedChange[]
  /** The slots of `written`. */
  readonly slots: readonly number[]
}

/** Places of keys and values in a version. A version never changes, so each is looked up only once. */
interface Places {
  readonly keys: Map<string, Place>
  readonly values: Map<number, Map<string, Place>>
}

/** Maximum number of versions whose places are cached. */
const maxVersions = 100

export function createPlaces() {
  const versions = new RecentlyUsed<string, Places>(maxVersions)
  const edits = new WeakMap<Changed['changes'], Edits>()

  function placesIn({ source }: RecordEntity): Places {
    const known = versions.get(source.version)
    if (known) return known
    const places = { keys: new Map(), values: new Map() }
    versions.add(source.version, places)
    return places
  }

  async function editsOf(changed: Changed, find: FindKeys): Promise<Edits> {
    const done = edits.get(changed.changes)
    if (done) return done
    const { base } = changed
    const { keys } = placesIn(base)
    const last = [...lastChanges(changed).values()]
    const unknown = last.filter(({ change }) => !keys.has(change.key))
    const found = await find(unknown.map(({ change }) => sortKeys(base, change.values)))
    for (const [n, { change }] of unknown.entries()) keys.set(change.key, found[n] as Place)
    const made = editsIn(changed, last, keys)
    edits.set(changed.changes, made)
    return made
  }

  /** Returns the values of the written records in a field. @param find finds keys among its values in the base */
  async function valuesOf(
    base: RecordEntity,
    field: number,
    written: RevisedRecords['written'],
    find: (keys: readonly string[]) => Promise<readonly Place[]>,
  ): Promise<NewValue[]> {
    const described = base.fields[field] as RecordEntity['fields'][number]
    const { name } = described
    const order = orderOf(described)
    const { values } = placesIn(base)
    const places = values.get(field) ?? new Map<string, Place>()
    values.set(field, places)
    const keys = written.map(({ record }) => {
      const value = record && Object.hasOwn(record, name) ? record[name] : null
      return value === null || value === undefined ? null : order.key(value)
    })
    const unknown = [...new Set(keys.filter(key => key !== null && !places.has(key)))] as string[]
    const found = unknown.length === 0 ? [] : await find(unknown)
    for (const [n, key] of unknown.entries()) places.set(key, found[n] as Place)
    return newValues(keys, places, order)
  }

  return { editsOf, valuesOf }
}

/** Sorts the last changes of each key by where they belong in the base. @param keys the places of all of them */
function editsIn(
  { base, changes }: Changed,
  last: readonly { readonly change: LoadedChange; readonly at: number }[],
  keys: ReadonlyMap<string, Place>,
): Edits {
  const compare = compareKeys(base)
  const sorted = last
    .map(({ change, at }) => ({
      change,
      at,
      place: keys.get(change.key) as Place,
      sortKeys: sortKeys(base, change.values),
    }))
    // A record that was added and deleted again changes nothing.
    .filter(({ change, place }) => change.json !== null || place.isThere)
    .sort(
      (one, other) =>
        one.place.at - other.place.at ||
        Number(one.place.isThere) - Number(other.place.isThere) ||
        compare(one.sortKeys, other.sortKeys),
    )
  const written = sorted.filter(({ change }) => change.json !== null)
  let next = 0
  const made: Edits = {
    edits: sorted.map(({ change, place }) => ({ ...place, written: change.json === null ? -1 : next++ })),
    written: written.map(({ change }) => change),
    slots: written.map(({ at }) => slotsOf(base) + at),
  }
  const count = changes.reduce((sum, { added }) => sum + added, 0)
  if (written.length - sorted.filter(({ place }) => place.isThere).length !== count)
    throw new Error(`the changes of ${base.name} don't belong to its version`)
  return made
}

/** A search for a record by its sort keys. */
export function keySearch(base: RecordEntity, slots: Uint32Array | null) {
  const compare = compareKeys(base)
  return {
    length: base.source.count,
    slot: (n: number) => (slots ? (slots[n] as number) : n),
    compare: (json: string, key: readonly string[]) =>
      compare(sortKeys(base, keyValues(base, parseWritten(json) as Readonly<Record<string, unknown>>)), key),
  }
}
