import type { First } from '../import/check-key.ts'
import { constraintsOf } from '../import/constraints.ts'
import { Faults } from '../import/faults.ts'
import type { Declarations } from '../import/field-list.ts'
import { ImportError, shown } from '../import/import-error.ts'
import type { Staged } from '../import/staging.ts'
import { fieldValue } from '../import/types.ts'
import { describedFields } from '../model/declared-fields.ts'
import type { Entity, FieldType } from '../model/entities.ts'
import { keyValues, recordKey } from '../model/record-changes.ts'
import type { Entities, RecordEntity } from '../storage/entities.ts'
import type { Reliance } from '../storage/single-records.ts'
import type { Change } from './change-file.ts'
import type { ChangeKind } from './change-plan.ts'
import { suits } from './declare-fields.ts'
import {
  keyOf,
  type Reference,
  referencesOf,
  referencesTo,
  rowsOf,
  uniqueFields,
  valuesPlan,
} from './references.ts'

/** Files against the declared constraints of their entity (docs/decisions/0076). */

type Known = ReadonlyMap<string, Entity>

/** Constraints on a file of all records. */
interface Held {
  /** Types that fields with constraints keep, and what their values must be. */
  readonly declarations: Pick<Declarations, 'types' | 'kept' | 'held' | 'constraints' | 'unique' | 'looked'>
  /** The declarations of fields, as JSON. */
  readonly declared: string
  readonly isConstrained: boolean
  /**
   * @returns what was seen of other entities
   * @throws ImportError naming values that are keys of no record, or records that others reference and that would go
   */
  requireReferences(staged: Staged, entities: Entities): Promise<readonly Reliance[]>
}

/**
 * @param types declared for this import
 * @throws ImportError for a type that a field with constraints can't have
 */
export function heldBy(all: Known, name: string, types: ReadonlyMap<string, FieldType>): Held {
  const entity = all.get(name)
  if (entity?.source.kind !== 'records')
    return {
      declarations: { types, kept: new Set() },
      declared: 'null',
      isConstrained: false,
      requireReferences: async () => [],
    }
  const constrained = describedFields(entity).filter(
    one => one.default !== undefined || one.oneOf !== undefined || one.unique || one.references !== undefined,
  )
  const kept = new Map(types)
  for (const field of constrained) {
    const type = types.get(field.name) ?? field.type
    if (!suits(entity, { name: field.name, type, nullable: true }, all))
      throw new ImportError(
        `the field ${shown(field.name)} of ${name} can't be ${type}, because of its ${Object.keys(field)
          .filter(member => ['default', 'oneOf', 'unique', 'references'].includes(member))
          .join(', ')}; take that back first`,
        { field: field.name },
      )
    kept.set(field.name, type)
  }
  const references = referencesOf(entity, all)
  const declared = JSON.stringify(entity.declaredFields ?? null)
  return {
    declarations: {
      types: kept,
      kept: new Set(entity.fields.map(field => field.name)),
      held: new Set([...kept.keys()].filter(one => !types.has(one))),
      constraints: constraintsOf(entity),
      unique: uniqueFields(entity).map(field => field.name),
      looked: references.map(({ field }) => field.name),
    },
    declared,
    isConstrained:
      constrained.length > 0 || referencesTo(entity, all).length > 0 || constraintsOf(entity).length > 0,
    requireReferences: async (staged, entities) => {
      const now = await entities.all()
      const current = now.get(name)
      if (JSON.stringify(current?.declaredFields ?? null) !== declared)
        throw new ImportError(
          `what is declared of the fields of ${name} was changed meanwhile; import it again`,
        )
      if (current?.source.kind !== 'records') return []
      const faults = new Faults()
      const relies: Reliance[] = []
      for (const reference of referencesOf(current, now)) {
        const missing = await missingOf(reference, staged.firsts(reference.field.name), staged, entities)
        for (const { value, line } of missing) faults.add(noRecord(reference, value, line))
        if (reference.to.name !== name)
          relies.push({
            entity: reference.to.name,
            version: reference.to.source.version,
            since: { kind: 'kept' },
          })
      }
      faults.throwIfAny()
      for (const reference of referencesTo(current, now)) {
        if (reference.from.name === name) continue
        await requireKept(reference, staged, entities)
        relies.push(unwritten(reference))
      }
      return relies
    },
  }
}

const unwritten = ({ from }: Reference): Reliance => ({
  entity: from.name,
  version: from.source.version,
  since: { kind: 'unwritten' },
})

const noRecord = ({ field, to }: Reference, value: unknown, line: number) =>
  new ImportError(
    `the field ${shown(field.name)} references ${to.name}, which has no record ${shown(value)}`,
    { line, field: field.name },
  )

/** @returns the values that are keys of no record */
async function missingOf(
  { from, to, key }: Reference,
  firsts: readonly First[],
  staged: Staged | undefined,
  entities: Entities,
): Promise<readonly First[]> {
  const name = keyOf(key)
  const left = new Map(firsts.map(first => [name(first.value), first]))
  // A reference to the entity itself is one to the records of the file.
  if (staged && to.name === from.name) {
    const missing = await unknownIn(
      staged,
      [...left.values()].map(({ value }) => value),
    )
    const names = new Set(missing.map(name))
    return [...left].flatMap(([one, first]) => (names.has(one) ? [first] : []))
  }
  if (left.size > 0)
    for await (const row of rowsOf(entities, valuesPlan(to, [key]))) {
      left.delete(name(row[key.name]))
      if (left.size === 0) break
    }
  return [...left.values()]
}

/** Number of values looked up at a time. */
const step = 1_000
/** Number of records that a message names. */
const some = 10

/** @returns the first of these keys that no record of a file has */
async function unknownIn(staged: Staged, values: readonly unknown[], max = Number.POSITIVE_INFINITY) {
  const unknown: unknown[] = []
  for (let from = 0; from < values.length && unknown.length < max; from += step) {
    const part = values.slice(from, from + step)
    if (staged.countKnown(part.map(value => [value])) === part.length) continue
    unknown.push(...part.filter(value => staged.countKnown([[value]]) === 0))
  }
  return unknown.slice(0, max)
}

/** @throws ImportError if records that another entity references would go */
async function requireKept(reference: Reference, staged: Staged, entities: Entities): Promise<void> {
  const { from, field, to } = reference
  const gone: unknown[] = []
  let part: unknown[] = []
  const look = async () => {
    gone.push(...(await unknownIn(staged, part, some + 1 - gone.length)))
    part = []
  }
  for await (const row of rowsOf(entities, valuesPlan(from, [field], { distinct: true }))) {
    const value = row[field.name] ?? null
    if (value !== null) part.push(value)
    if (part.length === step) await look()
    if (gone.length > some) break
  }
  await look()
  if (gone.length > 0) throw stillReferenced(to.name, from.name, field.name, gone)
}

const stillReferenced = (to: string, from: string, field: string, values: readonly unknown[]) =>
  new ImportError(
    `${from} references records of ${to} that would go, in its field ${shown(field)}: ${values.slice(0, some).map(shown).join(', ')}${values.length > some ? ' and more' : ''}; change those records first`,
  )

/**
 * Checks a file of changes against the other records.
 * @returns what was seen of other entities
 * @throws ImportError naming the lines
 */
export async function requireHeld(
  changes: readonly Change[],
  entity: RecordEntity,
  kind: ChangeKind,
  entities: Entities,
): Promise<readonly Reliance[]> {
  const all = await entities.all()
  return kind === 'delete'
    ? requireUnreferenced(changes, entity, all, entities)
    : requireFitting(changes, entity, all, entities)
}

async function requireUnreferenced(
  changes: readonly Change[],
  entity: RecordEntity,
  all: Known,
  entities: Entities,
): Promise<readonly Reliance[]> {
  const relies: Reliance[] = []
  const deleted = new Set(changes.map(({ key }) => key[0]))
  for (const reference of referencesTo(entity, all)) {
    const { from, field, key } = reference
    const isSelf = from.name === entity.name
    const name = keyOf(key)
    const gone: unknown[] = []
    const keyFields = from.fields.filter(one => isSelf && one.name === key.name)
    for await (const row of rowsOf(entities, valuesPlan(from, [field, ...keyFields]))) {
      const value = row[field.name] ?? null
      if (value === null || !deleted.has(name(value))) continue
      if (isSelf && deleted.has(name(row[key.name]))) continue
      if (gone.push(value) > some) break
    }
    if (gone.length > 0) throw stillReferenced(entity.name, from.name, field.name, gone)
    if (!isSelf) relies.push(unwritten(reference))
  }
  return relies
}

async function requireFitting(
  changes: readonly Change[],
  entity: RecordEntity,
  all: Known,
  entities: Entities,
): Promise<readonly Reliance[]> {
  const faults = new Faults()
  const relies: Reliance[] = []
  const nameOf = (record: Readonly<Record<string, unknown>>) => recordKey(entity, keyValues(entity, record))
  const written = new Set(changes.map(({ record }) => nameOf(record)))
  for (const field of uniqueFields(entity)) {
    const name = keyOf(field)
    const seen = new Map<string, Change>()
    for (const change of changes.toSorted((one, other) => one.line - other.line)) {
      const value = fieldValue(change.record, field.name)
      if (value === null) continue
      const before = seen.get(name(value))
      if (before) faults.add(again(field.name, value, change.line, `line ${before.line}`))
      else seen.set(name(value), change)
    }
    const keys = [entity.key].flat().flatMap(one => entity.fields.find(two => two.name === one) ?? [])
    if (seen.size > 0)
      for await (const row of rowsOf(
        entities,
        valuesPlan(entity, [field, ...keys.filter(one => one !== field)]),
      )) {
        const value = row[field.name] ?? null
        const change = value === null ? undefined : seen.get(name(value))
        // Records of the file have other values from now on.
        if (!change || written.has(nameOf(row))) continue
        faults.add(
          again(field.name, value, change.line, `the record ${keyValues(entity, row).map(shown).join(', ')}`),
        )
      }
  }
  for (const reference of referencesOf(entity, all)) {
    const { field, to, key } = reference
    const name = keyOf(key)
    const own = to.name === entity.name ? new Set(changes.map(one => one.key[0])) : undefined
    const firsts = new Map<string, First>()
    for (const { record, line } of changes) {
      const value = fieldValue(record, field.name)
      if (value === null || own?.has(name(value))) continue
      const before = firsts.get(name(value))
      if (!before || before.line > line) firsts.set(name(value), { value, line })
    }
    const missing = await missingOf(reference, [...firsts.values()], undefined, entities)
    for (const { value, line } of missing) faults.add(noRecord(reference, value, line))
    if (!own) relies.push({ entity: to.name, version: to.source.version, since: { kind: 'kept' } })
  }
  faults.throwIfAny()
  return relies
}

const again = (field: string, value: unknown, line: number, where: string) =>
  new ImportError(
    `the field ${shown(field)} is unique, and has the value ${shown(value)} again, as ${where}`,
    { line, field },
  )
