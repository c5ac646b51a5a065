import type { Entity } from '../../model/entities.ts'
import type { Aggregate, Condition, FieldRef, Rows, Scalar } from '../../model/plan.ts'
import { type Cell, fieldNamed, joinBalanced, outside } from './cells.ts'
import type { ValueWriter } from './values.ts'

/** Rows of chosen values as SQL (Q22). Parts are made on demand, as a statement must use all bound values. */
interface RowStatement {
  /** The source of the rows, grouped and filtered: `FROM … WHERE …`. To be called last. */
  readonly from: () => string
  /** The values, in the order of the columns. */
  readonly cells: () => readonly Cell[]
  /** Terms without `ORDER BY`; '' for a single row. */
  readonly order: () => string
}

interface Source {
  readonly entity: Entity
  readonly writer: ValueWriter
  /** `FROM … WHERE …` of the records. To be called when all their values are written. */
  readonly from: () => string
  /** @param cell finds the value of a column */
  readonly condition: (condition: Condition, cell: (field: FieldRef) => Cell) => string
}

export function compileRows(shape: Rows, source: Source): RowStatement {
  const isGrouped = shape.groups !== null || shape.columns.some(({ value }) => value.kind === 'aggregate')
  if (!isGrouped && !shape.distinct) return ungrouped(shape, source)
  // Distinct rows are groups of equal ones.
  const groups = isGrouped ? (shape.groups ?? []) : shape.columns.map(({ value }) => value as Scalar)
  const grouped = groupRows(shape, groups, source)
  return isGrouped && shape.distinct ? distinctRows(shape, grouped, source) : grouped
}

function ungrouped(shape: Rows, source: Source): RowStatement {
  const { entity, writer, from } = source
  const types = new Map(entity.fields.map(field => [field.name, field.type]))
  const key = [entity.key].flat().map(name => fieldNamed(name, types.get(name) ?? 'text'))
  const values = shape.columns.map(({ value }) => value as Scalar)
  const ordered = shape.order.map(({ by, descending }) => ({ value: scalarBy(by, values), descending }))
  const order = (cell: (value: Scalar) => Cell) => () =>
    orderBy(
      writer,
      ordered.map(({ value, descending }) => ({ cell: cell(value), descending })),
      key.map(cell),
    )
  if (shape.having === null)
    return { from, cells: () => values.map(writer.scalar), order: order(writer.scalar) }
  const selected = selectValues([...values, ...ordered.map(({ value }) => value), ...key], writer, 'u')
  const cells = values.map(selected.cell)
  const having = havingOf(shape, cells, source)
  return {
    from: () => `FROM (SELECT ${selected.list} ${from()}) AS u${having}`,
    cells: () => cells,
    order: order(selected.cell),
  }
}

const scalarBy = (by: number | Scalar, columns: readonly Scalar[]): Scalar => {
  const scalar = typeof by === 'number' ? columns[by] : by
  if (scalar === undefined) throw new Error('there is no such column')
  return scalar
}

/** Selects each value once, and finds it from outside of the select. */
function selectValues(values: readonly Scalar[], writer: ValueWriter, alias: string) {
  const known = new Map<string, Cell>()
  const list: string[] = []
  for (const value of values) {
    const id = JSON.stringify(value)
    if (known.has(id)) continue
    const inner = writer.scalar(value)
    known.set(id, outside(inner, `${alias}.v${list.length}`))
    list.push(`${inner.sql} AS v${list.length}`)
  }
  const cell = (value: Scalar): Cell => {
    const found = known.get(JSON.stringify(value))
    if (found === undefined) throw new Error('a value isn’t selected')
    return found
  }
  return { list: list.join(', '), cell }
}

function groupRows(shape: Rows, groups: readonly Scalar[], source: Source): RowStatement {
  const { writer } = source
  const values = new Map<string, { readonly name: string; readonly inner: Cell; readonly by: boolean }>()
  const add = (value: Scalar | Aggregate) => {
    const id = JSON.stringify(value)
    if (values.has(id)) return
    const isAggregate = value.kind === 'aggregate'
    const inner = isAggregate ? writer.aggregate(value) : writer.scalar(value)
    values.set(id, { name: `v${values.size}`, inner, by: !isAggregate })
  }
  for (const group of groups) add(group)
  for (const { value } of shape.columns) if (value.kind === 'aggregate') add(value)
  const cellOf = (value: Scalar | Aggregate): Cell => {
    const found = values.get(JSON.stringify(value))
    if (found === undefined) throw new Error('a value is neither a group nor an aggregate')
    return outside(found.inner, `g.${found.name}`)
  }
  const all = [...values.values()]
  // A group has a row even if no value is selected.
  const selected = all.map(
    ({ name, inner, by }) => `${by ? writer.representative(inner) : inner.sql} AS ${name}`,
  )
  const keys = all.filter(({ by }) => by).map(({ inner }) => writer.key(inner))
  const grouping = keys.length === 0 ? '' : ` GROUP BY ${keys.join(', ')}`
  const cells = shape.columns.map(({ value }) => cellOf(value))
  const having = havingOf(shape, cells, source)
  const from = () => `FROM (SELECT ${selected.join(', ') || '1'} ${source.from()}${grouping}) AS g${having}`
  const wanted = shape.order.map(({ by, descending }) => ({
    cell: typeof by === 'number' ? cellAt(cells, by) : cellOf(by),
    descending,
  }))
  return { from, cells: () => cells, order: () => orderBy(writer, wanted, groups.map(cellOf)) }
}

/** Lists equal rows once: groups of which only some values are shown may be equal. */
function distinctRows(shape: Rows, rows: RowStatement, { writer }: Source): RowStatement {
  const inner = rows.cells()
  const selected = inner.map((cell, at) => `${writer.representative(cell)} AS d${at}`)
  const keys = inner.map(cell => writer.key(cell))
  const cells = inner.map((cell, at) => outside(cell, `d.d${at}`))
  const wanted = shape.order.map(({ by, descending }) => {
    const at = typeof by === 'number' ? by : shape.columns.findIndex(({ value }) => isSame(value, by))
    return { cell: cellAt(cells, at), descending }
  })
  return {
    from: () => `FROM (SELECT ${selected.join(', ')} ${rows.from()} GROUP BY ${keys.join(', ')}) AS d`,
    cells: () => cells,
    order: () => orderBy(writer, wanted, cells),
  }
}

const isSame = (one: Scalar | Aggregate, other: Scalar | Aggregate) =>
  JSON.stringify(one) === JSON.stringify(other)

const havingOf = (shape: Rows, cells: readonly Cell[], { condition }: Source) =>
  shape.having === null ? '' : ` WHERE ${condition(shape.having, columnNamed(shape, cells))}`

const columnNamed = (shape: Rows, cells: readonly Cell[]) => {
  const places = new Map(shape.columns.map(({ name }, at) => [name, at]))
  return ({ name }: FieldRef) => cellAt(cells, places.get(name) ?? -1)
}

function cellAt(cells: readonly Cell[], at: number): Cell {
  const cell = cells[at]
  if (cell === undefined) throw new Error('there is no such column')
  return cell
}

function orderBy(
  writer: ValueWriter,
  wanted: readonly { readonly cell: Cell; readonly descending: boolean }[],
  last: readonly Cell[],
): string {
  const terms = [...wanted, ...last.map(cell => ({ cell, descending: false }))]
  const seen = new Set<string>()
  return terms
    .filter(({ cell: { sql } }) => !seen.has(sql) && seen.add(sql))
    .map(({ cell, descending }) => writer.sort(cell, descending))
    .join(', ')
}

/** A row as a JSON object, with the members in the order of the columns. */
export function rowAsJson(shape: Rows, cells: readonly Cell[], writer: ValueWriter): string {
  if (cells.length === 0) return writer.bindText('{}')
  const members = shape.columns.flatMap(({ name }, at) => [
    writer.bindText(`${at === 0 ? '{' : ','}${JSON.stringify(name)}:`),
    writer.json(cellAt(cells, at)),
  ])
  return joinBalanced([...members, writer.bindText('}')], '||')
}
