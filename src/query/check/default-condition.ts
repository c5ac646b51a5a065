import type { Entity } from '../../model/entities.ts'
import { printAst } from '../language/print-ast.ts'
import { readAst } from '../language/read-ast.ts'
import { check } from './check.ts'

/**
 * A condition that queries of this entity can have by default (Q25).
 * @param text its AST
 * @returns the same as it is kept
 * @throws QueryError that names the place of what is wrong with it
 */
export function defaultConditionOf(text: string, entity: Entity): string {
  const node = readAst(text)
  const { defaultCondition: _, ...plain } = entity
  const declared = { ...plain, defaultCondition: printAst(node) }
  // As a query of its own, which names the place of a mistake, and then as what is added to others.
  check(node, alone(plain))
  check(null, alone(declared))
  return declared.defaultCondition
}

/** A default condition is about its entity only. */
const alone = (entity: Entity) => ({
  entity,
  entities: new Map([[entity.name, entity]]),
  mayRead: () => true,
  given: { total: false },
})
