import { sharedNumbers } from '../../lib/memory.ts'
import type { FieldType } from '../../model/entities.ts'
import {
  type Condition,
  differsIfMissing,
  type FieldRef,
  isOfElements,
  type Leaf,
  type Plan,
  type Related,
  type Rows,
} from '../../model/plan.ts'
import { listedField } from '../../model/plan-fields.ts'
import { type DerivedColumn, distinctIn, nameOf } from '../columns/columns.ts'
import type { RelatedTask } from '../columns/derived-columns.ts'
import type { Membership } from '../columns/memberships.ts'
import type { PackedSelection } from '../columns/selections.ts'
import type { PackedFacts } from '../columns/tasks.ts'
import { noRank, type Translation } from '../columns/translate.ts'
import type { TaskOrder, TranslatedSide } from '../columns/work.ts'
import type { RecordEntity } from '../entities.ts'
import { whilePresent } from '../runtime/limits.ts'
import type { Facts } from './facts.ts'
import type { Turn } from './kept-facts.ts'
import { allValues, isSameColumn, onlyRanks } from './needs.ts'

/** A field of the records that a condition is about, and its facts. */
type Side = PackedFacts & { readonly ref: FieldRef }

/** Finds the records that match a condition. */
export type Find = (turn: Turn, entity: RecordEntity, where: Condition) => Promise<PackedSelection>

/**
 * Turns the subqueries of a condition into memberships of the task (docs/decisions/0037), and finds values of related
 * records (docs/decisions/0078).
 */
export function createInPlans(facts: Facts, find: Find) {
  facts.related = async (turn, outer, { related: { fields, of } }) => {
    const sides: Side[] = []
    for (const ref of fields) sides.push({ ref, ...(await facts.make(turn, outer, { ref, ...allValues })) })
    const task = { count: outer.source.count, outer: sides.map(({ column }) => column) }
    if ('rows' in of) return relatedRows(turn, of, task, sides)
    const entity = of.entity as RecordEntity
    const selection = of.where && (await find(turn, entity, of.where))
    const inner: RelatedTask['inner'][number][] = []
    for (const [at, side] of sides.entries()) {
      const ref = listedField(of, at)
      const found = await facts.make(turn, entity, { ref, ...allValues })
      const from = { entity, ref, facts: found }
      const to = { entity: outer, ref: side.ref, facts: side }
      inner.push({ column: found.column, translation: await translation(facts, turn, from, to) })
    }
    const ref = listedField(of, fields.length)
    const { column, values } = await facts.make(turn, entity, { ref, ...allValues })
    if (!values) throw new Error('the values of a field are not at hand')
    const found = { ...task, others: entity.source.count, selection, inner, value: { column, values } }
    return whilePresent(turn.client, stop => turn.work.call('related', found, stop))
  }

  return async (
    turn: Turn,
    outer: RecordEntity,
    condition: Leaf<'in plan' | 'in rows'>,
    places: readonly number[],
    known: readonly Side[],
  ): Promise<Membership> => {
    const { negated } = condition
    const sides = places.map(at => known[at] as Side)
    if ('rows' in condition) return inRows(turn, condition, places, sides)
    const { plan } = condition
    const entity = plan.entity as RecordEntity
    const selection = await selectionOf(facts, find, turn, plan, entity)
    const inner: Membership['inner'][number][] = []
    for (const [at, side] of sides.entries()) {
      const ref = listedField(plan, at)
      const isSame = isSameColumn(outer, side.ref, entity, ref)
      const found = await facts.make(turn, entity, { ref, values: !isSame, lookups: 0, postings: false })
      if (isSame) {
        const translation = identity(distinctIn(found.column))
        inner.push({ column: found.column, translation, isOfElements: false })
        continue
      }
      const from = { entity, ref, facts: found }
      inner.push({
        column: found.column,
        translation: await translation(facts, turn, from, { entity: outer, ref: side.ref, facts: side }),
        isOfElements: isOfElements(ref),
      })
    }
    const nullDiffers = condition.fields.map(differsIfMissing)
    return {
      kind: 'member',
      facts: places,
      negated,
      nullDiffers,
      count: entity.source.count,
      selection,
      inner,
    }
  }
}

async function selectionOf(
  facts: Facts,
  find: Find,
  turn: Turn,
  plan: Plan,
  entity: RecordEntity,
): Promise<PackedSelection | null> {
  const { where, shape, page } = plan
  const selection = where && (await find(turn, entity, where))
  if (page.limit === null && page.offset === 0) return selection
  const order: TaskOrder[] = []
  for (const { by, descending } of (shape as Rows).order) {
    const value = typeof by === 'number' ? (shape as Rows).columns[by]?.value : by
    if (value?.kind !== 'field') throw new Error('a subquery is sorted by what is no field')
    const { column } = await facts.make(turn, entity, { ref: value.field, ...onlyRanks })
    order.push({ column, descending })
  }
  return turn.work.call('window', selection, entity.source.count, order, page.offset, page.limit)
}

/** Maps the ranks of the inner field to those of the outer one. */
function translation(
  facts: Facts,
  turn: Turn,
  inner: { readonly entity: RecordEntity; readonly ref: FieldRef; readonly facts: PackedFacts },
  outer: { readonly entity: RecordEntity; readonly ref: FieldRef; readonly facts: PackedFacts },
): Promise<Translation> {
  const name = `translation ${nameOf(inner.entity, inner.ref)} ${outer.entity.source.version} ${nameOf(outer.entity, outer.ref)}`
  return facts.kept(turn, inner.entity, name, () =>
    whilePresent(turn.client, stop =>
      turn.work.call('translate', sideOf(inner.facts, inner.ref), sideOf(outer.facts, outer.ref), stop),
    ),
  )
}

async function relatedRows(
  turn: Turn,
  of: Extract<Related['of'], { readonly rows: string }>,
  task: Pick<RelatedTask, 'count' | 'outer'>,
  sides: readonly Side[],
) {
  const { count, columns } = await columnsOf(turn, of.rows, [...sides.map(one => one.type), of.value.type])
  const value = columns.at(-1)
  if (!value) throw new Error('related records have no value')
  const inner = await translatedRows(turn, columns.slice(0, -1), sides)
  const found = { ...task, others: count, selection: null, inner, value }
  return whilePresent(turn.client, stop => turn.work.call('related', found, stop))
}

function identity(distinct: number): Translation {
  const table = sharedNumbers(distinct + 1)
  for (let rank = 0; rank < distinct; rank++) table[rank] = rank
  table[distinct] = noRank
  return table
}

/** Makes a membership of rows that were already read. */
async function inRows(
  turn: Turn,
  { fields, rows, negated }: Leaf<'in rows'>,
  places: readonly number[],
  sides: readonly Side[],
): Promise<Membership> {
  const { count, columns } = await columnsOf(
    turn,
    rows,
    sides.map(({ type }) => type),
  )
  const inner = await translatedRows(turn, columns, sides)
  const nullDiffers = fields.map(differsIfMissing)
  return { kind: 'member', facts: places, negated, nullDiffers, count, selection: null, inner }
}

const columnsOf = ({ work, client }: Turn, rows: string, types: readonly FieldType[]) =>
  whilePresent(client, stop => work.call('columnsOf', rows, types, stop))

/** Translates the columns of rows to those of fields. */
async function translatedRows(
  { work, client }: Turn,
  columns: readonly DerivedColumn[],
  sides: readonly Side[],
): Promise<Membership['inner']> {
  const inner: Membership['inner'][number][] = []
  for (const [at, { column, values }] of columns.entries()) {
    const side = sides[at] as Side
    const from = {
      type: side.type,
      collation: undefined,
      isList: false,
      isOfElements: false,
      distinct: column[0] as number,
      values,
    }
    const translation = await whilePresent(client, stop =>
      work.call('translate', from, sideOf(side, side.ref), stop),
    )
    inner.push({ column, translation, isOfElements: false })
  }
  return inner
}

function sideOf({ type, collation, column, values }: PackedFacts, ref: FieldRef): TranslatedSide {
  if (!values) throw new Error('the values of a field are not at hand')
  const kinds = { isList: ref.list === true, isOfElements: isOfElements(ref) }
  return { type, collation, ...kinds, distinct: distinctIn(column), values }
}
