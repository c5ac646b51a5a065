import type { LogLine } from '../../model/processes.ts'
import type { Processes, ProcessSearch } from '../processes.ts'
import { logOf, orderOf, type ProcessRow, processColumns, toProcess } from '../statements/process-rows.ts'
import { postgresAlerts } from './alerts.ts'
import type { Pool, Value } from './driver.ts'
import {
  beginProcess,
  cancelProcess,
  endProcess,
  interruptProcesses,
  keepProcess,
  promoteProcess,
  pruneProcesses,
  removeProcess,
  seenState,
  standingOf,
} from './process-changes.ts'
import { changing } from './stamps.ts'

const columns = processColumns.replace('state,', `${seenState} AS state,`)

/** Processes in PostgreSQL. */
export const postgresProcesses = (pool: Pool): Processes => ({
  begin: (process, place) =>
    changing(pool, process.event ?? {}, 'shared', db => beginProcess(db, process, place)),
  promote: (id, place) => pool.transaction(db => promoteProcess(db, id, place)),
  keep: (id, owner, news) => pool.transaction(db => keepProcess(db, id, owner, news)),
  look: (id, owner) => standingOf(pool, id, owner),
  end: (id, owner, how, news) => pool.transaction(db => endProcess(db, id, owner, how, news)),
  cancel: (id, event) => changing(pool, event, 'shared', db => cancelProcess(db, id, event)),
  remove: (id, event) => changing(pool, event, 'shared', db => removeProcess(db, id, event)),
  one: async id => {
    const [row] = await pool.rows<ProcessRow>(`SELECT ${columns} FROM process WHERE id = $1`, id)
    return row && toProcess(row)
  },
  find: async (search, { offset, limit }) => {
    const [where, ...values] = conditionOf(search)
    const [counted] = await pool.rows<{ total: number }>(
      `SELECT count(*) AS total FROM process WHERE ${where}`,
      ...values,
    )
    const rows = await pool.rows<ProcessRow>(
      `SELECT ${columns} FROM process WHERE ${where} ORDER BY ${orderOf(search)} LIMIT $4 OFFSET $5`,
      ...values,
      limit,
      offset,
    )
    return { rows: rows.map(toProcess), total: counted?.total ?? 0 }
  },
  lines: async (id, after, limit) => {
    const [row] = await pool.rows<{ written: number }>('SELECT written FROM process WHERE id = $1', id)
    const lines = await pool.rows<LogLine & Record<string, unknown>>(
      'SELECT n, time, text FROM process_line WHERE process = $1 AND n > $2 ORDER BY n LIMIT $3',
      id,
      after,
      limit,
    )
    return logOf(lines, row?.written ?? 0)
  },
  owners: async () => {
    const rows = await pool.rows<{ owner: string }>('SELECT DISTINCT owner FROM process WHERE ended IS NULL')
    return rows.map(({ owner }) => owner)
  },
  interrupt: owners => interruptProcesses(pool, owners),
  prune: (before, most) => pruneProcesses(pool, before, most),
  alerts: postgresAlerts(pool),
})

const conditionOf = ({ eperson, kind, states }: ProcessSearch): [where: string, ...values: Value[]] => [
  `($1::text IS NULL OR eperson = $1) AND ($2::text IS NULL OR kind = $2)
     AND ($3::text[] IS NULL OR ${seenState} = ANY($3))`,
  eperson ?? null,
  kind ?? null,
  states ?? null,
]
