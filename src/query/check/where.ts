import type { Entity } from '../../model/entities.ts'
import { type Node, QueryError } from '../language/node.ts'
import { readAst } from '../language/read-ast.ts'
import { combined } from './normal-form.ts'
import { type Checked, entityScope, type Scope, type Shared, sharedBy } from './scope.ts'

/** Joins the condition of a query with the default condition of its entity, unless it uses a field of that (Q25). */
export function whereOf(query: Node | null, scope: Scope): Checked {
  const own = query && scope.shared.condition(query, false, scope)
  const { entity } = scope
  if (entity?.defaultCondition === undefined) return own
  const added = defaultOf(entity, scope.shared)
  return added.fields.some(field => scope.mentioned.has(field))
    ? own
    : combined('and', [own, added.condition])
}

interface Default {
  readonly condition: Checked
  readonly fields: readonly string[]
}

const known = new WeakMap<Entity, Default>()

/** Reads a default condition once for each entity. It can't use other entities, so it is the same for every caller. */
function defaultOf(entity: Entity, shared: Shared): Default {
  let found = known.get(entity)
  if (found === undefined) {
    found = readDefault(entity, shared)
    known.set(entity, found)
  }
  return found
}

/** @throws QueryError. A condition that was right when it was declared can be wrong now if the fields have changed. */
function readDefault(entity: Entity, { condition, computed, related }: Shared): Default {
  const shared = sharedBy({ entities: new Map(), mayRead: () => false, condition, computed, related })
  const scope = entityScope(entity, shared, 0, 'A default condition')
  try {
    const checked = condition(readAst(entity.defaultCondition ?? ''), false, scope)
    return { condition: checked, fields: [...scope.mentioned] }
  } catch (error) {
    if (!(error instanceof QueryError)) throw error
    throw new QueryError(
      `The default condition of ${entity.name} is wrong, and its operator has to change it: ${error.message}`,
      { pointer: '' },
      error.members,
    )
  }
}
