import type { Viewer } from '../../model/readers.ts'
import type { Seen } from '../statements/audiences.ts'
import { forSqlite, type Relying, type Statements, type Step, type Value } from '../statements/statements.ts'
import type { Database, SqlValue } from './driver.ts'
import { keyOf, recordEvent, sealWith } from './events.ts'

/**
 * Runs statements, in the transaction of the caller if they are a change.
 * @param audiencesOf for reads of an event loop
 */
export function perform<T>(db: Database, work: Statements<T>, audiencesOf?: AudiencesOf): T {
  const run = { wereRightsAsked: false, audiencesOf }
  let step = work.next()
  while (!step.done) step = work.next(resultOf(db, step.value, run))
  return step.value
}

type AudiencesOf = (viewer: Viewer, how: Seen) => readonly number[]

interface Run {
  wereRightsAsked: boolean
  readonly audiencesOf: AudiencesOf | undefined
}

function resultOf(db: Database, step: Step, run: Run): unknown {
  switch (step.kind) {
    case 'rows':
      // The driver's rows have no prototype: they equal no other object.
      return db.all(forSqlite(step.sql), ...step.values.map(toSqlite)).map(row => ({ ...row }))
    case 'together':
      return step.reads.map(read => perform(db, read, run.audiencesOf))
    case 'run':
      return db.run(forSqlite(step.sql), ...step.values.map(toSqlite))
    case 'lock':
      return undefined
    case 'stamp':
      return nextStamp(db)
    case 'records':
      return { numbers: recordNumbers(db, step.count), held: [] }
    case 'clock':
      return Date.now()
    case 'audiences':
      if (!run.audiencesOf) throw new Error('audiences are known to event loops')
      return run.audiencesOf(step.viewer, 'by address')
    case 'rights':
      run.wereRightsAsked = true
      return step.events.map(event => hasRights(db, event))
    case 'event':
      if (step.event.reliesOn && !run.wereRightsAsked) throw new Error('a change did not look at its rights')
      return recordEvent(db, step.event)
    case 'events':
      if (!run.wereRightsAsked) throw new Error('changes did not look at their rights')
      for (const event of step.events) recordEvent(db, event)
      return undefined
    case 'key':
      return 'to' in step ? sealWith(db, step.to) : keyOf(db)
  }
}

const toSqlite = (value: Value): Exclude<SqlValue, bigint> =>
  Array.isArray(value) ? JSON.stringify(value) : (value as Exclude<SqlValue, bigint>)

/** A new stamp tells every reader to discard its cached data of an eperson. */
export function nextStamp(db: Database): number {
  const row = db.get<{ stamp: number }>('UPDATE stamp SET last = last + 1 RETURNING last AS stamp')
  if (!row) throw new Error('the store has lost its row of stamps')
  return row.stamp
}

/** New numbers for changes of records. There is one writer, so nothing is locked. */
function recordNumbers(db: Database, count: number): readonly number[] {
  const row = db.get<{ last: number }>(
    'UPDATE state SET records = records + ? RETURNING records AS last',
    count,
  )
  if (!row) throw new Error('the store has lost its state row')
  return Array.from({ length: count }, (_, at) => row.last - count + 1 + at)
}

const hasRights = (db: Database, { reliesOn = [] }: Relying): boolean =>
  reliesOn.every(({ uuid, stamp }) => {
    const row = db.get<{ stamp: number }>('SELECT stamp FROM eperson WHERE uuid = ? AND enabled = 1', uuid)
    return row?.stamp === stamp
  })
