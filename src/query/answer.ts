import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { clientOf, turnOf } from '../http/connection.ts'
import { precondition } from '../http/preconditions.ts'
import { Problem } from '../http/problems.ts'
import type { Client, FairQueue } from '../lib/fair-queue.ts'
import type { QueueMeasures } from '../lib/tally.ts'
import { type Caller, isAdministrator, viewerOf } from '../model/caller.ts'
import { createLoopQueue, type Limits } from '../model/limits.ts'
import type { Measures } from '../model/measures.ts'
import type { Plan } from '../model/plan.ts'
import { isShortPage, type RecordFormat } from '../model/record-format.ts'
import type { Entities } from '../storage/entities.ts'
import { entityTag } from './entity-tag.ts'
import { isAllInAddress } from './given.ts'
import type { LongTexts } from './long-texts.ts'
import type { Asked } from './parse.ts'
import type { Change, Known } from './plan.ts'
import { chooseFormat, present } from './present.ts'
import { knownTo } from './readable.ts'
import type { Snapshots } from './snapshots.ts'

interface Parts {
  readonly entities: Entities
  readonly texts: LongTexts
  readonly snapshots: Snapshots
  readonly config: Config
  readonly limits: Limits
  readonly measures: Pick<Measures, 'queue'>
  /** Brings `request.caller` up to date when the request has waited (T12). */
  readonly lookAgain: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>
}

/** The records that a request asks for. */
interface Wanted {
  readonly asked: Asked
  /** Address of the page, without its parameters. */
  readonly address: string
  /** The entity whose records are listed; null if the query names it. */
  readonly entity: string | null
  /** The change that the address makes to the query. It may depend on the entities that there are. */
  readonly change: ((known: Known) => Change) | undefined
  /** `values` sends each row as its only value. */
  readonly as: 'rows' | 'values'
}

/** Runs plans, and sends the rows that they list. */
export interface Answers {
  /**
   * Answers a request with the rows of a plan, or with its explanation. A long list waits for its turn; then
   * the plan is made again, because entities and rights may have changed.
   */
  send(request: FastifyRequest, reply: FastifyReply, wanted: Wanted, plan: Plan): Promise<FastifyReply>
  /**
   * Waits until it is the request's turn and one of the places for lists is free. The rights of the caller
   * are up to date afterwards.
   * @returns a function that leaves the place
   */
  enter(request: FastifyRequest, reply: FastifyReply, client: Client): Promise<() => void>
}

export function createAnswers(parts: Parts): Answers {
  const { entities, texts, snapshots, config, limits, lookAgain, measures } = parts
  const places = createPlaces(config, limits, measures.queue('listings'))
  const timeLimits = { idle: config.listingPatience, total: config.listingTimeLimit }

  async function enter(request: FastifyRequest, reply: FastifyReply, client: Client): Promise<() => void> {
    await turnOf(reply)
    const leave = await places.enter(client)
    try {
      await lookAgain(request, reply)
      return leave
    } catch (error) {
      leave()
      throw error
    }
  }

  function explain(caller: Caller, plan: Plan, client: Client, how: 'plan' | 'analyze') {
    const isRun = how === 'analyze'
    if (isRun && !isAdministrator(caller))
      throw new Problem(
        'access-denied',
        'Only administrators may run a query to explain it; explain=plan is for all.',
      )
    return entities.explain(plan, viewerOf(caller), client, isRun)
  }

  return {
    enter,

    send: async (request, reply, wanted, plan) => {
      const { asked, address, as } = wanted
      const { client, done } = limitedClient(request, asked.timeout)
      try {
        const snapshot = snapshots.of(plan, asked.snapshot)
        if (asked.explain !== undefined)
          return await reply.send(await explain(request.caller, plan, client, asked.explain))
        const format = chooseFormat(request.headers.accept)
        reply.header('vary', 'Origin, Accept')
        const tag = tagOf(request, plan, format)
        if (tag !== undefined && precondition(request.headers, tag) === 304)
          return await reply.code(304).header('etag', `W/${tag}`).send()
        const sent = { asked, as, format, address, timeLimits, texts, client }
        if (isShortPage(plan.page, format)) {
          const listing = await entities.list(plan, viewerOf(request.caller), format, client)
          if (listing.body instanceof Uint8Array)
            return await present(reply, { ...sent, plan, listing, tag, snapshot })
          // The records are large, so they are sent in pieces, none of which has been read yet.
        }
        const leave = await enter(request, reply, client)
        try {
          const known = await snapshots.at(await knownTo(entities, request, wanted.entity), asked.snapshot)
          const current = await texts.plan(asked, known, client, wanted.change?.(known))
          const listing = await entities.list(current, viewerOf(request.caller), format, client)
          return await present(reply, {
            ...sent,
            plan: current,
            listing,
            tag: tagOf(request, current, format),
            snapshot: snapshots.of(current, asked.snapshot),
          })
        } finally {
          leave()
        }
      } finally {
        done()
      }
    },
  }
}

/** Returns the entity tag of a list that the address alone identifies. */
const tagOf = (request: FastifyRequest, plan: Plan, format: RecordFormat): string | undefined =>
  isAllInAddress(request) ? entityTag(plan, format) : undefined

/**
 * Makes a client that counts as gone when the request's own time limit has passed (Q26).
 * @param timeout in ms
 */
export function limitedClient(
  request: FastifyRequest,
  timeout: number | undefined,
): { client: Client; done(): void } {
  const client = clientOf(request)
  if (timeout === undefined) return { client, done: nothing }
  const late = new AbortController()
  const end = () =>
    late.abort(new Problem('query-timeout', `The query was not answered within ${timeout / 1000} s.`))
  const timer = setTimeout(end, timeout)
  let signal: AbortSignal | undefined
  return {
    client: {
      network: client.network,
      signal: () => {
        signal ??= AbortSignal.any([client.signal(), late.signal])
        return signal
      },
    },
    done: () => clearTimeout(timer),
  }
}

const nothing = () => {}

/**
 * Makes the places for lists that a node sends in pieces (Q18). One network may have a quarter of them; its
 * other requests wait.
 */
function createPlaces(
  { maxListings }: Pick<Config, 'maxListings'>,
  { loops }: Pick<Limits, 'loops'>,
  measures: QueueMeasures,
): FairQueue {
  const max = Math.ceil(maxListings / loops().wanted)
  // Each event loop may queue as many requests as a whole node, because a waiting request holds nothing.
  return createLoopQueue(1, max, { maxOfOne: Math.ceil(max / 4), measures })
}
