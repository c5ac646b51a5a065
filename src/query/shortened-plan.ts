import type { Entity } from '../model/entities.ts'
import type { Condition, Constant, Plan } from '../model/plan.ts'

/** Plans on their way between threads, which takes a hundredth of a millisecond for every ten parts. */

/** So many constants stay parts of the plan. */
const maxConstants = 2_000

/** The same plan, where lists of very many constants are one text each. */
export function shortened(plan: Plan): Plan {
  let constants = 0
  eachCondition(plan, condition => {
    if (condition.kind === 'in') constants += condition.values.length
  })
  return constants <= maxConstants ? plan : changed(plan, asRows, same)
}

/** The same plan about these entities, of which it has copies. */
export const withEntities = (plan: Plan, entities: ReadonlyMap<string, Entity>): Plan =>
  changed(plan, same, entity => entities.get(entity.name) ?? entity)

const same = <T>(value: T): T => value

function asRows(condition: Condition): Condition {
  if (condition.kind !== 'in') return condition
  const { field, values, negated } = condition
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

function eachCondition({ where }: Plan, take: (condition: Condition) => void): void {
  const visit = (condition: Condition): void => {
    take(condition)
    if (condition.kind === 'and' || condition.kind === 'or') condition.of.forEach(visit)
    else if (condition.kind === 'in plan') eachCondition(condition.plan, take)
  }
  if (where) visit(where)
}

/** Plans are as deep as queries may be, at most. */
function changed(
  plan: Plan,
  leaf: (condition: Condition) => Condition,
  entity: (one: Entity) => Entity,
): Plan {
  const change = (condition: Condition): Condition => {
    if (condition.kind === 'and' || condition.kind === 'or')
      return { kind: condition.kind, of: condition.of.map(change) }
    return condition.kind === 'in plan'
      ? { ...condition, plan: changed(condition.plan, leaf, entity) }
      : leaf(condition)
  }
  return { ...plan, entity: entity(plan.entity), where: plan.where && change(plan.where) }
}
