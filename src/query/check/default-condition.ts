import type { Entity } from '../../model/entities.ts'
import { printAst } from '../language/print-ast.ts'
import { readAst } from '../language/read-ast.ts'
import { check } from './check.ts'

/**
 * Checks a condition that queries of this entity have by default (Q25).
 * @param text its AST
 * @returns the AST as it is stored
 * @throws QueryError that names the place of the mistake
 */
export function defaultConditionOf(text: string, entity: Entity): string {
  const node = readAst(text)
  const { defaultCondition: _, ...plain } = entity
  const declared = { ...plain, defaultCondition: printAst(node) }
  // The condition is first checked as a query of its own, which names the place of a mistake.
  check(node, alone(plain))
  check(null, alone(declared))
  return declared.defaultCondition
}

/** Makes a context that knows this entity alone, because a default condition can't refer to others. */
const alone = (entity: Entity) => ({
  entity,
  entities: new Map([[entity.name, entity]]),
  mayRead: () => true,
  given: { total: false },
})
