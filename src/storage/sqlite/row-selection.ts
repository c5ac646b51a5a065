import type { Bind } from '../tables/cells.ts'
import type { Reading, Source } from '../tables/dialect.ts'
import { tick } from './driver.ts'

/** The rows of a table that a select reads. `tick` comes first: SQLite skips the terms after a false one. */
export function readRows(reading: Reading, bind: Bind<number | string>): Source {
  const { way, key, first } = reading
  const { view, each, own, asked } = visibleFrom(reading, bind)
  return {
    once: sql => sql,
    ...(own !== undefined && { own }),
    from: (filter, order) => {
      const where = `WHERE ${asked}${filter === '' ? '' : ` AND ${filter}`}`
      if (way !== 'merge' || order === '') return `FROM ${each}${view} ${where}`
      const some = `SELECT ${key} FROM ${view} ${where} ORDER BY ${order} LIMIT ${bind(first ?? -1)}`
      return `FROM ${each}${view} ON ${key} IN (${some})`
    },
  }
}

function visibleFrom({ table: { name, rows }, way }: Reading, bind: Bind<number | string>) {
  const view = `${name} AS t`
  if (rows.kind === 'all') return { view, each: '', asked: tick }
  if (rows.kind === 'own') return { view, each: '', asked: `${tick} AND t.eperson = ${bind(rows.eperson)}` }
  if (way === 'scan') {
    const wanted = `(SELECT value FROM json_each(${bind(`[${rows.ids.join()}]`)}))`
    // + keeps SQLite from using the index by audience, which would need a sort
    // (https://sqlite.org/optoverview.html#uplus).
    return { view, each: '', asked: `${tick} AND +t.audience IN ${wanted}` }
  }
  const [only, ...others] = rows.ids
  if (only !== undefined && others.length === 0) {
    const own = `t.audience = ${bind(only)}`
    return { view, each: '', own, asked: `${tick} AND ${own}` }
  }
  const own = 't.audience = seen'
  // CROSS JOIN keeps the order of the loops. The last term keeps `tick` in the inner one.
  const each = `(SELECT value AS seen FROM json_each(${bind(`[${rows.ids.join()}]`)})) CROSS JOIN `
  return { view, each, own, asked: `(${tick} OR t.audience IS NULL) AND ${own}` }
}
