import { forSqlite, type Statements, type Step, type Value } from '../statements/statements.ts'
import type { Database, SqlValue } from './driver.ts'
import { keyOf, recordEvent, sealWith } from './events.ts'
import { hasRights, nextStamp } from './stamps.ts'

/**
 * Runs statements, in the transaction of the caller if they are a change.
 * @param isAllowed true if the caller has looked at the rights that the change relies on
 */
export function perform<T>(db: Database, work: Statements<T>, isAllowed = false): T {
  const rights = { are: isAllowed }
  let step = work.next()
  while (!step.done) step = work.next(resultOf(db, step.value, rights))
  return step.value
}

function resultOf(db: Database, step: Step, rights: { are: boolean }): unknown {
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
      rights.are = true
      return step.events.map(event => hasRights(db, event))
    case 'event':
      if (step.event.reliesOn && !rights.are) throw new Error('a change did not look at its rights')
      return recordEvent(db, step.event)
    case 'key':
      return 'to' in step ? sealWith(db, step.to) : keyOf(db)
  }
}

const toSqlite = (value: Value): Exclude<SqlValue, bigint> =>
  Array.isArray(value) ? JSON.stringify(value) : (value as Exclude<SqlValue, bigint>)
