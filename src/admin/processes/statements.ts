import type { AuditEvent } from '../../model/audit-events.ts'
import type {
  EndState,
  LogLine,
  NewProcess,
  Process,
  ProcessKind,
  ProcessState,
  Progress,
} from '../../model/processes.ts'
import * as tables from '../../storage/schema/service.ts'
import type { PartStatements } from '../../storage/statements/offered.ts'
import type { Change, Offered, Read, Value } from '../../storage/statements/statements.ts'
import * as db from '../../storage/statements/statements.ts'
import type { Part, Window } from '../../storage/storage.ts'

/** Maximum characters of a line of a log, and maximum lines of a log that are kept. */
export const maxLine = 1_000
export const maxLines = 2_000

/** Time in ms without a sign of life after which a process counts as interrupted. */
const silentFor = 60_000

/**
 * Processes and their logs (docs/decisions/0042). There are few, so their lists are read at once. A program that runs
 * one gives signs of life; without them, the process counts as interrupted.
 */
export const processes = {
  reads: {
    /** Reads the standing of a process without recording a sign of life. */
    look: (id: number, owner: string) => standingOf(id, owner),
    *one(id: number): Read<Process | undefined> {
      const sql = `SELECT ${columns} FROM process WHERE id = $2`
      const found = yield* db.row<ProcessRow>(sql, yield* silence(), id)
      return found && toProcess(found)
    },
    *find(search: ProcessSearch, { offset, limit }: Window): Read<Part<Process>> {
      const [where, ...values] = conditionOf(search)
      const since = yield* silence()
      const total = yield* db.count(`process WHERE ${where}`, since, ...values)
      const found = yield* db.rows<ProcessRow>(
        `SELECT ${columns} FROM process WHERE ${where} ORDER BY ${orderOf(search)} LIMIT $5 OFFSET $6`,
        since,
        ...values,
        limit,
        offset,
      )
      return { rows: found.map(toProcess), total }
    },
    /** The lines after line `after`, and the number of lines that were not kept. */
    *lines(id: number, after: number, limit: number): Read<Log> {
      const written = yield* db.value<number>('SELECT written FROM process WHERE id = $1', id)
      const sql = 'SELECT n, time, text FROM process_line WHERE process = $1 AND n > $2 ORDER BY n LIMIT $3'
      const lines = yield* db.rows<LogLine>(sql, id, after, limit)
      return { lines, left: Math.max(0, (written ?? 0) - maxLines) }
    },
    /** The owners of processes that run or wait. */
    owners: () => db.column<string>('SELECT DISTINCT owner FROM process WHERE ended IS NULL'),
  },
  changes: {
    /** @returns the rival that excludes it; undefined if no more processes may run or wait */
    *begin(asked: NewProcess, place: Place): Change<Process | Rival | undefined> {
      if (asked.event) yield* db.rights(asked.event, 'shared')
      const rival = yield* rivalOf(asked)
      if (rival) return rival
      yield* takeTurn(place)
      const { running, waiting } = yield* busyOf(place.owner)
      const runs = place.atOnce === null || (running < place.atOnce && waiting === 0)
      if (!runs && waiting >= place.waiting) return undefined
      const { kind, eperson, parameters } = asked
      const begun = db.now()
      const state: ProcessState = runs ? 'running' : 'scheduled'
      const id = yield* db.insertNumbered(tables.processTable, {
        kind,
        state,
        eperson,
        parameters: JSON.stringify(parameters),
        begun,
        owner: place.owner,
        beat: yield* db.clock(),
      })
      if (asked.event) yield* db.record({ ...asked.event, object: String(id) })
      const unknown = { ended: null, progress: null, result: null, fault: null }
      return { id, kind, state, eperson, parameters, begun, ...unknown }
    },
    /** Lets a waiting process run if it is its turn. */
    *promote(id: number, place: Place): Change<Turn> {
      yield* takeTurn(place)
      if ((yield* standingOf(id, place.owner)) === 'lost') return 'gone'
      const { running, first } = yield* busyOf(place.owner)
      const isNext = first === id && (place.atOnce === null || running < place.atOnce)
      if (isNext)
        yield* db.run("UPDATE process SET state = 'running', begun = $1 WHERE id = $2", db.now(), id)
      yield* db.run('UPDATE process SET beat = $1 WHERE id = $2', yield* db.clock(), id)
      return isNext ? 'runs' : 'waits'
    },
    /** Records news of a process, and a sign of life. */
    *keep(id: number, owner: string, news: News): Change<Standing> {
      const standing = yield* standingOf(id, owner, ' FOR UPDATE')
      if (standing !== 'lost') yield* keepNews(id, news)
      return standing
    },
    /** @returns false if it is no longer its owner's, because it was marked as interrupted for example */
    *end(id: number, owner: string, { state, result, fault }: Ending, news: News): Change<boolean> {
      if ((yield* standingOf(id, owner, ' FOR UPDATE')) === 'lost') return false
      yield* keepNews(id, news)
      const ended = { state, ended: db.now(), result: result && JSON.stringify(result), fault }
      yield* db.update(tables.processTable, ended, { id })
      return true
    },
    /** Asks its owner to end it. @returns its state before; undefined: there is none */
    *cancel(id: number, event: AuditEvent): Change<ProcessState | undefined> {
      yield* db.rights(event, 'shared')
      const state = yield* lockedState(id)
      if (state !== 'running' && state !== 'scheduled') return state
      const changed = yield* db.run('UPDATE process SET cancelled = 1 WHERE id = $1 AND cancelled = 0', id)
      if (changed > 0) yield* db.record({ ...event, object: String(id) })
      return state
    },
    /** Removes one that has ended, with its log. @returns its state before; undefined: there is none */
    *remove(id: number, event: AuditEvent): Change<ProcessState | undefined> {
      yield* db.rights(event, 'shared')
      const state = yield* lockedState(id)
      if (state === undefined || state === 'running' || state === 'scheduled') return state
      yield* db.run('DELETE FROM process WHERE id = $1', id)
      yield* db.record({ ...event, object: String(id) })
      return state
    },
    /** Marks the processes of these owners, and those silent for longer than `silentFor`, as interrupted. */
    *interrupt(owners: readonly string[]): Change<void> {
      yield* db.run(
        `UPDATE process SET state = 'interrupted', ended = $3
         WHERE ended IS NULL AND (beat <= $1 OR owner = ANY($2))`,
        yield* silence(),
        owners,
        db.now(),
      )
    },
    /** Removes processes that ended before a time, and ended ones that are not among the newest `most`. */
    *prune(before: string, most: number): Change<void> {
      yield* db.run('DELETE FROM process WHERE ended < $1', before)
      yield* db.run(
        `DELETE FROM process WHERE ended IS NOT NULL AND id <=
           (SELECT id FROM process ORDER BY id DESC LIMIT 1 OFFSET $1)`,
        most,
      )
    },
  },
} satisfies PartStatements

/** Processes, as an engine offers them. */
export type Processes = Offered<typeof processes>

/** A process counts as interrupted if its owner has been silent since this time, in ms since 1970. */
function* silence(): Read<number> {
  return (yield* db.clock()) - silentFor
}

/** The state as all but the owner see it. $1: `silence` */
const seenState = "CASE WHEN ended IS NULL AND beat <= $1 THEN 'interrupted' ELSE state END"

/** A silent process is still its owner's until it is marked as interrupted. */
function* standingOf(id: number, owner: string, locking = ''): Read<Standing> {
  const cancelled = yield* db.value<number>(
    `SELECT cancelled FROM process WHERE id = $1 AND owner = $2 AND ended IS NULL${locking}`,
    id,
    owner,
  )
  return cancelled === undefined ? 'lost' : cancelled === 1 ? 'cancelled' : 'wanted'
}

function* lockedState(id: number): Change<ProcessState | undefined> {
  const sql = `SELECT ${seenState} AS state FROM process WHERE id = $2 FOR UPDATE`
  return yield* db.value<ProcessState>(sql, yield* silence(), id)
}

/** Looks for a rival. Processes that may have one begin one at a time. This lock comes before that of turns. */
function* rivalOf({ kind, aloneIn, parameters }: NewProcess): Change<Rival | undefined> {
  if (aloneIn === undefined) return undefined
  yield* db.lock('SELECT pg_advisory_xact_lock(hashtextextended($1, 43))', kind)
  const others = yield* db.rows<Pick<ProcessRow, 'id' | 'parameters'>>(
    'SELECT id, parameters FROM process WHERE kind = $1 AND ended IS NULL AND beat > $2',
    kind,
    yield* silence(),
  )
  const known = (other: Pick<ProcessRow, 'parameters'>) =>
    JSON.parse(other.parameters) as Process['parameters']
  const rival = others.find(other => known(other)[aloneIn] === parameters[aloneIn])
  return rival && { rival: rival.id }
}

/** Makes the event loops of an owner wait for each other. */
function* takeTurn({ owner, atOnce }: Place): Change<void> {
  if (atOnce !== null) yield* db.lock('SELECT pg_advisory_xact_lock(hashtextextended($1, 42))', owner)
}

type Busy = { running: number; waiting: number; first: number | null }

/** The numbers of running and waiting processes of an owner, and the one that has waited longest. */
function* busyOf(owner: string): Read<Busy> {
  const found = yield* db.row<Busy>(
    `SELECT count(*) FILTER (WHERE state = 'running') AS running, count(*) FILTER (WHERE state = 'scheduled') AS waiting,
       min(id) FILTER (WHERE state = 'scheduled') AS first
     FROM process WHERE owner = $1 AND ended IS NULL AND beat > $2`,
    owner,
    yield* silence(),
  )
  return found ?? { running: 0, waiting: 0, first: null }
}

function* keepNews(id: number, { progress, lines, written }: News): Change<void> {
  yield* db.run(
    'UPDATE process SET beat = $1, progress = coalesce($2, progress), written = $3 WHERE id = $4',
    ...[yield* db.clock(), progress && JSON.stringify(progress), written, id],
  )
  // Lines come again if the connection broke before their commit was acknowledged.
  yield* db.insertAll(
    tables.processLine,
    lines.map(({ n, time, text }) => ({ process: id, n, time, text })),
    'DO NOTHING',
  )
}

const columns = `id, kind, ${seenState} AS state, eperson, parameters, begun, ended, progress, result, fault`

type ProcessRow = Omit<Process, 'parameters' | 'progress' | 'result'> & {
  readonly parameters: string
  readonly progress: string | null
  readonly result: string | null
}

const toProcess = (found: ProcessRow): Process => ({
  ...found,
  parameters: JSON.parse(found.parameters) as Process['parameters'],
  progress: found.progress === null ? null : (JSON.parse(found.progress) as Process['progress']),
  result: found.result === null ? null : (JSON.parse(found.result) as Process['result']),
})

const conditionOf = ({ eperson, kind, states }: ProcessSearch): [where: string, ...values: Value[]] => [
  `CAST($1 AS BIGINT) IS NOT NULL AND (CAST($2 AS TEXT) IS NULL OR eperson = $2)
     AND (CAST($3 AS TEXT) IS NULL OR kind = $3)${states ? ` AND ${seenState} = ANY($4)` : ' AND CAST($4 AS TEXT) IS NULL'}`,
  eperson ?? null,
  kind ?? null,
  states ?? null,
]

/** The order of a search, with the id as a tie-breaker. It contains no values of the client. */
const orderOf = ({ order: { by, falling } }: ProcessSearch): string => {
  const way = falling ? 'DESC' : 'ASC'
  return by === 'id' ? `id ${way}` : `coalesce(${by}, '') ${way}, id ${way}`
}

/** The process of the same kind that keeps another from beginning (`aloneIn`). */
interface Rival {
  readonly rival: number
}

/** The program that runs a process, and its limits. */
export interface Place {
  readonly owner: string
  /** Maximum number of processes at once; null: unlimited. */
  readonly atOnce: number | null
  /** Maximum number of waiting processes. */
  readonly waiting: number
}

/** `gone`: it is not its owner's any more. */
type Turn = 'runs' | 'waits' | 'gone'
/** `lost`: it has ended, was marked as interrupted, or was removed. */
type Standing = 'wanted' | 'cancelled' | 'lost'

/** Progress of a process since it was last recorded. */
export interface News {
  readonly progress: Progress | null
  readonly lines: readonly LogLine[]
  /** Number of lines written in all, including those that are not kept. */
  readonly written: number
}

export interface Ending {
  readonly state: EndState
  readonly result: Process['result']
  readonly fault: string | null
}

export interface ProcessSearch {
  readonly eperson?: string
  readonly kind?: ProcessKind
  /** Any of these. */
  readonly states?: readonly ProcessState[]
  readonly order: { readonly by: 'id' | 'begun' | 'ended'; readonly falling: boolean }
}

export interface Log {
  readonly lines: readonly LogLine[]
  /** Number of lines written beyond the bound. */
  readonly left: number
}
