import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { clientOf, turnOf } from '../http/client.ts'
import { precondition } from '../http/preconditions.ts'
import { Problem } from '../http/problems.ts'
import type { Client, FairQueue } from '../lib/fair-queue.ts'
import type { QueueMeasures } from '../lib/tally.ts'
import { isAdministrator, viewerOf } from '../model/caller.ts'
import { createLoopQueue, type Limits } from '../model/limits.ts'
import type { Measures } from '../model/measures.ts'
import type { Plan } from '../model/plan.ts'
import { isShortPage } from '../model/record-format.ts'
import type { Entities, Listing } from '../storage/entities.ts'
import { entityTag } from './entity-tag.ts'
import { isAllInAddress } from './given.ts'
import type { LongTexts } from './long-texts.ts'
import type { Asked } from './parse.ts'
import { chooseFormat, present } from './present.ts'

interface Parts {
  readonly entities: Entities
  readonly texts: LongTexts
  readonly config: Config
  readonly limits: Limits
  readonly measures: Pick<Measures, 'queue'>
  /** Brings `request.caller` up to date when the request has waited (T12). */
  readonly lookAgain: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>
}

export interface Parsed {
  readonly asked: Asked
  readonly plan: Plan
}

/** Runs plans, and sends the rows that they list. */
export interface Answers {
  /**
   * Answers a request with the rows of a plan, or with its explanation.
   * @param parse makes the plan. It is called again after the request has waited, because entities may have
   * changed.
   * @param address address of the page, without its parameters
   * @param as `values` sends each row as its only value
   */
  answer(
    request: FastifyRequest,
    reply: FastifyReply,
    address: string,
    parse: () => Promise<Parsed>,
    as?: 'rows' | 'values',
  ): Promise<FastifyReply>
  /**
   * Runs work whose result is held in memory, when it is the request's turn and one of the places for
   * listings is free.
   */
  inTurn<T>(reply: FastifyReply, timeout: Asked['timeout'], work: (client: Client) => Promise<T>): Promise<T>
}

export function createAnswers({ entities, texts, config, limits, lookAgain, measures }: Parts): Answers {
  const longListings = createLongListings(config, limits, measures.queue('listings'))
  const timeLimits = { idle: config.listingPatience, total: config.listingTimeLimit }

  return {
    inTurn: async (reply, timeout, work) => {
      const { client, done } = limitedClient(reply.request, timeout)
      try {
        await turnOf(reply)
        return await longListings.run(client, async () => {
          await lookAgain(reply.request, reply)
          return work(client)
        })
      } finally {
        done()
      }
    },

    answer: async (request, reply, address, parse, as = 'rows') => {
      const first = await parse()
      const { client, done } = limitedClient(request, first.asked.timeout)
      try {
        if (first.asked.explain !== undefined) {
          if (first.asked.explain === 'analyze' && !isAdministrator(request.caller))
            throw new Problem(
              'access-denied',
              'Only administrators may run a query to explain it; explain=plan is for all.',
            )
          return await reply.send(
            await entities.explain(
              first.plan,
              viewerOf(request.caller),
              client,
              first.asked.explain === 'analyze',
            ),
          )
        }
        const format = chooseFormat(request.headers.accept)
        reply.header('vary', 'Origin, Accept')
        const tagOf = ({ plan }: Parsed) => (isAllInAddress(request) ? entityTag(plan, format) : undefined)
        const known = tagOf(first)
        if (known !== undefined && precondition(request.headers, known) === 304)
          return await reply.code(304).header('etag', `W/${known}`).send()
        const send = (parsed: Parsed, listing: Listing) => {
          const known = tagOf(parsed)
          const tag = known === undefined ? undefined : `W/${known}`
          return present(reply, { ...parsed, as, format, listing, address, timeLimits, texts, client, tag })
        }
        const list = ({ plan }: Parsed) => entities.list(plan, viewerOf(request.caller), format, client)
        if (isShortPage(first.plan.page, format)) {
          const listing = await list(first)
          if (listing.body instanceof Uint8Array) return await send(first, listing)
          // The records are large, so they are sent in pieces, none of which has been read yet.
        }
        await turnOf(reply)
        return await longListings.run(client, async () => {
          await lookAgain(request, reply)
          const current = await parse()
          return send(current, await list(current))
        })
      } finally {
        done()
      }
    },
  }
}

/**
 * Makes a client that counts as gone when the request's own time limit has passed (Q26).
 * @param timeout in ms
 */
function limitedClient(
  request: FastifyRequest,
  timeout: number | undefined,
): { client: Client; done(): void } {
  const client = clientOf(request)
  if (timeout === undefined) return { client, done: () => {} }
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

/**
 * Limits the listings that a node sends in pieces (Q18). One network may have a quarter of the places;
 * its other requests wait.
 */
function createLongListings(
  { maxListings }: Pick<Config, 'maxListings'>,
  { loops }: Pick<Limits, 'loops'>,
  measures: QueueMeasures,
): FairQueue {
  const max = Math.ceil(maxListings / loops().wanted)
  // Each event loop may queue as many requests as a whole node, because a waiting request holds nothing.
  return createLoopQueue(1, max, { maxOfOne: Math.ceil(max / 4), measures })
}
