import type { ProcessState } from '../../model/processes.ts'
import type { Processes, ProcessSearch } from '../processes.ts'
import { logOf, orderOf, type ProcessRow, processColumns, toProcess } from '../statements/process-rows.ts'
import { sqliteAlerts } from './alerts.ts'
import type { Database } from './driver.ts'
import type { Write } from './group-commit.ts'
import { seenState, silentSince, standingOf } from './process-changes.ts'

const columns = processColumns.replace('state,', `${seenState} AS state,`)

/** Processes in the embedded store. There are few, so their lists are read at once. */
export const sqliteProcesses = ({ db, write }: { db: Database; write: Write }): Processes => ({
  begin: (process, place) => write('beginProcess', process, place),
  promote: (id, place) => write('promoteProcess', id, place),
  keep: (id, owner, news) => write('keepProcess', id, owner, news),
  look: (id, owner) => standingOf(db, id, owner),
  end: (id, owner, how, news) => write('endProcess', id, owner, how, news),
  cancel: (id, event) => write('cancelProcess', id, event),
  remove: (id, event) => write('removeProcess', id, event),
  one: id => {
    const row = db.get<ProcessRow>(`SELECT ${columns} FROM process WHERE id = ?2`, silentSince(), id)
    return row && toProcess(row)
  },
  find: (search, { offset, limit }) => {
    const [where, ...values] = conditionOf(search)
    const since = silentSince()
    const total = db.get<{ total: number }>(
      `SELECT count(*) AS total FROM process WHERE ${where}`,
      since,
      ...values,
    )
    const rows = db.all<ProcessRow>(
      `SELECT ${columns} FROM process WHERE ${where} ORDER BY ${orderOf(search)} LIMIT ?5 OFFSET ?6`,
      since,
      ...values,
      limit,
      offset,
    )
    return { rows: rows.map(toProcess), total: total?.total ?? 0 }
  },
  lines: (id, after, limit) => {
    const written = db.get<{ written: number }>('SELECT written FROM process WHERE id = ?', id)?.written ?? 0
    const lines = db.all<{ n: number; time: string; text: string }>(
      'SELECT n, time, text FROM process_line WHERE process = ? AND n > ? ORDER BY n LIMIT ?',
      id,
      after,
      limit,
    )
    return logOf(lines, written)
  },
  owners: () =>
    db
      .all<{ owner: string }>('SELECT DISTINCT owner FROM process WHERE ended IS NULL')
      .map(({ owner }) => owner),
  interrupt: owners => write('interruptProcesses', owners),
  prune: (before, most) => write('pruneProcesses', before, most),
  alerts: sqliteAlerts({ db, write }),
})

const conditionOf = ({
  eperson,
  kind,
  states,
}: ProcessSearch): [where: string, eperson: string | null, kind: string | null, states: string | null] => [
  `?1 IS NOT NULL AND (?2 IS NULL OR eperson = ?2) AND (?3 IS NULL OR kind = ?3)
     AND (?4 IS NULL OR ${seenState} IN (SELECT value FROM json_each(?4)))`,
  eperson ?? null,
  kind ?? null,
  states === undefined ? null : JSON.stringify(states satisfies readonly ProcessState[]),
]
