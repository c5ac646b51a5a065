import type { Bind } from '../tables/cells.ts'
import type { Reading, Source } from '../tables/dialect.ts'
import type { Value } from './driver.ts'

/** The rows of a table that a select reads, with values that are computed once for each row. */
export function readRows(reading: Reading, bind: Bind<Value>): Source {
  const { table, way, first } = reading
  const found = new Map<string, string>()
  const audiences = audiencesApart(reading)
  const from = (visible: string, filter: string) => {
    const conditions = [visible, filter].filter(one => one !== '').join(' AND ')
    return `FROM ${table.name} t${lateral(found)}${conditions === '' ? '' : ` WHERE ${conditions}`}`
  }
  return {
    once: sql => {
      const name = found.get(sql) ?? `o.x${found.size}`
      found.set(sql, name)
      return name
    },
    from: (filter, order) => {
      if (audiences.length > 0) {
        const sorted = order === '' ? '' : `ORDER BY ${order} `
        const rest = way === 'merge' && typeof first === 'number' ? ` ${sorted}LIMIT ${bind(first)}` : ''
        const parts = audiences.map(id => `(SELECT t.* ${from(isIn(id, bind), filter)}${rest})`)
        return `FROM (${parts.join(' UNION ALL ')}) t${lateral(found)}`
      }
      const visible = visibleIn(reading, bind)
      return isCollected(reading)
        ? `FROM (SELECT * ${from(visible, filter)} OFFSET 0) t`
        : from(visible, filter)
    },
  }
}

/** Computes values once for each record, and not wherever they are used. */
function lateral(found: ReadonlyMap<string, string>): string {
  const columns = [...found].map(([sql, name]) => `${sql} AS ${name.slice('o.'.length)}`)
  return columns.length === 0 ? '' : ` CROSS JOIN LATERAL (SELECT ${columns.join(', ')} OFFSET 0) AS o`
}

/** The condition for visible rows; '' if all of them are. */
function visibleIn({ table: { rows }, way, isFiltered }: Reading, bind: Bind<Value>): string {
  if (rows.kind === 'own') return `t.eperson = ${bind(rows.eperson)}`
  if (rows.kind === 'all') return ''
  const [only, ...others] = rows.ids
  // Each index of visible rows begins with the audience, followed by the order of a list.
  if (only !== undefined && others.length === 0) return isIn(only, bind)
  // No index matches the expression, so rows are read in the order of the list instead of audience by
  // audience. With a condition, PostgreSQL chooses.
  const column = way === 'scan' && !isFiltered ? '(t.audience + 0)' : 't.audience'
  return `${column} = ANY(${bind(rows.ids)}::integer[])`
}

const isIn = (audience: number, bind: Bind<Value>) => `t.audience = CAST(${bind(audience)} AS INTEGER)`

/** True if PostgreSQL is to read all visible rows before it sorts them (`isCollectingCheaper`). */
const isCollected = ({ table: { rows }, way, isFiltered }: Reading) =>
  way === 'collect' && !isFiltered && rows.kind === 'audiences' && rows.ids.length !== 1

/** Maximum number of parts of a statement. */
const maxParts = 16

/**
 * The audiences that have a part of the statement each, so that PostgreSQL knows their numbers of rows: for a
 * variable it would assume an average, and for a list of them it could read others' rows in the order of the
 * page.
 */
function audiencesApart(reading: Reading): readonly number[] {
  const { table, way, first } = reading
  if (first === undefined || way === 'scan' || isCollected(reading) || table.rows.kind !== 'audiences')
    return []
  const { ids } = table.rows
  return ids.length === 1 || ids.length > maxParts ? [] : ids
}
