import { checkerOf, completerOf, constraintsOf } from '../import/constraints.ts'
import type { Faults } from '../import/faults.ts'
import { maxFields, tooManyFields, unlikeNames } from '../import/field-list.ts'
import { ImportError } from '../import/import-error.ts'
import { type Members, parseWritten } from '../lib/json.ts'
import type { Field } from '../model/entities.ts'
import { compareKeys } from '../model/record-changes.ts'
import type { Edit } from '../storage/columns/edits.ts'
import { type Origins, originsOf } from '../storage/columns/rank-revision.ts'
import type { OpenVersion, RecordEntity } from '../storage/entities.ts'
import { findKeysTogether } from '../storage/records/search.ts'
import { type Change, keysOf } from './change-file.ts'

/** A kind of change. `update` inserts records, or replaces those with the same key; `delete` deletes records by key. */
export type ChangeKind = 'update' | 'delete'

/** The changes to make to a version, in the order of the key. */
export interface ChangePlan {
  readonly entity: RecordEntity
  readonly version: OpenVersion
  /** The slot of each record, by its number in the old version. */
  readonly slots: Uint32Array
  readonly written: readonly Change[]
  /** For each written record, the record that it replaces and that record's number; null if it is new. */
  readonly replaced: readonly ({ readonly number: number; readonly record: Members } | null)[]
  /** What the changes make of the records. */
  readonly edits: readonly Edit[]
  /** The origins of the records of the new version. */
  readonly origins: Origins
}

export interface Counts {
  readonly inserted: number
  readonly replaced: number
  readonly deleted: number
  /**
   * Number of records in the file that changed nothing, because an equal record existed, or
   * because none existed to delete.
   */
  readonly unchanged: number
}

/**
 * Finds the existing records with the same keys, and plans the changes. New records get defaults; those that
 * differ afterwards are held to what the entity declares.
 * @param faults the faults found in the file so far
 * @throws ImportError naming all faults of the file, including records that the entity can't have
 */
export async function planOf(
  entity: RecordEntity,
  version: OpenVersion,
  changes: readonly Change[],
  kind: ChangeKind,
  faults: Faults,
): Promise<{
  plan: ChangePlan
  counts: Counts
  /** The changes that delete a record. */
  deleted: readonly Change[]
}> {
  const slots = await version.slots()
  const compare = compareKeys(entity)
  const keyOf = keysOf(entity)
  const slotOf = (at: number) => slots[at] as number
  const places = await findKeysTogether(
    {
      length: slots.length,
      slot: slotOf,
      compare: (record: Members, key: readonly string[]) => compare(keyOf(record), key),
    },
    changes.map(({ key }) => key),
    some => readRecords(version, some),
  )
  const there = new Set(places.flatMap(({ at, isThere }) => (isThere ? slotOf(at) : [])))
  const wanted = Uint32Array.from(there).sort()
  const records = await readRecords(version, wanted)
  const known = new Map(records.map((record, n) => [wanted[n], record]))
  const constraints = constraintsOf(entity)
  const check = checkerOf(constraints)
  const completed = completerOf(constraints)
  const written: Change[] = []
  const replaced: ChangePlan['replaced'][number][] = []
  const counts = { inserted: 0, replaced: 0, deleted: 0, unchanged: 0 }
  const edits: Edit[] = []
  const deleted: Change[] = []
  for (const [n, change] of changes.entries()) {
    const { at, isThere } = places[n] as (typeof places)[number]
    const record = isThere ? known.get(slotOf(at)) : undefined
    const isSame =
      kind === 'delete' ? !record : record && JSON.stringify(record) === JSON.stringify(change.record)
    if (isSame) {
      counts.unchanged++
      continue
    }
    edits.push({ at, isThere: record !== undefined, written: kind === 'delete' ? -1 : written.length })
    if (kind === 'delete') {
      counts.deleted++
      deleted.push(change)
    } else {
      if (record) counts.replaced++
      else counts.inserted++
      const complete = record ? change : { ...change, record: completed(change.record) }
      check(complete.record, ({ field, message }) =>
        faults.add(new ImportError(`${message}`, { line: change.line, field })),
      )
      written.push(complete)
      replaced.push(record ? { number: at, record } : null)
    }
  }
  faults.throwIfAny()
  const origins = originsOf(slots.length, edits)
  return { plan: { entity, version, slots, written, replaced, edits, origins }, counts, deleted }
}

/** Returns the fields of the entity, followed by new ones in the order of the file. */
export function fieldsOf({ entity, written }: Pick<ChangePlan, 'entity' | 'written'>): Field[] {
  const known = new Set(entity.fields.map(({ name }) => name))
  const added = new Set<string>()
  const requireUnlike = unlikeNames(known)
  for (const name of known) requireUnlike(name, 0)
  for (const { record, line } of written.toSorted((one, other) => one.line - other.line))
    for (const name in record) {
      if (known.has(name)) continue
      requireUnlike(name, line)
      added.add(name)
      if (known.size + added.size > maxFields) throw tooManyFields(line)
    }
  return [...entity.fields, ...[...added].map(name => ({ name, type: 'text', nullable: true }) as const)]
}

/** Number of slots read at a time. */
const readStep = 4_000

/** Reads records, a few thousand at a time. */
export async function readRecords(version: OpenVersion, slots: Uint32Array): Promise<readonly Members[]> {
  const records: Members[] = []
  for (let from = 0; from < slots.length; from += readStep)
    for (const json of await version.read(slots.subarray(from, from + readStep)))
      records.push(parseWritten(json) as Members)
  return records
}
