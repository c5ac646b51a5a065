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
import type { Connection, Queries } from './driver.ts'
import { now, recordEvent } from './events.ts'
import { millis, replaceNul } from './rows.ts'

/** Changes of processes. */
const silent = `beat <= ${millis} - ${silentFor}`

/** As everybody but its owner sees it. */
export const seenState = `CASE WHEN ended IS NULL AND ${silent} THEN 'interrupted' ELSE state END`

export async function beginProcess(
  db: Connection,
  asked: NewProcess,
  place: Place,
): Promise<Process | Rival | undefined> {
  // In this order everywhere, so that no two wait for each other.
  if (asked.aloneIn !== undefined) {
    await db.rows('SELECT pg_advisory_xact_lock(hashtextextended($1, 43))', asked.kind)
    const rival = rivalAmong(
      asked,
      await db.rows<{ id: number; parameters: string }>(
        `SELECT id, parameters FROM process WHERE kind = $1 AND ended IS NULL AND NOT ${silent}`,
        asked.kind,
      ),
    )
    if (rival) return rival
  }
  await lockTurns(db, place)
  const { running, waiting } = await busyOf(db, place.owner)
  const runs = place.atOnce === null || (running < place.atOnce && waiting === 0)
  if (!runs && waiting >= place.waiting) return undefined
  const begun = now()
  const state = runs ? 'running' : 'scheduled'
  const [row] = await db.rows<{ id: number }>(
    `INSERT INTO process (kind, state, eperson, parameters, begun, owner, beat)
     VALUES ($1, $2, $3, $4, $5, $6, ${millis}) RETURNING id`,
    asked.kind,
    state,
    asked.eperson,
    JSON.stringify(asked.parameters),
    begun,
    place.owner,
  )
  if (!row) throw new Error('a process was not added')
  if (asked.event) await recordEvent(db, { ...asked.event, object: String(row.id) })
  return newProcess(row.id, state, begun, asked)
}

export async function promoteProcess(db: Connection, id: number, place: Place): Promise<Turn> {
  await lockTurns(db, place)
  if ((await standingOf(db, id, place.owner)) === 'lost') return 'gone'
  const { running, first } = await busyOf(db, place.owner)
  const turn = turnOf(id, running, first, place.atOnce)
  if (turn === 'runs')
    await db.run("UPDATE process SET state = 'running', begun = $1 WHERE id = $2", now(), id)
  await db.run(`UPDATE process SET beat = ${millis} WHERE id = $1`, id)
  return turn
}

/** The event loops of an owner take turns, one after the other. */
async function lockTurns(db: Queries, { owner, atOnce }: Place): Promise<void> {
  if (atOnce !== null) await db.rows('SELECT pg_advisory_xact_lock(hashtextextended($1, 42))', owner)
}

async function busyOf(db: Queries, owner: string) {
  const [row] = await db.rows<{ running: number; waiting: number; first: number | null }>(
    `SELECT count(*) FILTER (WHERE state = 'running') AS running, count(*) FILTER (WHERE state = 'scheduled') AS waiting,
       min(id) FILTER (WHERE state = 'scheduled') AS first
     FROM process WHERE owner = $1 AND ended IS NULL AND NOT ${silent}`,
    owner,
  )
  return row ?? { running: 0, waiting: 0, first: null }
}

/** For its owner. One that has been silent is still its owner's, until it was kept that it is interrupted. */
export async function standingOf(db: Queries, id: number, owner: string, lock = ''): Promise<Standing> {
  const [row] = await db.rows<{ cancelled: number }>(
    `SELECT cancelled FROM process WHERE id = $1 AND owner = $2 AND ended IS NULL ${lock}`,
    id,
    owner,
  )
  return row === undefined ? 'lost' : row.cancelled === 1 ? 'cancelled' : 'wanted'
}

export async function keepProcess(db: Connection, id: number, owner: string, news: News): Promise<Standing> {
  const standing = await standingOf(db, id, owner, 'FOR UPDATE')
  if (standing !== 'lost') await keepNews(db, id, news)
  return standing
}

async function keepNews(db: Connection, id: number, { progress, lines, written }: News): Promise<void> {
  await db.run(
    `UPDATE process SET beat = ${millis}, progress = coalesce($1, progress), written = $2 WHERE id = $3`,
    jsonOf(progress),
    written,
    id,
  )
  if (lines.length === 0) return
  // Those of news whose commit nobody was told of, because the connection broke, come again.
  await db.run(
    `INSERT INTO process_line (process, n, time, text)
     SELECT $1, n, time, text FROM unnest($2::int[], $3::text[], $4::text[]) AS line (n, time, text)
     ON CONFLICT DO NOTHING`,
    id,
    lines.map(({ n }) => n),
    lines.map(({ time }) => time),
    lines.map(({ text }) => replaceNul(text) ?? ''),
  )
}

export async function endProcess(
  db: Connection,
  id: number,
  owner: string,
  how: Ending,
  news: News,
): Promise<boolean> {
  if ((await standingOf(db, id, owner, 'FOR UPDATE')) === 'lost') return false
  await keepNews(db, id, news)
  await db.run(
    'UPDATE process SET state = $1, ended = $2, result = $3, fault = $4 WHERE id = $5',
    how.state,
    now(),
    jsonOf(how.result),
    replaceNul(how.fault),
    id,
  )
  return true
}

export async function cancelProcess(
  db: Connection,
  id: number,
  event: AuditEvent,
): Promise<ProcessState | undefined> {
  const state = await lockedState(db, id)
  if (state !== 'running' && state !== 'scheduled') return state
  const changed = await db.run('UPDATE process SET cancelled = 1 WHERE id = $1 AND cancelled = 0', id)
  if (changed > 0) await recordEvent(db, { ...event, object: String(id) })
  return state
}

export async function removeProcess(
  db: Connection,
  id: number,
  event: AuditEvent,
): Promise<ProcessState | undefined> {
  const state = await lockedState(db, id)
  if (state === undefined || state === 'running' || state === 'scheduled') return state
  await db.run('DELETE FROM process WHERE id = $1', id)
  await recordEvent(db, { ...event, object: String(id) })
  return state
}

async function lockedState(db: Queries, id: number): Promise<ProcessState | undefined> {
  const [row] = await db.rows<{ state: ProcessState }>(
    `SELECT ${seenState} AS state FROM process WHERE id = $1 FOR UPDATE`,
    id,
  )
  return row?.state
}

export async function interruptProcesses(db: Queries, owners: readonly string[]): Promise<void> {
  await db.run(
    `UPDATE process SET state = 'interrupted', ended = $2
     WHERE ended IS NULL AND (${silent} OR owner = ANY($1))`,
    owners,
    now(),
  )
}

export async function pruneProcesses(db: Queries, before: string, most: number): Promise<void> {
  await db.run('DELETE FROM process WHERE ended < $1', before)
  await db.run(
    `DELETE FROM process WHERE ended IS NOT NULL AND id <=
       (SELECT id FROM process ORDER BY id DESC LIMIT 1 OFFSET $1)`,
    most,
  )
}
