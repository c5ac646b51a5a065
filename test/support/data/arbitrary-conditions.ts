import fc from 'fast-check'
import type { Kind } from './oracle.ts'
import { bucketOf, bucketsBy } from './query-functions.ts'
import { type KnownEntity, knownEntity, ownFields, type World } from './query-oracle.ts'
import { searched } from './query-search.ts'
import { placeOf, textOf, valueAt } from './query-values.ts'
import { type Json, readJson } from './raw-json.ts'

/** Random conditions that are valid: existing fields, values of their types, and mostly values that occur. */

/** A query as an AST, with numbers as they are written. */
export type Ast = string | boolean | null | Written | readonly Ast[]

export interface Written {
  readonly json: string
}

export function printAst(ast: Ast): string {
  if (Array.isArray(ast)) return `[${(ast as readonly Ast[]).map(printAst).join()}]`
  return typeof ast === 'object' && ast !== null ? (ast as Written).json : JSON.stringify(ast)
}

/** A subject of conditions: a field, or a path into one. */
export interface Subject {
  readonly name: string
  readonly type: Kind
  /** The AST of a function of a field; absent: the name. */
  readonly ast?: Ast
  /** Values that occur there. */
  readonly values: readonly Json[]
}

/** Maximum number of paths into one field. */
const mostPaths = 12

/** Returns all fields, and paths into those that are JSON. */
export function subjectsOf({ fields, records }: KnownEntity): readonly Subject[] {
  return fields.flatMap(({ name, type, list, related }) => {
    const values = records.flatMap(({ members }) => valueAt(members, { name, path: [], type }) ?? [])
    const whole = { name, type, values }
    if (type !== 'json') return [whole]
    const inside = new Map<string, Json[]>()
    for (const value of values) collect(name, value, 3, inside)
    const members = [...inside]
      .slice(0, mostPaths)
      .map(([path, found]): Subject => ({ name: path, type, values: found }))
    // The elements of a list have members, and the list has none.
    const nowhere = (list ? [] : ['nothing.at[2]', 'constructor', '"0"']).map(path => ({
      name: `${name}.${path}`,
      type,
      values: [],
    }))
    const ofElements = [`${name}[*]`, `${name}.list[*]`, `${name}.os[*].family`, `${name}[*][*]`]
      .slice(0, related ? 0 : list ? 1 : 4)
      .map((path): Subject => {
        const place = placeOf(path, fields)
        return { name: path, type, values: records.flatMap(({ members }) => valueAt(members, place) ?? []) }
      })
    return [whole, ...members, ...nowhere, ...ofElements]
  })
}

/** Returns functions of one record that conditions can be about. */
export const computedSubjects = (entity: KnownEntity): readonly Subject[] =>
  subjectsOf(entity).flatMap(({ name, type, values }): readonly Subject[] => {
    const buckets = (bucketsBy[type] ?? []).map((json): Subject => {
      const found = values.map(value => bucketOf(value, readJson(json)))
      return {
        name,
        ast: ['function', 'bucket', name, { json }],
        type: type === 'date-time' ? 'date-time' : 'number',
        values: found.filter(({ kind }) => kind !== 'null'),
      }
    })
    const lengths: readonly Json[] = ['0', '1', '2'].map(raw => ({ kind: 'number', raw }))
    return type === 'json'
      ? [...buckets, { name, ast: ['function', 'length', name], type: 'integer', values: lengths }]
      : buckets
  })

/** Collects the values inside a value by their paths. */
function collect(path: string, value: Json, depth: number, found: Map<string, Json[]>): void {
  const inside =
    value.kind === 'array'
      ? value.items.slice(0, 2).map((item, at) => [`${path}[${at}]`, item] as const)
      : value.kind === 'object'
        ? [...value.members]
            .filter(([key]) => /^[\w. ]+$/.test(key))
            .map(([key, member]) => [`${path}.${/^\w+$/.test(key) ? key : `"${key}"`}`, member] as const)
        : []
  for (const [name, member] of inside) {
    found.set(name, [...(found.get(name) ?? []), ...(member.kind === 'null' ? [] : [member])])
    if (depth > 1) collect(name, member, depth - 1, found)
  }
}

/** Picks whole fields more often than members of JSON fields. */
export const fieldsFirst = <T>(all: readonly T[], fieldOf: (one: T) => string): fc.Arbitrary<T> => {
  const fields = all.filter(one => !/[.[]/.test(fieldOf(one)))
  return fc.oneof(
    { arbitrary: fc.constantFrom(...(fields.length > 0 ? fields : all)), weight: 3 },
    { arbitrary: fc.constantFrom(...all), weight: 1 },
  )
}

const anySubject = (subjects: readonly Subject[]) => fieldsFirst(subjects, ({ name }) => name)

const literal = (json: string): Ast => ({ json })

function occurring(values: readonly Json[], fallback: string): fc.Arbitrary<Json> {
  const texts = values.filter(({ kind }) => kind !== 'null')
  return texts.length > 0
    ? fc.constantFrom(...texts)
    : fc.constant({ kind: 'text', raw: JSON.stringify(fallback), text: fallback })
}

const usable = (text: string) => text.isWellFormed() && !text.includes('\0')

/** Texts that occur, and similar ones. */
function texts(values: readonly Json[]): fc.Arbitrary<string> {
  const found = values.map(textOf).filter(usable)
  const some = found.length > 0 ? found : ['a']
  const beginnings = some.map(one => [...one].slice(0, 1).join(''))
  return fc.oneof(
    { arbitrary: fc.constantFrom(...some), weight: 6 },
    { arbitrary: fc.constantFrom('', 'a', 'A', 'b', 'ä', '\uffff', '\u{10000}', 'nowhere', '5'), weight: 2 },
    { arbitrary: fc.constantFrom(...beginnings), weight: 1 },
  )
}

/** Numbers that occur, also in other spellings, and their neighbors. */
function numbers(values: readonly Json[]): fc.Arbitrary<string> {
  const all = values.filter(({ kind }) => kind === 'number')
  return fc.oneof(
    {
      arbitrary: occurring(all, '1')
        .map(({ kind, raw }) => (kind === 'number' ? raw : '1'))
        .chain(raw =>
          fc.constantFrom(raw, raw, isWhole(raw) ? `${raw}.0` : raw, isWhole(raw) ? `${raw}0e-1` : raw),
        ),
      weight: 6,
    },
    {
      arbitrary: fc.constantFrom(
        ...['0', '-0', '1', '2.5', '-1e2', '9007199254740992', '9007199254740992.5', '1e30', '-1e30'],
        ...['9223372036854775808', '-9223372036854775809', '0.1', '1e-400', '1e400'],
      ),
      weight: 2,
    },
  )
}

const isWhole = (raw: string) => /^-?[1-9]\d*$/.test(raw)

const moments = [
  ...['2020', '2020-06', '2020-06-30', '2020-06-30T12:00', '2020-06-30T12:00:00', '2020-06-30T12:00:00Z'],
  ...[
    '2020-06-30 12:00:00',
    '2020-06-30T14:00:00+02:00',
    '2020-06-30T12:00:00,5Z',
    '1969-12-31T23:59:59.999Z',
  ],
  ...['2020-06-30T12:00:00.000000001Z', '2020-06-30T11:59:59.9999999Z', '9999-12-31', '0001-01-01'],
]

/** Date-times that occur, and others in many forms. */
const instants = (values: readonly Json[]): fc.Arbitrary<Ast> =>
  fc.oneof(
    { arbitrary: occurring(values, '2020-06-30').map(one => textOf(one)), weight: 5 },
    { arbitrary: fc.constantFrom(...moments), weight: 3 },
    { arbitrary: fc.constantFrom('0', '-1', '1593518400000', '1593518400500').map(literal), weight: 1 },
  )

export function constant({ type, values }: Subject): fc.Arbitrary<Ast> {
  switch (type) {
    case 'text':
      return texts(values)
    case 'integer':
    case 'number':
      return numbers(values).map(literal)
    case 'boolean':
      return fc.boolean()
    case 'date-time':
      return instants(values)
    case 'json':
      return fc.oneof(
        { arbitrary: fc.constantFrom(...insides(values)).map(({ raw }) => literal(raw)), weight: 7 },
        { arbitrary: texts([]), weight: 1 },
        { arbitrary: numbers([]).map(literal), weight: 1 },
        { arbitrary: fc.constantFrom(...['[]', '{}', '[1.0]', 'true', '{"a":1}']).map(literal), weight: 1 },
      )
  }
}

/** Returns the values, and the elements of arrays. */
function insides(values: readonly Json[]): readonly Json[] {
  const all = values.flatMap(value => (value.kind === 'array' ? [value, ...value.items] : [value]))
  const some = all.filter(({ kind, raw }) => kind !== 'null' && !/\\u(0000|d[89a-f])/.test(raw))
  return some.length > 0 ? some : [{ kind: 'number', raw: '1' }]
}

/**
 * Escapes a text for an expression. A bare backspace is refused, because it nearly always was meant as a word
 * boundary (test/query/check/mistakes.test.ts).
 */
const escaped = (text: string) =>
  text
    .replace(/[\\^$.*+?()[\]{}|/]/g, found => (found === '/' ? '/' : `\\${found}`))
    .replaceAll('\b', '\\x08')

const cut = (text: string) => [...text].slice(0, 20).join('')

/** Expressions that mean the same in RE2 and in JavaScript (with the flag u). */
const expressions = (values: readonly Json[]): fc.Arbitrary<string> =>
  fc.tuple(texts(values), texts(values)).chain(([one, other]) => {
    const [first, second] = [escaped(cut(one)), escaped(cut(other))]
    return fc.constantFrom(
      ...[first, `^${first}`, `${first}$`, `^${first}$`, `${first}|${second}`, `^(?:${first}|${second})$`],
      ...['[a-c]', '[^a]', '^$', '^[^a]$', '\\d', '\\w+', '^[A-Z]', 'a{2}', '[ä-ü]', '^(a|b)+$'],
    )
  })

/** `~>` conditions with arrays that occur, or similar ones. */
function pathMatch({ name, values }: Subject): fc.Arbitrary<Ast> {
  const arrays = values.flatMap(value => (value.kind === 'array' ? [value.items] : []))
  return fc
    .constantFrom(...arrays, ...arrays.map(items => items.slice(1)), [])
    .chain(items =>
      fc
        .tuple(
          ...items.map(item =>
            item.kind === 'number' && /^\d{1,9}$/.test(item.raw)
              ? fc.constantFrom<Ast>(literal(item.raw), literal('1'), '1', item.raw, '\\d', '.*')
              : item.kind === 'text'
                ? expressions([item])
                : fc.constantFrom<Ast>('a', '.*', literal('0')),
          ),
        )
        .map((elements): Ast => ['~>', name, elements]),
    )
}

const orders = fc.constantFrom('<', '<=', '>', '>=')

/** A condition on one field. */
export function leaf(subject: Subject): fc.Arbitrary<Ast> {
  const { type, values } = subject
  const name = subject.ast ?? subject.name
  const one = constant(subject)
  const forms: fc.WeightedArbitrary<Ast>[] = [
    { weight: 4, arbitrary: one.map(value => ['=', name, value]) },
    { weight: 1, arbitrary: fc.boolean().map(yes => ['null?', name, yes]) },
    { weight: 1, arbitrary: fc.constant(['=', name, null]) },
    {
      weight: 2,
      arbitrary: fc.array(one, { maxLength: 4 }).map(all => ['in', name, ['array', all]]),
    },
  ]
  if (type === 'json')
    forms.push({
      weight: 3,
      arbitrary: fc.tuple(orders, numbers(values)).map(([how, n]) => [how, name, literal(n)]),
    })
  else if (type !== 'boolean')
    forms.push({ weight: 4, arbitrary: fc.tuple(orders, one).map(([how, value]) => [how, name, value]) })
  if (type === 'json') forms.push({ weight: 1, arbitrary: pathMatch(subject) })
  if (type === 'text' || type === 'json')
    forms.push({ weight: 2, arbitrary: expressions(values).map(text => ['~', name, text]) })
  if (type === 'text')
    forms.push({
      weight: 1,
      arbitrary: numbers(values).map(n => ['in', name, ['array', [literal(n), true]]]),
    })
  return fc.oneof(...forms)
}

const kindOf = (type: Kind) => (type === 'integer' ? 'number' : type)
const areComparable = (one: Kind, other: Kind) =>
  kindOf(one) === kindOf(other) || ([one, other].includes('json') && ![one, other].includes('date-time'))

/** Conditions on records of an entity, with subqueries nested down to this depth. */
export function conditions(world: World, entity: KnownEntity, depth: number): fc.Arbitrary<Ast> {
  const subjects = subjectsOf(entity)
  const leaves = fc.oneof(
    { arbitrary: anySubject(subjects).chain(leaf), weight: 12 },
    { arbitrary: anySubject(computedSubjects(entity)).chain(leaf), weight: 3 },
    { arbitrary: twoFields(entity), weight: 2 },
    { arbitrary: match(entity), weight: 1 },
  )
  const single =
    depth > 0
      ? fc.oneof({ arbitrary: leaves, weight: 4 }, { arbitrary: nested(world, entity, depth), weight: 1 })
      : leaves
  return joined(single, 2)
}

/** A comparison of two fields. */
function twoFields(entity: KnownEntity): fc.Arbitrary<Ast> {
  const lists = new Set(entity.fields.flatMap(({ name, list }) => (list ? [name] : [])))
  const unordered = new Set(entity.fields.flatMap(({ name, sortable }) => (sortable === false ? [name] : [])))
  const all = [...subjectsOf(entity), ...computedSubjects(entity)].filter(
    ({ name, ast }) => !name.includes('[*]') && (ast !== undefined || !lists.has(name)),
  )
  const fieldOf = ({ name, ast }: Subject): Ast => ast ?? ['field', name]
  const pairs = all.flatMap(one =>
    all.flatMap(other => {
      const kinds = [one.type, other.type].map(kindOf)
      const isOrdered =
        !kinds.includes('boolean') &&
        ![one, other].some(
          ({ name, ast, type }) => ast === undefined && type !== 'json' && unordered.has(name),
        ) &&
        (kinds[0] === kinds[1] || kinds.includes('number'))
      if (!areComparable(one.type, other.type)) return []
      const operators = isOrdered ? ['=', '<', '<=', '>', '>='] : ['=']
      return [operators.map((how): Ast => [how, fieldOf(one), fieldOf(other)])]
    }),
  )
  return fc.constantFrom(...pairs).chain(forms => fc.constantFrom(...forms))
}

/** A text search. */
export function match(entity: KnownEntity): fc.Arbitrary<Ast> {
  const texts = ownFields(entity).flatMap(({ name, type }) =>
    type === 'text' || type === 'json' ? [name] : [],
  )
  const where = fc.oneof(
    fc.constant<Ast>('*'),
    fc.constantFrom<Ast>(...texts),
    fc.uniqueArray(fc.constantFrom(...texts), { minLength: 1, maxLength: 3 }),
  )
  return fc.tuple(where, fc.constantFrom(...searched)).map(([one, words]): Ast => ['match', one, words])
}

/** Conditions without subqueries, such as those of `having`. */
export const plainConditions = (subjects: readonly Subject[]): fc.Arbitrary<Ast> =>
  joined(anySubject(subjects).chain(leaf), 1)

function joined(single: fc.Arbitrary<Ast>, depth: number): fc.Arbitrary<Ast> {
  if (depth === 0) return single
  const inner = joined(single, depth - 1)
  return fc.oneof(
    { arbitrary: single, weight: 4 },
    { arbitrary: inner.map(one => ['not', one]), weight: 2 },
    {
      arbitrary: fc
        .tuple(fc.constantFrom('and', 'or'), fc.array(inner, { minLength: 1, maxLength: 3 }))
        .map(([operator, all]) => [operator, ...all]),
      weight: 3,
    },
  )
}

/** Conditions with `in` and a subquery, or with `subquery`. */
function nested(world: World, entity: KnownEntity, depth: number): fc.Arbitrary<Ast> {
  const subjects = subjectsOf(entity)
  return fc.constantFrom(...world.entities.keys()).chain(name => {
    const other = knownEntity(world, name)
    const inner = subjectsOf(other)
    const query = fc.option(conditions(world, other, depth - 1), { freq: 3, nil: undefined })
    const pairs = subjects.flatMap(one =>
      inner.flatMap(two => (areComparable(one.type, two.type) ? [[one.name, two.name] as const] : [])),
    )
    const chosen = fc
      .array(fc.constantFrom(...pairs), { minLength: 1, maxLength: 2 })
      // Elements are compared alone.
      .map(both => {
        const alone = both.find(([, two]) => two.includes('[*]'))
        return alone ? [alone] : both
      })
    const compared = fc.tuple(chosen, query, paging(other)).chain(([both, where, clauses]) => {
      const [outside, inside] = [0, 1].map(side => {
        const all = both.map(pair => pair[side] as string)
        return all.length === 1 ? (all[0] as string) : all
      }) as [Ast, Ast]
      const filter = where === undefined ? [] : [where]
      return fc.constantFrom<Ast>(
        ['in', outside, ['from', name, ['extract', inside, ...filter], ...clauses]],
        ['in', outside, ['from', name, ['extract', inside, ...filter], ...clauses]],
        ['in', outside, ['extract', inside, [`select_${name}`, ...filter]]],
      )
    })
    const related = world.relations.some(
      ({ entities }) => entities.includes(entity.name) && entities.includes(name) && entity.name !== name,
    )
    if (!related) return compared
    return fc.oneof(
      compared,
      query.map((where): Ast => ['subquery', name, ...(where === undefined ? [] : [where])]),
    )
  })
}

const direction = fc.constantFrom(undefined, 'asc', 'desc')

/** Clauses of `from`. @param names values that may be sorted by; by default all fields that have an order */
export function paging(entity: KnownEntity, names?: readonly Ast[]): fc.Arbitrary<readonly Ast[]> {
  const sortable = names ?? entity.fields.filter(one => one.sortable !== false).map(({ name }) => name)
  const entry = (name: Ast) => direction.map((how): Ast => (how === undefined ? name : [name, how]))
  const entries =
    sortable.length === 0
      ? fc.constant<readonly Ast[]>([])
      : fc.array(fc.constantFrom(...sortable).chain(entry), { maxLength: 3 })
  return fc
    .record(
      {
        order: entries.map((all): Ast => ['order_by', all]),
        limit: fc.integer({ min: 1, max: 12 }).map((n): Ast => ['limit', literal(String(n))]),
        offset: fc.integer({ min: 0, max: 4 }).map((n): Ast => ['offset', literal(String(n))]),
      },
      { requiredKeys: [] },
    )
    .map(clauses => Object.values(clauses))
}
