import type { Entity } from '../model/entities.ts'
import { equality } from '../model/operators/list.ts'
import type { Condition, Constant, Plan } from '../model/plan.ts'
import { leavesOf, plansIn, withParts, withRelated } from '../model/plan-fields.ts'

/** Shortens plans on their way between threads, where every ten parts take a hundredth of a millisecond. */

/** Maximum number of constants that stay parts of a plan. */
const maxConstants = 2_000

/** Writes each list of constants as one text if the plan has very many constants. */
export function shortened(plan: Plan): Plan {
  return constantsIn(plan) <= maxConstants ? plan : changed(plan, asRows, same)
}

/** Puts these entities in place of the plan's copies. */
export const withEntities = (plan: Plan, entities: ReadonlyMap<string, Entity>): Plan =>
  changed(plan, same, entity => entities.get(entity.name) ?? entity)

const same = <T>(value: T): T => value

function asRows(condition: Condition): Condition {
  const equal = equality(condition)
  if (!equal || equal.values.length === 1) return condition
  const { field, values, negated } = equal
  return { kind: 'in rows', fields: [field], rows: `[${values.map(rowOf).join()}]`, negated }
}

const rowOf = (constant: Constant): string => `[${jsonOf(constant)}]`

function jsonOf(constant: Constant): string {
  switch (constant.kind) {
    case 'number':
      return constant.text
    case 'json':
      return constant.json
    case 'boolean':
      return String(constant.value)
    default:
      return JSON.stringify(constant.text)
  }
}

const constantsIn = ({ where }: Plan): number =>
  leavesOf(where).reduce((sum, leaf) => sum + (equality(leaf)?.values.length ?? 0), 0) +
  plansIn(where).reduce((sum, plan) => sum + constantsIn(plan), 0)

/** Changes a plan. The recursion is as deep as the query at most. */
function changed(
  plan: Plan,
  leaf: (condition: Condition) => Condition,
  entity: (one: Entity) => Entity,
): Plan {
  const change = (condition: Condition): Condition =>
    withParts(leaf(condition), { condition: change, plan: inner => changed(inner, leaf, entity) })
  const made = { ...plan, entity: entity(plan.entity), where: plan.where && change(plan.where) }
  return withRelated(made, related =>
    'rows' in related.of ? related : { ...related, of: changed(related.of, leaf, entity) },
  )
}
