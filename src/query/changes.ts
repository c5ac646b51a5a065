import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { clientOf, turnOf } from '../http/connection.ts'
import { badParameter, type Query, singleParameters } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { sendHead, sendPieces } from '../http/send-pieces.ts'
import type { Entity } from '../model/entities.ts'
import type { EntityState } from '../model/snapshots.ts'
import type { Entities, RecordEntity } from '../storage/entities.ts'
import { StateGone } from '../storage/single-records.ts'
import type { Answers } from './answer.ts'
import { type ChangeFeed, longest } from './change-feed.ts'
import { chooseType } from './present.ts'
import { mayReadEntity } from './readable.ts'
import type { Snapshots } from './snapshots.ts'

export interface ChangeParts {
  readonly config: Pick<Config, 'listingPatience' | 'listingTimeLimit'>
  readonly entities: Pick<Entities, 'all'>
  readonly feed: ChangeFeed
  readonly answers: Pick<Answers, 'enter'>
  /** @returns true while the caller of a long answer may still see the rest of it */
  readonly isStill: (request: FastifyRequest) => Promise<boolean>
  readonly snapshots: Snapshots
}

const types = ['application/x-ndjson', 'text/event-stream'] as const

/** A stream ends by itself before this time, unless its client takes what it is sent too slowly. */
const streamLimits = { idle: 30_000, total: longest + 60_000 }

const namesStream = ({ headers }: FastifyRequest): boolean => headers.accept?.includes(types[1]) ?? false

/**
 * True for `<entity>/changes` with the parameter `since`, or as a stream. Everything else there is the record
 * with the key `changes`.
 */
export const asksForChanges = (request: FastifyRequest, below: readonly string[]): boolean =>
  below.length === 1 &&
  below[0] === 'changes' &&
  ((request.query as Query).values.has('since') || namesStream(request))

/** Sends the changes of an entity (Q39–Q41, docs/decisions/0084). */
export async function sendChanges(
  request: FastifyRequest,
  reply: FastifyReply,
  { name, source, key }: Entity,
  { config, entities, feed, answers, isStill, snapshots }: ChangeParts,
): Promise<FastifyReply> {
  const { since: asked = 'now' } = singleParameters(request.query as Query, ['since'])
  const last = request.headers['last-event-id']
  const goesOn = typeof last === 'string' && last !== ''
  const since = goesOn
    ? stateIn(last, name, snapshots, 'Last-Event-ID')
    : stateIn(asked, name, snapshots, 'since')
  const type = chooseType(request.headers.accept ?? '*/*', types)
  if (source.kind !== 'records')
    throw new Problem(
      'not-found',
      `There is no feed of ${name}: only changes of imported records can be followed.`,
    )
  const isStream = type === types[1]
  // A problem has no such headers.
  const withHeaders = () => {
    reply.type(type).header('vary', 'Origin, Accept')
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
    return isStream ? reply.header('x-accel-buffering', 'no') : reply
  }
  if (request.method === 'HEAD') return sendHead(withHeaders())
  const client = clientOf(request)
  const look = async () => {
    if (!(await isStill(request))) return undefined
    const entity = (await entities.all()).get(name)
    return entity?.source.kind === 'records' && mayReadEntity(request.caller, entity)
      ? (entity as RecordEntity)
      : undefined
  }
  const told = { since, isStream, key, client, look, written: snapshots.write }
  await turnOf(reply)
  const { caller } = request
  const who = caller.kind === 'anonymous' ? client.network : caller.session.eperson.uuid
  const leave = isStream ? feed.enter(who) : await answers.enter(request, reply, client)
  const pieces = feed.tell(told)
  try {
    const first = await pieces.next().catch(error => {
      throw error instanceof StateGone ? expired(name) : error
    })
    return await sendPieces(
      withHeaders(),
      { before: '', between: '', after: '', pieces: startingWith(first, pieces) },
      isStream ? streamLimits : { idle: config.listingPatience, total: config.listingTimeLimit },
    )
  } finally {
    // It may not have been read to its end, or not at all.
    await pieces.return(undefined)
    leave()
  }
}

/** @returns undefined for `now` */
function stateIn(
  text: string,
  entity: string,
  snapshots: Snapshots,
  from: 'since' | 'Last-Event-ID',
): EntityState | undefined {
  if (text === 'now') return undefined
  const states = snapshots.read(text, from)
  const state = states.find(one => one.entity === entity)
  if (state) return state
  throw badParameter(from, text, `This snapshot is not of ${entity}. Begin with since=now.`)
}

const expired = (entity: string) =>
  new Problem(
    'snapshot-expired',
    `What has changed in ${entity} since this snapshot can’t be told any more. Read the records again, and go on with the X-Snapshot of that answer.`,
  )

async function* startingWith<T>(
  first: IteratorResult<T, unknown>,
  rest: AsyncIterator<T>,
): AsyncGenerator<T> {
  for (let next = first; !next.done; next = await rest.next()) yield next.value
}
