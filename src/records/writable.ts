import { Problem } from '../http/problems.ts'
import type { Caller } from '../model/caller.ts'
import type { Found } from '../query/below-entity.ts'
import { listedBy } from '../query/puppetdb/listed-by.ts'
import { mayWriteEntity } from '../query/readable.ts'
import type { RecordEntity } from '../storage/entities.ts'

/**
 * @returns the entity, whose records the caller may write (R2)
 * @throws Problem 403
 */
export function requireWritable({ entity }: Found, caller: Caller, key: string): RecordEntity {
  const { name, source } = entity
  if (source.kind === 'table') throw refused(`${name} is built in; its rows have addresses of their own.`)
  if (source.kind === 'exposed') throw refused(`${name} shows a table of the database; write to it there.`)
  if (entity.write === undefined)
    throw refused(
      `${name} is not open for writing; an administrator opens it with \`carrel entity writers\`.`,
    )
  if (listedBy(entity, [key]) !== undefined)
    throw refused(`An address below ${name} lists records (Q24), so that none is written there.`)
  if (!mayWriteEntity(caller, entity)) throw refused(`You may not write records of ${name}.`)
  return entity as RecordEntity
}

const refused = (detail: string) => new Problem('not-writable', detail)
