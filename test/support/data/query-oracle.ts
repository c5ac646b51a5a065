import type { RawField } from './oracle.ts'
import { subjectOf } from './query-functions.ts'
import { innerRows } from './query-oracle-rows.ts'
import { search } from './query-search.ts'
import {
  canonical,
  compare,
  identity,
  instantConstant,
  type Place,
  placeOf,
  seenText,
  type TypedField,
  textOf,
  valueAt,
} from './query-values.ts'
import { type Json, type JsonObject, operatorOf } from './raw-json.ts'

/**
 * The meaning of queries, written a second time in the simplest way: an AST is evaluated over arrays of
 * records, with true, false and unknown (undefined). Nothing here comes from src/. Queries must be valid; the
 * result for others is undefined.
 */
export interface World {
  readonly entities: ReadonlyMap<string, KnownEntity>
  readonly relations: readonly KnownRelation[]
}

export interface KnownEntity {
  readonly name: string
  readonly key: readonly string[]
  readonly fields: readonly (RawField & {
    readonly sortable?: boolean
    readonly collation?: string
    readonly list?: boolean
    readonly keepsZeros?: boolean
    /** The entity of a field of the related record, which lists of whole records don't show. */
    readonly related?: string
  })[]
  /** The records as a plain list shows them, and fields of related records. */
  readonly records: readonly JsonObject[]
}

export const ownFields = ({ fields }: Pick<KnownEntity, 'fields'>): KnownEntity['fields'] =>
  fields.filter(({ related }) => !related)

export interface KnownRelation {
  readonly entities: readonly [string, string]
  readonly fields: readonly (readonly [string, string])[]
}

export type Row = ReadonlyMap<string, Json>
type Truth = boolean | undefined
export type Test = (row: Row) => Truth

export interface Scope {
  readonly world: World
  readonly fields: readonly TypedField[]
  /** undefined for the rows of `having`. */
  readonly entity?: string
}

export function knownEntity({ entities }: World, name: string): KnownEntity {
  const entity = entities.get(name)
  if (!entity) throw new Error(`there is no entity ${name}`)
  return entity
}

export const partsOf = (json: Json | undefined): readonly Json[] => (json?.kind === 'array' ? json.items : [])

/** Returns a function that evaluates a condition for a row. */
export function condition(node: Json, scope: Scope): Test {
  const [, ...args] = partsOf(node)
  const [first, second] = args
  const operator = operatorOf(node)
  switch (operator) {
    case 'and': {
      const tests = args.map(one => condition(one, scope))
      return row => conjunction(tests.map(test => test(row)))
    }
    case 'or': {
      const tests = args.map(one => condition(one, scope))
      return row => not(conjunction(tests.map(test => not(test(row)))))
    }
    case 'not': {
      const [test] = args.map(one => condition(one, scope))
      return row => not(test?.(row))
    }
    case 'in':
      return isIn(first, second, scope)
    case 'match':
      return search(node, scope)
    case '~>':
      return pathMatches(placeOf(textOf(first as Json), scope.fields), partsOf(second))
    case 'subquery':
      return subquery(textOf(first as Json), second, scope)
    default:
      if (first?.kind === 'array' && ['field', 'function'].includes(operatorOf(second) ?? ''))
        return ofFields(operator ?? '', fieldOf(first, scope.fields), fieldOf(second as Json, scope.fields))
      return leaf(operator ?? '', subjectOf(first as Json, scope.fields), second as Json)
  }
}

const fieldOf = (node: Json, fields: readonly TypedField[]): Place =>
  subjectOf(operatorOf(node) === 'field' ? (partsOf(node)[1] as Json) : node, fields)

/** Compares two fields of a row; unknown if one of them has no value. */
function ofFields(operator: string, one: Place, other: Place): Test {
  const isJson = one.type === 'json' || other.type === 'json'
  const typed = ({ type }: Place, json: Json): Json =>
    type === 'text' ? { kind: 'text', raw: JSON.stringify(textOf(json)), text: textOf(json) } : json
  return row => {
    const [first, second] = [valueAt(row, one), valueAt(row, other)]
    if (!first || !second) return undefined
    if (operator === '=')
      return isJson
        ? canonical(typed(one, first)) === canonical(typed(other, second))
        : identity(one.type, first) === identity(one.type, second)
    if (isJson && (first.kind !== 'number' || second.kind !== 'number')) return false
    const order = compare({ type: isJson ? 'number' : one.type }, first, second)
    return order === 0 ? operator.endsWith('=') : order < 0 === operator.startsWith('<')
  }
}

const not = (truth: Truth): Truth => (truth === undefined ? undefined : !truth)

function conjunction(truths: readonly Truth[]): Truth {
  if (truths.includes(false)) return false
  return truths.includes(undefined) ? undefined : true
}

function leaf(operator: string, place: Place, constant: Json): Test {
  if (operator === 'null?') return row => (valueAt(row, place) === undefined) === (constant.raw === 'true')
  if (operator === '=' && constant.kind === 'null') return row => valueAt(row, place) === undefined
  const test = ofValue(operator, place, constant)
  const ofMissing = operator === '=' && isWithinJson(place) ? false : undefined
  return row => {
    const value = valueAt(row, place)
    return value === undefined ? ofMissing : test(value)
  }
}

/** True inside JSON, where a missing value counts as a value that equals no other. */
const isWithinJson = ({ type, list, path }: Place) => type === 'json' && (!list || path.length > 0)

/** True if the result is unknown, because a field outside of JSON has no value. */
const isUnknown = (places: readonly Place[], found: readonly (Json | undefined)[]) =>
  found.some((value, at) => value === undefined && !isWithinJson(places[at] as Place))

/**
 * Matches an array of the same length whose elements all match. An integer matches the same number. An
 * expression matches a whole text or, unless it consists of digits only, the digits of a number.
 */
function pathMatches(place: Place, elements: readonly Json[]): Test {
  return row => {
    const value = valueAt(row, place)
    if (value === undefined) return undefined
    const items = partsOf(value)
    return (
      value.kind === 'array' &&
      items.length === elements.length &&
      elements.every((element, at) => {
        const item = items[at] as Json
        if (element.kind === 'number') return canonical(item) === canonical(element)
        const legal = /^\d+$/.test(textOf(element)) ? ['text'] : ['text', 'number']
        return legal.includes(item.kind) && new RegExp(`^(?:${textOf(element)})$`, 'u').test(seenText(item))
      })
    )
  }
}

/** Returns a function that evaluates a comparison for a value that is not null. */
function ofValue(operator: string, place: Place, constant: Json): (value: Json) => boolean {
  const { type, collation } = place
  switch (operator) {
    case '=':
      return equalTo(place, constant)
    case '~': {
      const expression = new RegExp(textOf(constant), 'u')
      if (type !== 'json') return value => expression.test(textOf(value))
      const matches = (one: Json) => one.kind !== 'null' && expression.test(seenText(one, place.keepsZeros))
      return value => (place.list && value.kind === 'array' ? value.items.some(matches) : matches(value))
    }
    case '<':
    case '<=':
    case '>':
    case '>=': {
      const other = type === 'date-time' ? instantConstant(constant) : constant
      const test = (value: Json): boolean => {
        if (type === 'json' && value.kind !== 'number') return false
        const order = compare(
          { type: type === 'json' ? 'number' : type, ...(collation && { collation }) },
          value,
          other,
        )
        return order === 0 ? operator.endsWith('=') : order < 0 === operator.startsWith('<')
      }
      return value => (place.list && value.kind === 'array' ? value.items.some(test) : test(value))
    }
    default:
      throw new Error(`there is no operator ${operator}`)
  }
}

/** Returns the values of which one must match: those of a list are its elements and itself. */
const alternatives = ({ list }: Place, value: Json): readonly Json[] =>
  list && value.kind === 'array' ? [value, ...value.items] : [value]

function equalTo(place: Place, constant: Json): (value: Json) => boolean {
  const { type } = place
  if (type === 'json') {
    const wanted = canonical(constant)
    return value => alternatives(place, value).some(one => canonical(one) === wanted)
  }
  const wanted = identity(type, type === 'date-time' ? instantConstant(constant) : constant)
  return value => identity(type, value) === wanted
}

function isIn(subject: Json | undefined, values: Json | undefined, scope: Scope): Test {
  const isMany = subject?.kind === 'array' && operatorOf(subject) !== 'function'
  const names = isMany ? subject.items : subject ? [subject] : []
  const places = names.map(name => subjectOf(name, scope.fields))
  const [, columns, source] = partsOf(values)
  if (operatorOf(values) === 'array') return inArray(places, partsOf(columns))
  if (operatorOf(values) === 'from') {
    const [, inner] = partsOf(source)
    return inRows(places, ofElements(inner, innerRows(values as Json, scope.world)))
  }
  const [select, query] = partsOf(source)
  return inRows(
    places,
    selected(scope, textOf(select as Json).slice('select_'.length), columns as Json, query),
  )
}

function inArray(places: readonly Place[], values: readonly Json[]): Test {
  const rows = values.map(value => (places.length > 1 ? partsOf(value) : [value]))
  // A field of text takes numbers and booleans as texts, which `identity` does; other fields don't.
  const tests = rows.map(row => places.map((place, at) => equalTo(place, row[at] as Json)))
  return row => {
    const found = places.map(place => valueAt(row, place))
    if (isUnknown(places, found)) return undefined
    return tests.some(test =>
      test.every((one, at) => {
        const value = found[at]
        return value !== undefined && one(value)
      }),
    )
  }
}

/** Values of a subquery's row, each with the type of its field. */
export type InnerRow = readonly (readonly [Place['type'], Json])[]

/**
 * Matches records with rows of a subquery. A row with a null matches nothing. A record with a null gives
 * unknown or, inside JSON, differs from all values.
 */
function inRows(places: readonly Place[], rows: readonly InnerRow[]): Test {
  const complete = rows.filter(row => row.every(([, value]) => value.kind !== 'null'))
  return row => {
    const found = places.map(place => valueAt(row, place))
    if (isUnknown(places, found)) return undefined
    return complete.some(one =>
      one.every(([type, value], at) => areEqual(places[at] as Place, found[at], type, value)),
    )
  }
}

function areEqual(place: Place, value: Json | undefined, otherType: Place['type'], other: Json): boolean {
  const { type } = place
  if (value === undefined) return false
  const typed = (one: Place['type'], json: Json): Json =>
    one === 'text' ? { kind: 'text', raw: JSON.stringify(textOf(json)), text: textOf(json) } : json
  if (type === 'date-time') return identity(type, value) === identity(type, other)
  const wanted = canonical(typed(otherType, other))
  const all = type === 'json' ? alternatives(place, value) : [typed(type, value)]
  return all.some(one => canonical(one) === wanted)
}

/**
 * Adds the fields of the related record, for each entity whose key the relation holds.
 * @param tables the entities that are tables, the others being imported
 */
export function withRelated(world: World, tables: readonly string[]): World {
  const entities = new Map(world.entities)
  for (const { entities: names, fields } of world.relations)
    for (const side of [0, 1]) {
      const [entity, other] = [side, 1 - side].map(at => world.entities.get(names[at] as string))
      const pairs = fields.map(pair => [pair[side], pair[1 - side]] as [string, string])
      if (!entity || !other?.key.every(name => pairs.some(([, theirs]) => theirs === name))) continue
      const known = entities.get(entity.name) ?? entity
      const isTable = tables.includes(entity.name)
      const isMixed = isTable !== tables.includes(other.name)
      entities.set(entity.name, {
        ...known,
        ...joined(known, isMixed && isTable ? asStored(other) : other, pairs, isMixed),
      })
    }
  return { ...world, entities }
}

/**
 * An imported entity as a table of PostgreSQL sees it: without instants of more than 6 digits and texts that it can't
 * hold, and, for the sake of brevity, without JSON, in which it would replace such texts.
 */
function asStored(entity: KnownEntity): KnownEntity {
  const fields = entity.fields.filter(({ type }) => type !== 'json')
  const isStorable = (type: string, value: Json) =>
    type === 'date-time'
      ? /T\d\d:\d\d:[0-5]\d(\.\d{1,6}0*)?(Z|[+-]\d\d:\d\d)$/i.test(textOf(value).replace(' ', 'T'))
      : type !== 'text' || (!textOf(value).includes('\0') && textOf(value).isWellFormed())
  const records = entity.records.map((record): JsonObject => {
    const kept = fields.flatMap(({ name, type }) => {
      const value = record.members.get(name)
      return value && (value.kind === 'null' || isStorable(type, value)) ? [[name, value] as const] : []
    })
    return { ...record, members: new Map(kept) }
  })
  return { ...entity, fields, records }
}

function joined(
  entity: KnownEntity,
  other: KnownEntity,
  pairs: readonly (readonly [string, string])[],
  isMixed: boolean,
) {
  const idOf = ({ members }: JsonObject, { fields }: KnownEntity, names: readonly string[]) => {
    const values = names.map(name => {
      const place = placeOf(name, fields)
      const value = valueAt(members, place)
      return value && identity(place.type === 'integer' ? 'number' : place.type, value)
    })
    return values.includes(undefined) ? undefined : values.join('\n')
  }
  const theirs = new Map(
    other.records.map(record => [
      idOf(
        record,
        other,
        pairs.map(([, name]) => name),
      ),
      record,
    ]),
  )
  const own = pairs.map(([name]) => name)
  const records = entity.records.map((record): JsonObject => {
    const id = idOf(record, entity, own)
    const found = id === undefined ? [] : [...(theirs.get(id)?.members ?? [])]
    const related = found.map(([name, value]) => [`${other.name}.${name}`, value] as const)
    return { ...record, members: new Map([...record.members, ...related]) }
  })
  const related = ownFields(other).map(({ collation, keepsZeros, ...field }) => ({
    ...field,
    // Rows that are read first have no collation, and lose zeros.
    ...(!isMixed && collation !== undefined && { collation }),
    ...(!isMixed && keepsZeros && { keepsZeros }),
    name: `${other.name}.${field.name}`,
    related: other.name,
  }))
  return { fields: [...entity.fields, ...related], records }
}

/** Like `in`, with the fields of the relation. */
function subquery(entity: string, query: Json | undefined, scope: Scope): Test {
  for (const { entities, fields } of scope.world.relations) {
    const side = entities.indexOf(scope.entity ?? '')
    if (side < 0 || entities[1 - side] !== entity) continue
    const [outer, inner] = [side, 1 - side].map(at => fields.map(pair => pair[at] as string)) as [
      string[],
      string[],
    ]
    const places = outer.map(name => placeOf(name, scope.fields))
    const columns: Json = {
      kind: 'array',
      raw: '',
      items: inner.map(name => ({ kind: 'text', raw: JSON.stringify(name), text: name })),
    }
    return inRows(places, selected(scope, entity, columns, query))
  }
  throw new Error(`no relation between ${scope.entity} and ${entity}`)
}

/** Takes the lists apart that a single path through all elements makes. */
function ofElements(columns: Json | undefined, rows: readonly InnerRow[]): readonly InnerRow[] {
  const names = columns?.kind === 'array' ? columns.items : columns ? [columns] : []
  if (names.length !== 1 || !textOf(names[0] as Json).includes('[*]')) return rows
  return rows.flatMap(([cell]) => partsOf(cell?.[1]).map(one => [['json', one] as const]))
}

function selected(
  { world }: Scope,
  entity: string,
  columns: Json,
  query: Json | undefined,
): readonly InnerRow[] {
  const { fields, records } = knownEntity(world, entity)
  const test = query ? condition(query, { world, fields, entity }) : () => true
  const names = columns.kind === 'array' ? columns.items : [columns]
  const places = names.map(name => placeOf(textOf(name), fields))
  const rows = records
    .filter(({ members }) => test(members))
    .map(({ members }) =>
      places.map(place => [place.type, valueAt(members, place) ?? { kind: 'null', raw: 'null' }] as const),
    )
  return ofElements(columns, rows)
}
