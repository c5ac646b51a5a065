import type { FastifyRequest } from 'fastify'
import { badParameter, parseBoolean, type Query, singleParameters, wholeNumber } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { type Members, parseWritten } from '../lib/json.ts'
import type { Entity } from '../model/entities.ts'
import type { Entities } from '../storage/entities.ts'
import { notFound, objectOf } from './keys.ts'
import { writable } from './readable.ts'

/** Number of events in an answer, unless the request wants fewer or more, and the most. */
const [usual, most] = [20, 100]

export const asksForHistory = (request: FastifyRequest): boolean =>
  (request.query as Query).values.has('history')

/**
 * Lists the events of a record, newest first, for callers who may write it (R13). A record that was deleted
 * still has them.
 * @param record its JSON; undefined if it is not there
 */
export async function historyOf(
  request: FastifyRequest,
  entities: Pick<Entities, 'history'>,
  entity: Entity,
  key: string,
  record: string | undefined,
) {
  const {
    history = '',
    limit,
    before,
  } = singleParameters(request.query as Query, ['history', 'limit', 'before'])
  if (!parseBoolean('history', history === '' ? 'true' : history))
    throw badParameter('history', history, 'Leave out the parameter history to get the record.')
  if (request.caller.kind === 'anonymous')
    throw new Problem('authentication-required', 'Log in to see what was changed.')
  writable(entity, request.caller)
  const wanted = limit === undefined ? usual : Math.min(most, wholeNumber('limit', limit, 1))
  const object = objectOf(entity, record === undefined ? key : (parseWritten(record) as Members))
  const earlierThan = before === undefined ? null : wholeNumber('before', before, 1)
  const events = await entities.history(object, earlierThan, wanted)
  if (events.length === 0 && record === undefined) throw notFound(entity, key)
  return events.map(({ id, time, event, actor_email, changes }) => ({
    id,
    time,
    event,
    by: actor_email,
    changes: changes === null ? null : (JSON.parse(changes) as unknown),
  }))
}
