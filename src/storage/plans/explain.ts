import { equality } from '../../model/operators/list.ts'
import { type Condition, eachElement, type FieldRef, isWholeField, type Plan } from '../../model/plan.ts'
import { termsOf } from '../../model/plan-fields.ts'
import type { Viewer } from '../../model/readers.ts'

/** The explanation of a plan (Q26), as plain JSON. */
export type Explanation = Readonly<Record<string, unknown>>

/** The steps of a statement. */
export interface Steps {
  /** The steps in the words of the database. */
  readonly steps: readonly string[]
  readonly indexes: readonly string[]
  /** True if it reads all of a table. */
  readonly scans: boolean
  /** Present if it was run. */
  readonly ran?: { readonly rows: number; readonly milliseconds: number }
}

/**
 * Reads the steps of a statement.
 * @param index finds the name of an index in a step: the first group that isn't empty
 * @param scan finds a step that reads all of a table
 */
export const stepsFrom = (steps: readonly string[], index: RegExp, scan: RegExp): Steps => ({
  steps,
  indexes: [
    ...new Set(
      steps.flatMap(
        step =>
          index
            .exec(step)
            ?.slice(1)
            .find(name => name) ?? [],
      ),
    ),
  ],
  scans: steps.some(step => scan.test(step)),
})

/** The condition of a plan, with entities by their names. */
const conditionOf = ({ where }: Plan): unknown =>
  where === null
    ? null
    : JSON.parse(
        JSON.stringify(where, (key, value: unknown) =>
          key === 'entity'
            ? (value as Plan['entity']).name
            : key === 'path'
              ? (value as FieldRef['path']).map(step => (step === eachElement ? '[*]' : step))
              : value,
        ),
      )

/**
 * Explains a plan. Only administrators see how it is run, because that depends on all rows and on their
 * number; others see how it was understood.
 */
export function explanationOf(
  engine: string,
  plan: Plan,
  viewer: Viewer,
  more: Explanation | undefined,
): Explanation {
  const understood = { engine, entity: plan.entity.name, condition: conditionOf(plan) }
  return viewer.kind === 'administrator' ? { ...understood, ...more } : understood
}

export const stepsAsJson = (plan: Plan, sql: string, { steps, indexes, scans, ran }: Steps): Explanation => ({
  sql,
  steps,
  indexes,
  advice: scans ? adviceOn(plan) : null,
  ...(ran && { ran }),
})

/** Suggests an index for a plan that reads all of a table. */
function adviceOn({ entity, where }: Plan): string | null {
  const fields = new Set(termsOf(where).flatMap(selectiveField))
  if (fields.size === 0) return null
  const names = [...fields].map(name => JSON.stringify(name)).join(' or ')
  return `All of ${entity.name} is read. An index on ${names} would help.`
}

/** The field of a condition that few records are likely to fulfil. */
function selectiveField(condition: Condition): readonly string[] {
  const equal = equality(condition)
  if (!equal || equal.negated) return []
  const { name, type } = equal.field
  return !isWholeField(equal.field) || type === 'json' || type === 'boolean' ? [] : [name]
}
