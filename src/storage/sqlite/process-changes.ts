import type { AuditEvent } from '../../model/audit-events.ts'
import type { NewProcess, Process, ProcessState } from '../../model/processes.ts'
import {
  type Ending,
  type News,
  type Place,
  type Rival,
  type Standing,
  silentFor,
  type Turn,
} from '../processes.ts'
import { jsonOf, newProcess, rivalAmong, turnOf } from '../statements/process-rows.ts'
import type { Database } from './driver.ts'
import { now, recordEvent } from './events.ts'
import { requireRights } from './stamps.ts'

/** Changes of processes, which the single writer makes one after the other. */
export function beginProcess(db: Database, asked: NewProcess, place: Place): Process | Rival | undefined {
  if (asked.event) requireRights(db, asked.event)
  const rival = rivalAmong(
    asked,
    db.all<{ id: number; parameters: string }>(
      'SELECT id, parameters FROM process WHERE kind = ? AND ended IS NULL AND beat > ?',
      asked.kind,
      silentSince(),
    ),
  )
  if (rival) return rival
  const { running, waiting } = busyOf(db, place.owner)
  const runs = place.atOnce === null || (running < place.atOnce && waiting === 0)
  if (!runs && waiting >= place.waiting) return undefined
  const begun = now()
  const state = runs ? 'running' : 'scheduled'
  const row = db.get<{ id: number }>(
    `INSERT INTO process (kind, state, eperson, parameters, begun, owner, beat) VALUES (?, ?, ?, ?, ?, ?, ?)
     RETURNING id`,
    asked.kind,
    state,
    asked.eperson,
    JSON.stringify(asked.parameters),
    begun,
    place.owner,
    Date.now(),
  )
  if (!row) throw new Error('a process was not added')
  if (asked.event) recordEvent(db, { ...asked.event, object: String(row.id) })
  return newProcess(row.id, state, begun, asked)
}

export function promoteProcess(db: Database, id: number, { owner, atOnce }: Place): Turn {
  if (standingOf(db, id, owner) === 'lost') return 'gone'
  const { running, first } = busyOf(db, owner)
  const turn = turnOf(id, running, first, atOnce)
  if (turn === 'runs') db.run("UPDATE process SET state = 'running', begun = ? WHERE id = ?", now(), id)
  beat(db, id)
  return turn
}

const busyOf = (db: Database, owner: string) =>
  db.get<{ running: number; waiting: number; first: number | null }>(
    `SELECT count(*) FILTER (WHERE state = 'running') AS running, count(*) FILTER (WHERE state = 'scheduled') AS waiting,
       min(id) FILTER (WHERE state = 'scheduled') AS first
     FROM process WHERE owner = ? AND ended IS NULL AND beat > ?`,
    owner,
    Date.now() - silentFor,
  ) ?? { running: 0, waiting: 0, first: null }

const beat = (db: Database, id: number) => db.run('UPDATE process SET beat = ? WHERE id = ?', Date.now(), id)

/** For its owner. One that has been silent is still its owner's, until it was kept that it is interrupted. */
export function standingOf(db: Database, id: number, owner: string): Standing {
  const row = db.get<{ cancelled: number }>(
    'SELECT cancelled FROM process WHERE id = ? AND owner = ? AND ended IS NULL',
    id,
    owner,
  )
  return row === undefined ? 'lost' : row.cancelled === 1 ? 'cancelled' : 'wanted'
}

export function keepProcess(db: Database, id: number, owner: string, news: News): Standing {
  const standing = standingOf(db, id, owner)
  if (standing !== 'lost') keepNews(db, id, news)
  return standing
}

function keepNews(db: Database, id: number, { progress, lines, written }: News): void {
  db.run(
    'UPDATE process SET beat = ?, progress = coalesce(?, progress), written = ? WHERE id = ?',
    Date.now(),
    jsonOf(progress),
    written,
    id,
  )
  for (const { n, time, text } of lines)
    db.run(
      'INSERT INTO process_line (process, n, time, text) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
      ...[id, n, time, text],
    )
}

export function endProcess(db: Database, id: number, owner: string, how: Ending, news: News): boolean {
  if (standingOf(db, id, owner) === 'lost') return false
  keepNews(db, id, news)
  db.run(
    'UPDATE process SET state = ?, ended = ?, result = ?, fault = ? WHERE id = ?',
    how.state,
    now(),
    jsonOf(how.result),
    how.fault,
    id,
  )
  return true
}

export function cancelProcess(db: Database, id: number, event: AuditEvent): ProcessState | undefined {
  const state = stateOf(db, id)
  if (state !== 'running' && state !== 'scheduled') return state
  const changed = db.run('UPDATE process SET cancelled = 1 WHERE id = ? AND cancelled = 0', id)
  if (changed > 0) recordEvent(db, { ...event, object: String(id) })
  return state
}

export function removeProcess(db: Database, id: number, event: AuditEvent): ProcessState | undefined {
  const state = stateOf(db, id)
  if (state === undefined || state === 'running' || state === 'scheduled') return state
  db.run('DELETE FROM process WHERE id = ?', id)
  recordEvent(db, { ...event, object: String(id) })
  return state
}

/** As others see it. */
function stateOf(db: Database, id: number): ProcessState | undefined {
  const row = db.get<{ state: ProcessState }>(
    `SELECT ${seenState} AS state FROM process WHERE id = ?2`,
    silentSince(),
    id,
  )
  return row?.state
}

/** With the time `silentSince` as ?1. */
export const seenState = "iif(ended IS NULL AND beat <= ?1, 'interrupted', state)"
export const silentSince = (): number => Date.now() - silentFor

export function interruptProcesses(db: Database, owners: readonly string[]): void {
  db.run(
    `UPDATE process SET state = 'interrupted', ended = ?3
     WHERE ended IS NULL AND (beat <= ?1 OR owner IN (SELECT value FROM json_each(?2)))`,
    silentSince(),
    JSON.stringify(owners),
    now(),
  )
}

export function pruneProcesses(db: Database, before: string, most: number): void {
  db.run('DELETE FROM process WHERE ended < ?', before)
  db.run(
    `DELETE FROM process WHERE ended IS NOT NULL AND id <= (SELECT id FROM process ORDER BY id DESC LIMIT 1 OFFSET ?)`,
    most,
  )
}
