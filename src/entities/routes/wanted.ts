import type { BodyOf } from '../../http/check-body.ts'
import { commaList, quote, suggestion } from '../../http/parameters.ts'
import { canonicalCollation } from '../../lib/collation.ts'
import { pointer } from '../../lib/json-pointer.ts'
import { declarationMembers } from '../../model/declared-fields.ts'
import type { FieldType, ReadRule, Relation, WriteRule } from '../../model/entities.ts'
import { readRuleForms, readRuleIn } from '../../model/readers.ts'
import type { Recipe } from '../../model/recipes.ts'
import type { FieldChange } from '../declare-fields.ts'
import { RecipeFault, readRecipe } from '../recipe.ts'
import type { contracts } from './contracts.ts'
import { refused } from './refused.ts'

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
  readonly recipe?: Recipe | null
  readonly key?: readonly string[] | null
  readonly fields?: readonly WantedField[] | null
  readonly table?: { readonly schema: string; readonly name: string } | null
  /** Collations by field; null for code point order. */
  readonly collations?: ReadonlyMap<string, string | null>
  /** Changes of declarations by field; null takes all of one back. */
  readonly declarations?: ReadonlyMap<string, FieldChange | null>
}

interface WantedField {
  readonly name: string
  readonly type?: FieldType
  readonly collation?: string
  readonly list?: true
  readonly declared?: FieldChange
}

/** A body that its schema describes. */
type Given = BodyOf<typeof contracts.putEntity> & Omit<BodyOf<typeof contracts.changeEntity>, 'fields'>
/** The body of a PATCH, whose fields are changes by name. */
type GivenChange = Omit<Given, 'fields'> & Pick<BodyOf<typeof contracts.changeEntity>, 'fields'>

/** A caller without a login may never write (R2). */
const writeRuleForms = readRuleForms.filter(form => form !== 'anonymous')

/**
 * Reads the declarations of a PUT, or those that a PATCH (RFC 7396) changes.
 * @param name the entity in the address
 * @throws Problem 422 naming the member with a value that the entity can't have
 */
export function wantedIn(given: Given | GivenChange, name: string): Wanted {
  if (given.fields === undefined || given.fields === null || Array.isArray(given.fields))
    return readersOf(given as Given, name)
  const { fields, ...others } = given
  return {
    ...readersOf(others, name),
    declarations: new Map(Object.entries(fields as NonNullable<GivenChange['fields']>)),
  }
}

function readersOf(given: Given, name: string): Wanted {
  if (given.name !== undefined && given.name !== name)
    throw refused('/name', `The address names the entity ${name}, and the body another one.`, {
      legal: [name],
    })
  const wanted: Record<string, unknown> = {}
  for (const [member, read] of Object.entries(readers)) {
    const value: unknown = given[member as Read]
    if (value !== undefined) wanted[member] = (read as (value: unknown) => unknown)(value)
  }
  return wanted as Wanted
}

type Read = Exclude<keyof Wanted, 'declarations'>
type Value<M extends Read> = NonNullable<Given[M]>

const orNull =
  <V, T>(read: (value: V) => T) =>
  (value: V | null): T | null =>
    value === null ? null : read(value)

/** Readers of members by name. Each returns the value, or throws a Problem 422. */
const readers: { readonly [M in Read]-?: (value: Exclude<Given[M], undefined>) => Wanted[M] } = {
  read: value => ruleIn('/read', value, readRuleForms),
  write: orNull(value => ruleIn('/write', value, writeRuleForms) as WriteRule),
  description: value => value,
  relations: value => relationsIn(value ?? []),
  defaultCondition: orNull(conditionIn),
  recipe: orNull(recipeIn),
  key: orNull(value => differentNames('/key', [value].flat())),
  fields: orNull(fieldsIn),
  table: orNull(({ schema = 'public', name }) => ({ schema, name })),
  collations: collationsIn,
}

function ruleIn(member: string, value: string, forms: readonly string[]): ReadRule {
  const rule = value.length <= maxRule ? readRuleIn(value) : undefined
  if (rule !== undefined && (rule !== 'anonymous' || forms.includes(rule))) return rule
  const { members } = suggestion(value, forms)
  throw refused(member, `${member.slice(1)} takes ${commaList(forms)}, not ${quote(value)}.`, members)
}

/** Maximum length of a rule in characters. */
const maxRule = 1_000

function relationsIn(relations: Value<'relations'>): readonly Relation[] {
  for (const [at, { fields, to }] of relations.entries()) {
    differentNames(`/relations/${at}/fields`, fields)
    differentNames(`/relations/${at}/to/fields`, to.fields)
  }
  return relations
}

function differentNames(member: string, names: readonly string[]): readonly string[] {
  const seen = new Set<string>()
  for (const [at, name] of names.entries()) {
    if (seen.has(name)) throw refused(`${member}/${at}`, `${quote(name)} is there twice.`)
    seen.add(name)
  }
  return names
}

/** Reads an AST, or its text. It is parsed and checked later, when the entity is known. */
function conditionIn(value: Value<'defaultCondition'>): string {
  if (typeof value === 'string') return value
  try {
    return JSON.stringify(value)
  } catch {
    // The value is nested more deeply than the stack allows.
    throw refused('/defaultCondition', 'defaultCondition is nested too deep.')
  }
}

function recipeIn(value: Value<'recipe'>): Recipe {
  try {
    return readRecipe(value)
  } catch (error) {
    if (!(error instanceof RecipeFault)) throw error
    throw refused(`/recipe${error.member}`, `recipe${error.member === '' ? '' : ': '}${error.message}`)
  }
}

function fieldsIn(fields: Value<'fields'>): readonly WantedField[] {
  const found = fields.map((one, at) => {
    if (typeof one === 'string') return { name: one }
    const { name, type, collation, list } = one
    if (list !== undefined && (!list || type !== 'json'))
      throw refused(
        `/fields/${at}/list`,
        'list is true for a field of type json that holds arrays of texts; leave it out of others.',
      )
    return {
      name,
      ...(type !== undefined && { type }),
      ...(collation !== undefined && { collation: collationIn(`/fields/${at}/collation`, collation) }),
      ...(list && { list }),
      ...(declarationMembers.some(member => one[member] !== undefined) && {
        declared: Object.fromEntries(declarationMembers.map(member => [member, one[member] ?? null])),
      }),
    }
  })
  differentNames(
    '/fields',
    found.map(({ name }) => name),
  )
  return found
}

/** @throws Problem 422 if there is no such collation */
function collationIn(member: string, value: string): string {
  const found = value.length <= 100 ? canonicalCollation(value) : undefined
  if (found !== undefined) return found
  throw refused(
    member,
    `There is no collation for ${quote(value)}; it takes a language tag such as en, sv or de-u-co-phonebk, or und for no language in particular.`,
  )
}

function collationsIn(given: Value<'collations'>): ReadonlyMap<string, string | null> {
  const read = (name: string, tag: string | null) =>
    tag === null ? null : collationIn(pointer('collations', name), tag)
  return new Map(Object.entries(given).map(([name, tag]) => [name, read(name, tag)]))
}
