import type { TableSource } from '../../model/entities.ts'
import { type VisibleRows, viewPrefixes } from '../tables/row-visibility.ts'
import { quoteName } from './cells.ts'
import { tick } from './driver.ts'

/** The rows of a table that a statement reads. */

export type Bind = (value: number | string) => string

/**
 * `scan`: the table in the order of the list, without the rows that aren't visible; `collect`: all visible rows, audience by
 * audience; `merge`: of each audience the first rows in the order of the list.
 */
export type Way = 'scan' | 'collect' | 'merge'

/** `tick` comes first, because SQLite doesn't ask the rest once a term is false. */
export function visibleFrom({ table }: TableSource, rows: VisibleRows, way: Way, bind: Bind) {
  const view = `${quoteName(`${viewPrefixes[rows.kind]}${table}`)} AS t`
  if (rows.kind === 'all') return { view, each: '', asked: tick }
  if (rows.kind === 'own') return { view, each: '', asked: `${tick} AND t.eperson = ${bind(rows.eperson)}` }
  if (way === 'scan') {
    const wanted = `(SELECT value FROM json_each(${bind(`[${rows.ids.join()}]`)}))`
    // + keeps SQLite from using the index by audience, which would need a sort (https://sqlite.org/optoverview.html#uplus).
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
