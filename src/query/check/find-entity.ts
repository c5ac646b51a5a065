import { commaList, quote, suggestion } from '../../http/parameters.ts'
import { formerNames } from '../../model/built-in-entities.ts'
import type { Entity } from '../../model/entities.ts'
import type { Node } from '../language/node.ts'
import type { Shared } from './scope.ts'
import { described, wrong } from './wrong.ts'

/**
 * Finds the entity that a query names, with `_` and `-` alike. An entity that the caller may not read gets
 * the same answer as one that doesn't exist (Q14).
 */
export function findEntity(node: Node, shared: Shared): Entity {
  if (node.kind !== 'text')
    throw wrong(node, `The name of an entity is text, not ${described(node)}.`, { legal: readable(shared) })
  const entity = entityNamed(node.text, shared)
  if (entity) return entity
  const names = readable(shared)
  const { hint, members } = suggestion(node.text, names)
  const legal = names.length === 0 ? 'You may read no entity.' : `You may read ${commaList(names)}.`
  throw wrong(node, `There is no entity ${quote(node.text)}.${hint} ${legal}`, members)
}

/** Maximum length in characters of a name that is searched for; no entity has a longer one. */
const maxLength = 1_000

function entityNamed(name: string, { entities, mayRead }: Shared): Entity | undefined {
  const exact = entities.get(name) ?? entities.get(formerNames.get(name) ?? '')
  if (exact && mayRead(exact)) return exact
  if (name.length > maxLength) return undefined
  const wanted = dashed(name)
  return [...entities.values()].find(one => dashed(one.name) === wanted && mayRead(one))
}

const dashed = (name: string) => name.replaceAll('_', '-')

const readable = ({ entities, mayRead }: Shared) =>
  [...entities.values()].filter(mayRead).map(({ name }) => name)
