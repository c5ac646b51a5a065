import fc from 'fast-check'
import {
  type Ast,
  computedSubjects,
  conditions,
  fieldsFirst,
  match,
  paging,
  plainConditions,
  printAst,
  type Subject,
  subjectsOf,
} from './arbitrary-conditions.ts'
import type { Kind } from './oracle.ts'
import { masks } from './query-functions.ts'
import { type KnownEntity, ownFields, type World } from './query-oracle.ts'
import { type AskedPage, answerOf } from './query-oracle-rows.ts'
import { readJson } from './raw-json.ts'

/** A valid query, with the parameters of its address. */
export interface AskedQuery {
  /** The entity in the address; null if the query goes to the base. */
  readonly entity: string | null
  readonly ast: Ast
  readonly page: AskedPage
}

/** Valid queries, most of which have results. */
export const queries = (world: World): fc.Arbitrary<AskedQuery> =>
  fc
    .tuple(anyQuery(world), fc.constantFrom(true, ...Array.from({ length: 11 }, () => false)))
    .filter(
      ([{ entity, ast, page }, mayBeEmpty]) =>
        mayBeEmpty || answerOf(world, entity, readJson(printAst(ast)), page).rows.length > 0,
    )
    .map(([query]) => query)

function anyQuery(world: World): fc.Arbitrary<AskedQuery> {
  // An entity is chosen in proportion to the number of its fields.
  const weighed = [...world.entities.values()].flatMap(entity => entity.fields.map(() => entity))
  return fc
    .constantFrom(...weighed)
    .chain(entity =>
      fc.oneof(
        { arbitrary: ofSearches(entity), weight: 1 },
        { arbitrary: ofRecords(world, entity), weight: 3 },
        { arbitrary: ofRows(world, entity), weight: 5 },
      ),
    )
}

const namesOf = (entity: KnownEntity) =>
  ownFields(entity)
    .filter(one => one.sortable !== false)
    .map(({ name }) => name)

/** Queries that sort by relevance or show it. */
function ofSearches(entity: KnownEntity): fc.Arbitrary<AskedQuery> {
  const names = [...namesOf(entity), 'relevance', 'relevance']
  const where = fc
    .tuple(match(entity), match(entity))
    .chain(([one, other]) =>
      fc.constantFrom<Ast>(
        one,
        ['or', one, other],
        ['and', one, ['not', other]],
        ['or', one, ['not', ['not', other]]],
      ),
    )
  const columns = fc.constantFrom<Ast | undefined>(
    undefined,
    ['function', 'relevance'],
    [...entity.key, ['function', 'relevance']],
  )
  return fc
    .tuple(where, columns)
    .chain(([condition, shown]) =>
      asked(entity, [shown === undefined ? condition : ['extract', shown, condition]], names, names),
    )
}

function ofRecords(world: World, entity: KnownEntity): fc.Arbitrary<AskedQuery> {
  return conditions(world, entity, 2).chain(where =>
    asked(entity, [where], namesOf(entity), orderedBy(scalars(entity))),
  )
}

/** Returns the values that a clause may sort by. A parameter can name only columns and fields. */
const orderedBy = (choices: readonly Choice[]): readonly Ast[] =>
  choices.filter(({ sortable }) => sortable).map(({ ast }) => ast)

/**
 * @param body the query inside `from`, or the whole query at the address of an entity @param names values
 * that a parameter may sort by
 */
function asked(
  entity: KnownEntity,
  body: readonly Ast[],
  names: readonly string[],
  sortable: readonly Ast[],
): fc.Arbitrary<AskedQuery> {
  const [only] = body
  return fc
    .tuple(pages(names), paging(entity, sortable), fc.boolean())
    .map(([page, clauses, atBase]) =>
      atBase || only === undefined
        ? { entity: null, ast: ['from', entity.name, ...body, ...clauses], page }
        : { entity: entity.name, ast: only, page },
    )
}

function pages(names: readonly string[]): fc.Arbitrary<AskedPage> {
  const entry =
    names.length === 0
      ? undefined
      : fc.record(
          { field: fc.constantFrom(...names), order: fc.constantFrom('asc', 'desc', 'DESC') },
          { requiredKeys: ['field'] },
        )
  return fc.record(
    {
      ...(entry && { order: fc.array(entry, { minLength: 1, maxLength: 3 }) }),
      limit: fc.integer({ min: 1, max: 30 }),
      offset: fc.integer({ min: 0, max: 4 }),
    },
    { requiredKeys: [] },
  ) as fc.Arbitrary<AskedPage>
}

/** A column, or a value to group by. */
interface Choice {
  readonly ast: Ast
  /** The name of the column before it is made unique. */
  readonly base: string
  /** The name of the field; empty if there is none. */
  readonly field: string
  readonly type: Kind
  readonly sortable: boolean
}

function scalars(entity: KnownEntity): readonly Choice[] {
  const plain = subjectsOf(entity).map(({ name, type }) => ({
    ast: name,
    base: name,
    field: name,
    type,
    sortable: isSortable(entity, name),
  }))
  const formatted = entity.fields.flatMap(({ name, type }) =>
    (masks[type] ?? []).map(
      (mask): Choice => ({
        ast: ['function', 'to_string', name, mask],
        base: 'to_string',
        field: name,
        type: 'text',
        sortable: true,
      }),
    ),
  )
  const computed = computedSubjects(entity).map(
    ({ name, ast = name, type }): Choice => ({
      ast,
      base: type === 'integer' ? 'length' : name,
      field: name,
      type,
      sortable: true,
    }),
  )
  const fields = plain.filter(({ base }) => !/[.[]/.test(base))
  return [...plain, ...fields, ...fields, ...formatted, ...computed]
}

const isSortable = ({ fields }: KnownEntity, name: string) =>
  fields.find(
    one => name === one.name || (/^[.[]/.test(name.slice(one.name.length)) && name.startsWith(one.name)),
  )?.sortable !== false

function aggregates(entity: KnownEntity): readonly Choice[] {
  const made = (name: string, field: string | null, type: Kind): Choice => ({
    ast: ['function', name, ...(field === null ? [] : [field])],
    base: name,
    field: field ?? '',
    type,
    sortable: true,
  })
  return [
    ...Array.from({ length: 4 }, () => made('count', null, 'integer')),
    ...subjectsOf(entity).flatMap(({ name, type }) => {
      const counts = [made('count', name, 'integer'), made('count_distinct', name, 'integer')]
      if (type === 'boolean' || name.includes('[*]')) return counts
      const extremes =
        type === 'json' || isSortable(entity, name)
          ? ['min', 'max'].map(one => made(one, name, type === 'json' ? 'number' : type))
          : []
      if (type === 'text' || type === 'date-time') return [...counts, ...extremes]
      return [
        ...counts,
        ...extremes,
        made('avg', name, 'number'),
        made('median', name, 'number'),
        ...['0', '12.5', '90', '100'].map(json => ({
          ...made('percentile', name, 'number'),
          ast: ['function', 'percentile', name, { json }],
        })),
        made('sum', name, type === 'integer' ? 'integer' : 'number'),
      ]
    }),
  ]
}

/** Gives columns their final names. */
function named(choices: readonly Choice[]): readonly (Choice & { readonly name: string })[] {
  const counts = new Map<string, number>()
  return choices.map(choice => {
    const count = (counts.get(choice.base) ?? 0) + 1
    counts.set(choice.base, count)
    return { ...choice, name: count === 1 ? choice.base : `${choice.base}_${count}` }
  })
}

function ofRows(world: World, entity: KnownEntity): fc.Arbitrary<AskedQuery> {
  const columns = scalars(entity)
  const some = (from: readonly Choice[], least: number, most: number) =>
    fc.array(
      fieldsFirst(from, ({ field }) => field),
      { minLength: least, maxLength: most },
    )
  const where = fc.option(conditions(world, entity, 1), { freq: 2, nil: undefined })
  const plain = fc.tuple(some(columns, 1, 4), where, fc.boolean()).chain(([chosen, filter, distinct]) => {
    const shown = named(chosen)
    const sortable = shown.filter(one => one.sortable).map(({ name }) => name)
    const [names, more] = distinct ? [[], shown] : [namesOf(entity), columns]
    return rows(
      entity,
      { columns: shown, filter, clauses: distinct ? [['distinct']] : [] },
      [...sortable, ...names],
      orderedBy(more),
    )
  })
  const one = fc
    .tuple(some(aggregates(entity), 1, 4), where)
    .chain(([chosen, filter]) => withHaving(entity, { columns: named(chosen), filter, clauses: [] }, []))
  const grouped = fc
    .tuple(some(columns, 1, 3), some(aggregates(entity), 0, 2), where, fc.boolean(), fc.boolean())
    .chain(([groups, all, filter, distinct, showsAll]) => {
      const functions = distinct ? all.filter(isExact) : all
      const shown = showsAll || functions.length === 0 ? groups : groups.slice(1)
      const clauses: Ast[] = [['group_by', ...groups.map(group => group.ast)]]
      if (distinct) clauses.push(['distinct'])
      const hidden = distinct ? [] : groups.filter(group => !shown.includes(group))
      return withHaving(entity, { columns: named([...shown, ...functions]), filter, clauses }, hidden)
    })
  return fc.oneof(
    { arbitrary: plain, weight: 2 },
    { arbitrary: one, weight: 3 },
    { arbitrary: grouped, weight: 4 },
  )
}

interface Projection {
  readonly columns: readonly (Choice & { readonly name: string })[]
  readonly filter: Ast | undefined
  readonly clauses: readonly Ast[]
}

/**
 * False for sums and averages of doubles: their last digits depend on the order of addition, so they are not
 * compared.
 */
const isExact = ({ base, type }: Choice) => base !== 'avg' && !(base === 'sum' && type === 'number')

function withHaving(
  entity: KnownEntity,
  projection: Projection,
  hidden: readonly Choice[],
): fc.Arbitrary<AskedQuery> {
  const exact = projection.columns.filter(isExact)
  const shown = exact.filter(one => one.sortable).map(({ name }) => name)
  const names = [...shown, ...orderedBy(hidden).filter(ast => typeof ast === 'string')]
  const subjects = exact.map(({ name, type }): Subject => ({ name, type, values: [] }))
  const having =
    subjects.length === 0
      ? fc.constant(undefined)
      : fc.option(plainConditions(subjects), { freq: 2, nil: undefined })
  return having.chain(condition =>
    rows(
      entity,
      {
        ...projection,
        clauses:
          condition === undefined ? projection.clauses : [...projection.clauses, ['having', condition]],
      },
      names,
      orderedBy([...exact, ...hidden]),
    ),
  )
}

function rows(
  entity: KnownEntity,
  { columns, filter, clauses }: Projection,
  names: readonly string[],
  more: readonly Ast[],
): fc.Arbitrary<AskedQuery> {
  const [first] = columns
  const chosen: Ast = columns.length === 1 && first ? first.ast : columns.map(({ ast }) => ast)
  const extract: Ast = ['extract', chosen, ...(filter === undefined ? [] : [filter]), ...clauses]
  return asked(entity, [extract], names, [...names, ...more])
}
