import { compareCodePoints, type Kind, type RawOrder } from './oracle.ts'
import { aggregateOf, isComputed, subjectOf, toText } from './query-functions.ts'
import {
  condition,
  type InnerRow,
  type KnownEntity,
  knownEntity,
  ownFields,
  partsOf,
  type Row,
  type World,
} from './query-oracle.ts'
import { relevance } from './query-search.ts'
import { tableNames } from './query-tables.ts'
import { compare, identity, type Place, placeOf, textOf, valueAt } from './query-values.ts'
import { type Json, jsonNull, operatorOf } from './raw-json.ts'

/**
 * A value in the result of a query. This part of the oracle (query-oracle.ts) covers columns, groups, order
 * and paging.
 */
export interface Cell {
  readonly type: Kind
  readonly collation?: string
  readonly list?: boolean
  readonly keepsZeros?: boolean
  readonly json: Json
  /** True if the value is written as in a record. A group's value may be any of several equal ones. */
  readonly exact: boolean
  /** Maximum deviation of a double, whose last digits depend on the order of addition. */
  readonly within?: number
  /** True for a field that is sorted by its JSON as text: JSON of a table, and one without an order in groups. */
  readonly byText?: true
}

/** Parameters of an address, which override clauses. */
export interface AskedPage {
  readonly order?: readonly RawOrder[]
  readonly limit?: number
  readonly offset?: number
}

export interface Answer {
  /** Rows, each with its members in order. */
  readonly rows: readonly ReadonlyMap<string, Cell>[]
  /** The number of rows without limit and offset. */
  readonly total: number
  /** True if rows follow those of the page. */
  readonly more: boolean
}

/** A row before it is sorted. */
interface Made {
  readonly cells: ReadonlyMap<string, Cell>
  /** Returns another value to sort by, given its node in the query. */
  value(by: Json): Cell | undefined
  /** Cells that break ties. */
  readonly last: readonly Cell[]
}

/** @param entity in the address; null at the base */
export function answerOf(
  world: World,
  entity: string | null,
  query: Json | null,
  page: AskedPage = {},
): Answer {
  const isFrom = operatorOf(query ?? undefined) === 'from'
  const [, named, ...rest] = isFrom ? partsOf(query ?? undefined) : []
  const name = entity ?? textOf(named as Json)
  const clause = (operator: string) => rest.find(one => operatorOf(one) === operator)
  const body = isFrom
    ? rest.find(one => !['limit', 'offset', 'order_by'].includes(operatorOf(one) ?? ''))
    : query
  const order: readonly Entry[] =
    page.order?.map(one => ({
      by: textNode(one.field),
      descending: one.order?.toLowerCase() === 'desc',
    })) ?? partsOf(partsOf(clause('order_by'))[1]).map(entryOf)
  const known = knownEntity(world, name)
  const isPlain = order.every(({ by }) => ownFields(known).some(field => field.name === textOf(by)))
  const rows = madeRows(world, known, body ?? undefined, isPlain)
  const sorted = rows.toSorted((one, other) => compareRows(one, other, order))
  const number = (operator: string) => {
    const value = partsOf(clause(operator))[1]
    return value && Number(value.raw)
  }
  const offset = page.offset ?? number('offset') ?? 0
  const limit = page.limit ?? number('limit') ?? sorted.length
  return {
    rows: sorted.slice(offset, offset + limit).map(({ cells }) => cells),
    total: rows.length,
    more: offset + limit < rows.length,
  }
}

/** Returns the rows of a `from` in an `in` condition. */
export const innerRows = (query: Json, world: World): readonly InnerRow[] =>
  answerOf(world, null, query).rows.map(row =>
    [...row.values()].map(({ type, json }) => [type, json] as const),
  )

interface Entry {
  readonly by: Json
  readonly descending: boolean
}

function entryOf(json: Json): Entry {
  const [by, direction] = json.kind === 'array' && operatorOf(json) !== 'function' ? json.items : [json]
  return { by: by as Json, descending: direction !== undefined && textOf(direction) === 'desc' }
}

/** Sorts nulls last if ascending, first if descending. */
function compareRows(one: Made, other: Made, order: readonly Entry[]): number {
  for (const { by, descending } of order) {
    const result = compareCells(cellBy(one, by), cellBy(other, by))
    if (result !== 0) return descending ? -result : result
  }
  for (const [at, cell] of one.last.entries()) {
    const result = compareCells(cell, other.last[at] as Cell)
    if (result !== 0) return result
  }
  return 0
}

function cellBy({ cells, value }: Made, by: Json): Cell {
  const cell = (by.kind === 'text' ? cells.get(by.text) : undefined) ?? value(by)
  if (!cell) throw new Error(`nothing to sort by: ${by.raw}`)
  return cell
}

function compareCells(one: Cell, other: Cell): number {
  const [first, second] = [one.json.kind === 'null', other.json.kind === 'null']
  if (first || second) return Number(first) - Number(second)
  if (one.byText) return compareCodePoints(one.json.raw, other.json.raw)
  return compare(one, one.json, other.json)
}

/** The source of a column: a field or a function. */
interface Source {
  readonly name: string
  readonly node: Json
  readonly isAggregate: boolean
}

const aggregates = ['count', 'count_distinct', 'avg', 'sum', 'min', 'max', 'median', 'percentile']

function sourceOf(node: Json): Source {
  const [, name] = operatorOf(node) === 'function' ? partsOf(node) : [undefined, node]
  const text = textOf(name as Json)
  if (text === 'bucket' && node.kind === 'array')
    return { name: textOf(node.items[2] as Json), node, isAggregate: false }
  return { name: text, node, isAggregate: node.kind === 'array' && aggregates.includes(text) }
}

/** A record with its relevance for the text search of the query. */
class Ranked extends Map<string, Json> {
  readonly relevance: number

  constructor(record: Row, relevance: number) {
    super(record)
    this.relevance = relevance
  }
}

/** @param isPlain true if the order consists of fields */
function madeRows(world: World, entity: KnownEntity, body: Json | undefined, isPlain: boolean): Made[] {
  const { fields, name } = entity
  const isExtract = operatorOf(body) === 'extract'
  const [, chosen, ...rest] = isExtract ? partsOf(body) : []
  const clause = (operator: string) => rest.find(one => operatorOf(one) === operator)
  const where = isExtract
    ? rest.find(one => !['group_by', 'having', 'distinct', 'with_empty'].includes(operatorOf(one) ?? ''))
    : body
  const test = where ? condition(where, { world, fields, entity: name }) : () => true
  const rank = relevance(where, { fields })
  const records = entity.records.flatMap(({ members }) =>
    test(members) === true ? [new Ranked(members, rank(members))] : [],
  )
  const isAll =
    !chosen || (partsOf(chosen).length === 0 && chosen.kind === 'array' && rest.every(one => one === where))
  if (isAll && isPlain) return records.map(record => wholeRecord(record, entity))
  // Sorted by other values than fields, records have all fields, and missing ones become null.
  const sources = columnsOf(chosen ?? { kind: 'array', raw: '[]', items: [] }, entity)
  const groups = clause('group_by') ? partsOf(clause('group_by')).slice(1) : undefined
  const isGrouped = groups !== undefined || sources.some(([, source]) => source.isAggregate)
  const isDistinct = clause('distinct') !== undefined
  let rows = isGrouped
    ? groupedRows(records, sources, groups ?? [], groups === undefined, entity)
    : records.map(record => plainRow(record, sources, entity, !isDistinct))
  const [, having] = partsOf(clause('having'))
  if (having) rows = rows.filter(row => havingTest(having, row, world))
  return isDistinct ? distinctRows(rows) : rows
}

function columnsOf(chosen: Json, entity: KnownEntity): readonly (readonly [string, Source])[] {
  const isList = chosen.kind === 'array' && operatorOf(chosen) !== 'function'
  const nodes = isList ? chosen.items : [chosen]
  const sources =
    nodes.length === 0 ? ownFields(entity).map(({ name }) => sourceOf(textNode(name))) : nodes.map(sourceOf)
  const counts = new Map<string, number>()
  return sources.map(source => {
    const count = (counts.get(source.name) ?? 0) + 1
    counts.set(source.name, count)
    return [count === 1 ? source.name : `${source.name}_${count}`, source] as const
  })
}

function wholeRecord(record: Ranked, entity: KnownEntity): Made {
  const related = new Set(entity.fields.flatMap(field => (field.related ? [field.name] : [])))
  const names = [...record.keys()].filter(name => !related.has(name))
  const cells = new Map(names.map(name => [name, scalar(textNode(name), record, entity, true)] as const))
  return { cells, value: by => scalar(by, record, entity, true), last: keyOf(record, entity) }
}

const textNode = (text: string): Json => ({ kind: 'text', raw: JSON.stringify(text), text })

const keyOf = (record: Ranked, entity: KnownEntity): readonly Cell[] =>
  entity.key.map(name => scalar(textNode(name), record, entity, true))

function scalar(node: Json, record: Ranked, entity: KnownEntity, isExact: boolean): Cell {
  const { fields } = entity
  const [, called, field, mask] = node.kind === 'array' ? partsOf(node) : [undefined, node]
  // Equal values of several related records share one way to write them, unless both entities are tables.
  const related = fields.find(one => one.related && node.kind === 'text' && node.text.startsWith(one.name))
  const exact = isExact && (!related || [entity.name, related.related ?? ''].every(one => tables.has(one)))
  if (textOf(called as Json) === 'relevance')
    return { type: 'number', json: { kind: 'number', raw: String(record.relevance) }, exact }
  if (node.kind === 'array' && isComputed(node)) {
    const place = subjectOf(node, fields)
    return { type: place.type, json: valueAt(record, place) ?? jsonNull, exact: false }
  }
  if (node.kind === 'array') {
    const value = valueAt(record, placeOf(textOf(field as Json), fields))
    return { type: 'text', json: value ? toText(value, textOf(mask as Json)) : jsonNull, exact }
  }
  const place = placeOf(textOf(node), fields)
  const known = place.path.length === 0 ? fields.find(one => one.name === place.name) : undefined
  const isByText = known?.sortable === false || (known?.type === 'json' && known.keepsZeros === true)
  const json = valueAt(record, place) ?? jsonNull
  return {
    type: place.type,
    ...(place.collation !== undefined && { collation: place.collation }),
    ...(place.list && { list: true }),
    ...(place.keepsZeros && { keepsZeros: true }),
    json,
    exact,
    ...(isByText && { byText: true }),
  }
}

function plainRow(
  record: Ranked,
  sources: readonly (readonly [string, Source])[],
  entity: KnownEntity,
  exact: boolean,
): Made {
  return {
    cells: new Map(sources.map(([name, { node }]) => [name, cellOf(node, record, entity, exact)])),
    value: by => cellOf(by, record, entity, exact),
    last: keyOf(record, entity),
  }
}

/**
 * Returns the value that stands for all values equal to it: the one whose JSON comes first. Of imported
 * records, those of the whole entity are considered. Of a table, which the database groups, only those of the
 * group.
 */
function cellOf(node: Json, record: Ranked, entity: KnownEntity, exact: boolean): Cell {
  const own = scalar(node, record, entity, exact)
  if (exact || own.type !== 'json' || tables.has(entity.name)) return own
  const id = identity(own.type, own.json)
  return entity.records
    .map(({ members }) => scalar(node, new Ranked(members, record.relevance), entity, exact))
    .filter(({ type, json }) => identity(type, json) === id)
    .reduce(firstOf, own)
}

const tables = new Set<string>(Object.values(tableNames))

/** @param isOne true if all records form one row, which exists even without records */
function groupedRows(
  records: readonly Ranked[],
  sources: readonly (readonly [string, Source])[],
  groups: readonly Json[],
  isOne: boolean,
  entity: KnownEntity,
): Made[] {
  const nodes = groups.map(
    group => sources.find(([name]) => isColumnAlone(group, name, entity))?.[1].node ?? group,
  )
  const found = new Map<string, { readonly cells: readonly Cell[]; readonly records: Ranked[] }>()
  if (isOne) found.set('', { cells: [], records: [] })
  for (const record of records) {
    const cells = nodes.map(node => cellOf(node, record, entity, false))
    const id = cells.map(({ type, json }) => identity(type, json)).join('\n')
    const group = found.get(id) ?? { cells, records: [] }
    group.records.push(record)
    found.set(id, { ...group, cells: cells.map((cell, at) => firstOf(group.cells[at] as Cell, cell)) })
  }
  return [...found.values()].map(group => {
    const groupCell = (by: Json) => group.cells[nodes.findIndex(node => node.raw === by.raw)]
    const sourceCell = ({ node, isAggregate }: Source): Cell => {
      if (!isAggregate) return groupCell(node) as Cell
      const [, name, field, percent] = partsOf(node)
      const place: Place | undefined = field && placeOf(textOf(field), entity.fields)
      return aggregateOf(textOf(name as Json), place, group.records, percent)
    }
    const byNode = new Map(sources.map(([, source]) => [source.node.raw, source]))
    return {
      cells: new Map(sources.map(([name, source]) => [name, sourceCell(source)])),
      value: by => {
        const source = byNode.get(by.raw)
        return source ? sourceCell(source) : groupCell(by)
      },
      last: group.cells,
    }
  })
}

/** Returns the one of two equal values whose JSON comes first. */
const firstOf = (one: Cell, other: Cell): Cell =>
  compareCodePoints(one.json.raw, other.json.raw) <= 0 ? one : other

/** True if a name stands for a column, because no field has this name. */
const isColumnAlone = (group: Json, name: string, { fields }: KnownEntity) =>
  group.kind === 'text' && group.text === name && !fields.some(field => field.name === name)

function havingTest(having: Json, { cells }: Made, world: World): boolean {
  const fields = [...cells].map(([name, { type, collation, list, keepsZeros }]) => ({
    name,
    type,
    ...(list && { list }),
    ...(keepsZeros && { keepsZeros }),
    ...(collation !== undefined && { collation }),
  }))
  return (
    condition(having, { world, fields })(new Map([...cells].map(([name, { json }]) => [name, json]))) === true
  )
}

function distinctRows(rows: readonly Made[]): Made[] {
  const found = new Map<string, Made>()
  for (const row of rows) {
    const cells = [...row.cells.values()]
    const id = cells.map(({ type, json }) => identity(type, json)).join('\n')
    const known = found.get(id)?.cells ?? row.cells
    const shown = new Map(
      [...row.cells].map(([name, cell]) => [name, firstOf(known.get(name) as Cell, cell)]),
    )
    found.set(id, { ...row, cells: shown, last: [...shown.values()] })
  }
  return [...found.values()]
}
