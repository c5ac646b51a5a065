import { forSqlite, type Relying, type Statements, type Step, type Value } from '../statements/statements.ts'
import type { Database, SqlValue } from './driver.ts'
import { keyOf, recordEvent, sealWith } from './events.ts'

/** Runs statements, in the transaction of the caller if they are a change. */
export function perform<T>(db: Database, work: Statements<T>): T {
  const rights = { wereAsked: false }
  let step = work.next()
  while (!step.done) step = work.next(resultOf(db, step.value, rights))
  return step.value
}

function resultOf(db: Database, step: Step, rights: { wereAsked: boolean }): unknown {
  switch (step.kind) {
    case 'rows':
      // The driver's rows have no prototype: they equal no other object.
      return db.all(forSqlite(step.sql), ...step.values.map(toSqlite)).map(row => ({ ...row }))
    case 'together':
      return step.reads.map(read => perform(db, read))
    case 'run':
      return db.run(forSqlite(step.sql), ...step.values.map(toSqlite))
    case 'lock':
      return undefined
    case 'stamp':
      return nextStamp(db)
    case 'clock':
      return Date.now()
    case 'rights':
      rights.wereAsked = true
      return step.events.map(event => hasRights(db, event))
    case 'event':
      if (step.event.reliesOn && !rights.wereAsked) throw new Error('a change did not look at its rights')
      return recordEvent(db, step.event)
    case 'events':
      if (!rights.wereAsked) throw new Error('changes did not look at their rights')
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

const hasRights = (db: Database, { reliesOn = [] }: Relying): boolean =>
  reliesOn.every(({ uuid, stamp }) => {
    const row = db.get<{ stamp: number }>('SELECT stamp FROM eperson WHERE uuid = ? AND enabled = 1', uuid)
    return row?.stamp === stamp
  })
