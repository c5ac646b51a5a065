import { shown } from '../import/import-error.ts'
import { nobody } from '../lib/fair-queue.ts'
import { type DeclaredField, describedFields } from '../model/declared-fields.ts'
import type { Entity, Field } from '../model/entities.ts'
import type { Aggregate, Condition, Plan } from '../model/plan.ts'
import { keyValues } from '../model/record-changes.ts'
import type { Entities, RecordEntity } from '../storage/entities.ts'
import type { Reliance } from '../storage/single-records.ts'
import { keyOf, referencesOf, refOf, rowsOf, valuesPlan } from './references.ts'

/** Records that are there and that constraints, once declared, would not allow (docs/decisions/0076). */
export interface Misfits {
  readonly field: string
  readonly constraint: 'required' | 'oneOf' | 'unique' | 'references'
  /** Number of records; of a unique field, of values that several records have. */
  readonly count: number
  /** The keys of the first records, each as text; of a unique field, the first values. */
  readonly examples: readonly string[]
}

/** Number of examples, and maximum number of their characters. */
const some = 10
const maxExample = 100

/**
 * Finds the records that constraints don't allow.
 * @param before the declarations until now, which the records are known to fit
 */
export async function misfitsOf(
  entity: Entity,
  before: readonly DeclaredField[],
  all: ReadonlyMap<string, Entity>,
  entities: Pick<Entities, 'list'>,
): Promise<readonly Misfits[]> {
  if (entity.source.kind !== 'records' || entity.source.count === 0) return []
  const imported = entity as RecordEntity
  const old = new Map(before.map(one => [one.name, one]))
  const found: Misfits[] = []
  const add = async (field: Field, constraint: Misfits['constraint'], where: Condition) => {
    const misfits = await matching(imported, where, entities)
    if (misfits.count > 0) found.push({ field: field.name, constraint, ...misfits })
  }
  for (const { required, oneOf, unique, name } of describedFields(entity)) {
    const field = entity.fields.find(one => one.name === name)
    if (!field) continue
    const was = old.get(name)
    if (required && !was?.required)
      await add(field, 'required', { kind: 'null', field: refOf(field), negated: false })
    if (oneOf && JSON.stringify(oneOf) !== JSON.stringify(was?.oneOf)) {
      const misfits = await unlisted(imported, field, oneOf, entities)
      if (misfits.count > 0) found.push({ field: name, constraint: 'oneOf', ...misfits })
    }
    if (unique && !was?.unique) {
      const misfits = await repeated(imported, field, entities)
      if (misfits.count > 0) found.push({ field: name, constraint: 'unique', ...misfits })
    }
  }
  for (const { field, to, key } of referencesOf(entity, all)) {
    if (old.get(field.name)?.references === to.name) continue
    const { defaultCondition: _, ...other } = to
    await add(field, 'references', {
      kind: 'in plan',
      fields: [refOf(field)],
      negated: true,
      plan: valuesPlan(other, [key]),
    })
  }
  return found
}

/**
 * Returns what `misfitsOf` relies on. Constraints that were declared before need no second look.
 * @param all the entities that it was given
 */
export function reliedOn(
  entity: Entity,
  before: readonly DeclaredField[],
  all: ReadonlyMap<string, Entity>,
): readonly Reliance[] {
  const constraints = (fields: readonly DeclaredField[] = []) =>
    JSON.stringify(
      fields.map(({ name, required, oneOf, unique, references }) => [
        name,
        required,
        oneOf,
        unique,
        references,
      ]),
    )
  if (entity.source.kind !== 'records' || constraints(before) === constraints(entity.declaredFields))
    return []
  const { name, source } = entity
  return [
    { entity: name, version: source.version, since: { kind: 'unwritten' } },
    ...referencesOf(entity, all)
      .filter(({ to }) => to.name !== name)
      .map(({ to }) => ({ entity: to.name, version: to.source.version, since: { kind: 'kept' } as const })),
  ]
}

/** Counts records, and reads the keys of the first. */
async function matching(
  entity: RecordEntity,
  where: Condition,
  entities: Pick<Entities, 'list'>,
): Promise<Pick<Misfits, 'count' | 'examples'>> {
  const keys = [entity.key].flat().flatMap(name => entity.fields.find(field => field.name === name) ?? [])
  const plan = valuesPlan(entity, keys, { where })
  const { total = 0 } = await entities.list(
    { ...plan, page: { ...plan.page, limit: 0, total: true } },
    { kind: 'administrator' },
    'ndjson',
    nobody,
  )
  const examples: string[] = []
  if (total > 0)
    for await (const row of rowsOf(entities, { ...plan, page: { ...plan.page, limit: some } }))
      examples.push(keyValues(entity, row).map(text).join())
  return { count: total, examples }
}

/** Counts the records by value, of which few differ in a field that has a list of them. */
async function unlisted(
  entity: RecordEntity,
  field: Field,
  oneOf: readonly unknown[],
  entities: Pick<Entities, 'list'>,
): Promise<Pick<Misfits, 'count' | 'examples'>> {
  const name = keyOf(field)
  const listed = new Set(oneOf.map(name))
  let records = 0
  const examples: string[] = []
  for await (const row of rowsOf(entities, grouped(entity, field, null))) {
    const value = row[field.name] ?? null
    if (value === null || listed.has(name(value))) continue
    records += Number(row[counted])
    if (examples.length < some) examples.push(text(value))
  }
  return { count: records, examples }
}

async function repeated(
  entity: RecordEntity,
  field: Field,
  entities: Pick<Entities, 'list'>,
): Promise<Pick<Misfits, 'count' | 'examples'>> {
  const having: Condition = {
    kind: 'compare',
    operator: '>',
    negated: false,
    field: { name: counted, path: [], type: 'integer' },
    value: { kind: 'number', text: '1' },
  }
  const examples: string[] = []
  let count = 0
  for await (const row of rowsOf(entities, grouped(entity, field, having))) {
    const value = row[field.name] ?? null
    if (value === null) continue
    count++
    if (examples.length < some) examples.push(text(value))
  }
  return { count, examples }
}

/** The column with the number of records. No field can have this name beside it: it is the only other column. */
const counted = '#'

/** A plan for each value of a field with the number of its records. */
function grouped(entity: RecordEntity, field: Field, having: Condition | null): Plan {
  const plan = valuesPlan(entity, [field])
  if (plan.shape.kind !== 'rows') return plan
  const count: Aggregate = { kind: 'aggregate', name: 'count', field: null }
  return {
    ...plan,
    shape: {
      ...plan.shape,
      columns: [...plan.shape.columns, { name: counted, value: count, type: 'integer' }],
      groups: [{ kind: 'field', field: refOf(field) }],
      having,
    },
  }
}

const text = (value: unknown): string =>
  (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, maxExample)

/** Says in a sentence what doesn't fit. */
export function misfitsInWords({ field, constraint, count, examples }: Misfits): string {
  const many = count.toLocaleString('en')
  const first = examples.map(one => shown(one)).join(', ')
  switch (constraint) {
    case 'required':
      return `${many} ${count === 1 ? 'record has' : 'records have'} no ${shown(field)}, such as ${first}`
    case 'oneOf':
      return `${many} ${count === 1 ? 'record has another value' : 'records have other values'} of ${shown(field)}: ${first}`
    case 'unique':
      return `${many} ${count === 1 ? 'value' : 'values'} of ${shown(field)} ${count === 1 ? 'is' : 'are'} there several times: ${first}`
    case 'references':
      return `${many} ${count === 1 ? 'record references' : 'records reference'} in ${shown(field)} what is not there, such as ${first}`
  }
}
