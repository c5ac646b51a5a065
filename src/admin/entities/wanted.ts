import { commaList, quote, suggestion } from '../../http/parameters.ts'
import { maxFields } from '../../import/field-list.ts'
import { fieldTypes } from '../../import/types.ts'
import { canonicalCollation } from '../../lib/collation.ts'
import { isObject } from '../../lib/json.ts'
import type { FieldType, ReadRule, Relation, WriteRule } from '../../model/entities.ts'
import { readRuleForms, readRuleIn } from '../../model/read-rules.ts'
import { arrayIn, kindOf, type Members, objectIn, requireKnown, textIn } from './read-body.ts'
import { pointer, refused, unknownName } from './refused.ts'

/**
 * The members of an entity that a client wants. A missing member says nothing about it; null means that there
 * should be none.
 */
export interface Wanted {
  readonly read?: ReadRule
  /** The rule that says who may write single records; null if no caller may. */
  readonly write?: WriteRule | null
  readonly description?: string | null
  readonly relations?: readonly Relation[]
  /** The AST, not checked yet. */
  readonly defaultCondition?: string | null
  readonly key?: readonly string[] | null
  readonly fields?: readonly WantedField[] | null
  readonly table?: { readonly schema: string; readonly name: string } | null
  /** Collations by field; null for code point order. */
  readonly collations?: ReadonlyMap<string, string | null>
}

export interface WantedField {
  readonly name: string
  readonly type?: FieldType
  readonly collation?: string
  readonly list?: true
}

/** A caller without a login may never write (R2). */
const writeRuleForms = readRuleForms.filter(form => form !== 'anonymous')

const maxDescription = 2_000
/** Maximum length in characters of the name of a field, a table or an entity. */
const maxName = 1_000
const maxRelations = 100
const maxPairs = 20

const declarable = ['read', 'write', 'description', 'relations', 'defaultCondition']
/** Members that only an answer has, and that can't be set: a client may send back what it got. */
const shown = ['name', 'source', 'records', 'bytes', 'imported', 'related', 'suggested', '_links']

/** Reads the body of a PUT: the complete declarations. @throws Problem 422 naming the wrong member */
export const wantedByPut = (members: Members, name: string): Wanted =>
  wantedIn(members, [...declarable, 'key', 'fields', 'table'], name)

/**
 * Reads the body of a PATCH (RFC 7396): the declarations to change. @throws Problem 422 naming the wrong
 * member
 */
export const wantedByPatch = (members: Members, name: string): Wanted =>
  wantedIn(members, [...declarable, 'collations'], name)

function wantedIn(members: Members, legal: readonly string[], name: string): Wanted {
  requireKnown(members, legal, legal.includes('table') ? shown : [])
  const own = members.get('name')
  if (own !== undefined && own !== name)
    throw refused('/name', `The address names the entity ${name}, and the body another one.`, {
      legal: [name],
    })
  const wanted: Record<string, unknown> = {}
  for (const member of legal) {
    const value = members.get(member)
    if (value === undefined) continue
    wanted[member] = readers[member as keyof Wanted](value)
  }
  return wanted as Wanted
}

const orNull =
  <T>(read: (value: unknown) => T) =>
  (value: unknown): T | null =>
    value === null ? null : read(value)

/** Readers of members by name. Each returns the value, or throws a Problem 422. */
const readers: { readonly [M in keyof Wanted]-?: (value: unknown) => Wanted[M] } = {
  read: value => ruleIn('/read', value, readRuleForms),
  write: orNull(value => ruleIn('/write', value, writeRuleForms) as WriteRule),
  description: orNull(value => textIn('/description', value, maxDescription)),
  relations: value => (value === null ? [] : relationsIn(value)),
  defaultCondition: orNull(conditionIn),
  key: orNull(value => namesIn('/key', typeof value === 'string' ? [value] : value)),
  fields: orNull(fieldsIn),
  table: orNull(value => {
    const { schema, name } = objectIn('/table', value, ['schema', 'name'])
    return {
      schema: schema === undefined ? 'public' : textIn('/table/schema', schema, maxName),
      name: textIn('/table/name', name, maxName),
    }
  }),
  collations: collationsIn,
}

function ruleIn(member: string, value: unknown, forms: readonly string[]): ReadRule {
  const rule = typeof value === 'string' && value.length <= maxName ? readRuleIn(value) : undefined
  if (rule !== undefined && (rule !== 'anonymous' || forms.includes(rule))) return rule
  const text = typeof value === 'string' ? quote(value) : kindOf(value)
  const { members } = suggestion(typeof value === 'string' ? value : '', forms)
  throw refused(member, `${member.slice(1)} takes ${commaList(forms)}, not ${text}.`, members)
}

function relationsIn(value: unknown): readonly Relation[] {
  return arrayIn('/relations', value, maxRelations, 0).map((one, at) => {
    const here = pointer('relations', at)
    const { fields, to } = objectIn(here, one, ['fields', 'to'])
    const other = objectIn(`${here}/to`, to, ['entity', 'fields'])
    return {
      fields: namesIn(`${here}/fields`, fields, maxPairs),
      to: {
        entity: textIn(`${here}/to/entity`, other.entity, maxName),
        fields: namesIn(`${here}/to/fields`, other.fields, maxPairs),
      },
    }
  })
}

function namesIn(member: string, value: unknown, max = maxFields): readonly string[] {
  const names = arrayIn(member, value, max).map((name, at) => textIn(`${member}/${at}`, name, maxName))
  const seen = new Set<string>()
  for (const [at, name] of names.entries()) {
    if (seen.has(name)) throw refused(`${member}/${at}`, `${quote(name)} is there twice.`)
    seen.add(name)
  }
  return names
}

/** Reads an AST, or its text. It is parsed and checked later, when the entity is known. */
function conditionIn(value: unknown): string {
  if (typeof value === 'string') return value
  if (!Array.isArray(value))
    throw refused(
      '/defaultCondition',
      `defaultCondition must be an array such as ["=","state","active"], not ${kindOf(value)}.`,
    )
  try {
    return JSON.stringify(value)
  } catch {
    // The value is nested more deeply than the stack allows.
    throw refused('/defaultCondition', 'defaultCondition is nested too deep.')
  }
}

function fieldsIn(value: unknown): readonly WantedField[] {
  const fields = arrayIn('/fields', value, maxFields)
  const found = fields.map((one, at) => {
    const here = pointer('fields', at)
    if (typeof one === 'string') return { name: textIn(here, one, maxName) }
    const { name, type, collation, list } = objectIn(here, one, [
      'name',
      'type',
      'collation',
      'nullable',
      'sortable',
      'list',
    ])
    return {
      name: textIn(`${here}/name`, name, maxName),
      ...(type !== undefined && { type: typeIn(`${here}/type`, type) }),
      ...(collation !== undefined && { collation: collationIn(`${here}/collation`, collation) }),
      ...(list !== undefined && { list: listIn(`${here}/list`, list, type) }),
    }
  })
  namesIn(
    '/fields',
    found.map(({ name }) => name),
  )
  return found
}

function listIn(member: string, value: unknown, type: unknown): true {
  if (value === true && type === 'json') return true
  throw refused(
    member,
    'list is true for a field of type json that holds arrays of texts; leave it out of others.',
  )
}

function typeIn(member: string, value: unknown): FieldType {
  const type = fieldTypes.find(one => one === value)
  if (type === undefined)
    throw unknownName(member, 'type', typeof value === 'string' ? value : kindOf(value), fieldTypes)
  return type
}

/** @throws Problem 422 if there is no such collation */
export function collationIn(member: string, value: unknown): string {
  const found = typeof value === 'string' && value.length <= 100 ? canonicalCollation(value) : undefined
  if (found !== undefined) return found
  const text = typeof value === 'string' ? quote(value) : kindOf(value)
  throw refused(
    member,
    `There is no collation for ${text}; it takes a language tag such as en, sv or de-u-co-phonebk, or und for no language in particular.`,
  )
}

function collationsIn(value: unknown): ReadonlyMap<string, string | null> {
  if (!isObject(value))
    throw refused('/collations', `collations must be an object such as {"name": "sv"}, not ${kindOf(value)}.`)
  return new Map(
    Object.entries(value).map(([name, tag]) => [
      name,
      tag === null ? null : collationIn(pointer('collations', name), tag),
    ]),
  )
}
