import { quote } from '../../http/parameters.ts'
import type { Entity } from '../../model/entities.ts'
import { eachElement, type FieldRef } from '../../model/plan.ts'
import { rowsPlan } from '../../model/plan-fields.ts'
import { type Pair, relationsBetween } from '../../model/relations.ts'
import type { Node } from '../language/node.ts'
import { type Found, findField } from './fields.ts'
import { entityNamed, type Scope } from './scope.ts'
import { innerScope, relatedField, requireComparable, unrelated, whereOf } from './subqueries.ts'
import { inLanguage, wrong } from './wrong.ts'

type Text = Extract<Node, { kind: 'text' }>

/** Maximum number of different fields of related entities in a query or subquery. */
const mostFields = 20

/** Maximum length in characters of a name with that of an entity before it. */
const maxLength = 1_000

/**
 * Reads `artists.name`: a field of the one record of a related entity that a record belongs to
 * (docs/decisions/0078).
 * @returns undefined if the caller knows no entity of that name
 * @throws QueryError for an entity that isn't related, or that has many records for one
 */
export function readRelated(node: Text, scope: Scope): Found | undefined {
  const known = scope.related.get(node.text)
  if (known) return known
  const named = splitName(node, scope)
  if (!named || !scope.entity) return undefined
  const { other, field } = named
  const name = { ...node, text: other.name }
  if (scope.related.size >= mostFields)
    throw wrong(
      node,
      `A query has at most ${mostFields} fields of related entities. Query ${other.name} for more of its fields.`,
    )
  if (scope.plainFor !== null)
    throw wrong(node, `${scope.plainFor} can't have fields of other entities, such as ${quote(node.text)}.`)
  const pairs = relationsBetween(scope.shared.entities, scope.entity.name, other.name)
  if (!pairs) throw unrelated(name, scope.entity, other, scope)
  const inner = innerScope(other, node, scope)
  const outerFields = pairs.map(([field]) => relatedField(field, scope, name))
  const innerFields = pairs.map(([, field]) => relatedField(field, inner, name))
  for (const [at, found] of outerFields.entries()) requireComparable(node, found, innerFields[at] ?? found)
  if (
    outerFields.some(({ ref }) => ref.list) ||
    !isIdentifying(
      other,
      pairs.map(([, name]) => name),
    )
  )
    throw manyRecords(node, scope.entity, other, pairs, field.text)
  const found = findField(field, { ...inner, shared: { ...inner.shared, related: () => undefined } })
  if (found.ref.path.includes(eachElement))
    throw wrong(
      node,
      `[*] has no place in ${quote(node.text)}, which is a field of ${other.name}. Write ${inLanguage(node, `["subquery", "${other.name}", condition]`, `${other.name} { condition }`)}, or query ${other.name}.`,
    )
  const ref: FieldRef = {
    name: node.text,
    path: [],
    type: found.ref.type,
    ...(found.ref.list && { list: true }),
    related: {
      fields: outerFields.map(({ ref }) => ref),
      of: rowsPlan(other, [...innerFields, found].map(({ ref }) => ref).entries(), {
        where: whereOf(null, inner),
      }),
    },
  }
  const made = { ref, field: { ...found.field, name: node.text, nullable: true } }
  scope.related.set(node.text, made)
  return made
}

/** Splits a name after that of an entity which the caller may read. */
function splitName(
  node: Text,
  { shared }: Scope,
): { readonly other: Entity; readonly field: Text } | undefined {
  const { text } = node
  if (text.length > maxLength) return undefined
  for (let end = text.indexOf('.'); end > 0; end = text.indexOf('.', end + 1)) {
    const other = entityNamed(text.slice(0, end), shared)
    if (other) return { other, field: { ...node, text: unquoted(text.slice(end + 1)) } }
  }
  return undefined
}

/** A name in quotes, which PQL leaves around a part behind a point, without them. */
function unquoted(text: string): string {
  const [all = '', name = ''] = /^"([^"]*)"(?=[.[]|$)/.exec(text) ?? []
  return `${name}${text.slice(all.length)}`
}

/** True if no two records have the same values in the other fields: they are a key, or one is declared as unique. */
function isIdentifying({ key, declaredFields }: Entity, names: readonly string[]): boolean {
  const isUnique = (name: string) => declaredFields?.some(one => one.name === name && one.unique === true)
  return [key].flat().every(name => names.includes(name)) || names.some(isUnique)
}

function manyRecords(
  node: Text,
  entity: Entity,
  other: Entity,
  pairs: readonly Pair[],
  field: string,
): Error {
  const own = entity.fields[0]?.name ?? 'name'
  const back = isIdentifying(
    entity,
    pairs.map(([name]) => name),
  )
    ? `, where fields of ${entity.name} are written such as ${quote(`${entity.name}.${own}`)}`
    : ''
  return wrong(
    node,
    `${quote(node.text)} may have many values, because many records of ${other.name} may belong to one of ${entity.name}. For a condition, write ${inLanguage(node, `["subquery", "${other.name}", ["=", ${JSON.stringify(field)}, value]]`, `${other.name} { ${field} = value }`)}; for columns, query ${other.name}${back}.`,
    { legal: ['subquery'] },
  )
}
