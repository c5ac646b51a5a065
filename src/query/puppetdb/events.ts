import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { contractsIn } from '../../http/contract.ts'
import { badParameter, commaList, quote, singleParameters, suggestion } from '../../http/parameters.ts'
import type { Client } from '../../lib/fair-queue.ts'
import { TooMuch } from '../../model/errors.ts'
import { viewerOf } from '../../model/viewer.ts'
import type { Entities } from '../../storage/entities.ts'
import type { Answers } from '../answer.ts'
import { bytesOf } from '../bodies.ts'
import { givenBy, queryRoute } from '../given.ts'
import { type Json, nodeOf } from '../language/node.ts'
import type { LongTexts } from '../long-texts.ts'
import { type Asked, parseAsked } from '../parse.ts'
import { knownTo } from '../readable.ts'
import {
  type CountedRows,
  type Counting,
  countsFilter,
  eventOrder,
  type Subject,
  subjects,
} from './count-events.ts'

const route = contractsIn(() => import('../contracts.ts'))

/** Maximum number of groups, which are all in memory. It is more than a person reads about. */
const maxGroups = 100_000

const parameters = ['summarize_by', 'count_by', 'counts_filter']

interface Parts {
  readonly entities: Entities
  readonly answers: Pick<Answers, 'inTurn'>
  readonly texts: LongTexts
}

/** `/event-counts` and `/aggregate-event-counts`, where an entity `events` was imported (Q24). */
export function eventCountRoutes(app: FastifyInstance, { entities, answers, texts }: Parts): void {
  async function asking(request: FastifyRequest) {
    await knownTo(entities, request, 'events')
    const given = await givenBy(request, texts)
    const asked = parseAsked(given, parameters)
    const own: Partial<Record<string, string>> = singleParameters(given, [...given.values.keys()])
    const byNode = oneOf('count_by', own.count_by ?? 'resource', ['resource', 'certname']) === 'certname'
    const counting: Counting = {
      member: byNode ? 'count_distinct' : 'count',
      filter: own.counts_filter,
      order: asked.order,
      offset: asked.offset ?? 0,
      limit: asked.limit,
    }
    // Wrong parameters are refused before anything is counted.
    countsFilter(counting.filter)
    eventOrder(counting.order)
    return { asked, byNode, counting, by: summarizedBy(own.summarize_by) }
  }

  async function rowsOf(
    request: FastifyRequest,
    client: Client,
    { asked, byNode, subject }: { asked: Asked; byNode: boolean; subject: Subject },
  ) {
    const known = await knownTo(entities, request, 'events')
    const count: Json = byNode ? ['function', 'count_distinct', 'certname'] : ['function', 'count']
    const groups: readonly string[] = [...subjects[subject], 'status']
    const plan = await texts.plan(
      { ...asked, order: undefined, limit: maxGroups, offset: 0, total: false },
      known,
      client,
      { columns: nodeOf([...groups, count]), clauses: [nodeOf(['group_by', ...groups])] },
    )
    const listing = await entities.list(plan, viewerOf(request.caller), 'json', client)
    if (listing.more)
      throw new TooMuch(
        `The events have more than ${maxGroups.toLocaleString('en')} different subjects and statuses. Add a condition.`,
      )
    return bytesOf(listing.body)
  }

  /** Counts events in a place like that of a listing, because all rows are in memory. */
  async function counted<T>(
    request: FastifyRequest,
    reply: FastifyReply,
    work: (rows: readonly CountedRows[], counting: Counting, client: Client) => Promise<T>,
  ) {
    const { asked, byNode, counting, by } = await asking(request)
    const result = await answers.inTurn(reply, asked.timeout, async client => {
      const rows: CountedRows[] = []
      for (const subject of by)
        rows.push({ subject, rows: await rowsOf(request, client, { asked, byNode, subject }) })
      return work(rows, counting, client)
    })
    return { asked, result }
  }

  const counts = async (request: FastifyRequest, reply: FastifyReply) => {
    const { asked, result } = await counted(request, reply, (rows, counting, client) =>
      texts.eventCounts(rows, counting, client),
    )
    if (asked.total) reply.header('x-records', String(result.total))
    return reply.type('application/json').send(Buffer.from(result.json))
  }
  const aggregates = async (request: FastifyRequest, reply: FastifyReply) => {
    const { result } = await counted(request, reply, (rows, counting, client) =>
      texts.aggregateEventCounts(rows, counting, client),
    )
    return reply.type('application/json').send(Buffer.from(result))
  }
  for (const url of ['/event-counts', '/event_counts'])
    queryRoute(app, url, method => route('countEvents', method, url), counts)
  for (const url of ['/aggregate-event-counts', '/aggregate_event_counts'])
    queryRoute(app, url, method => route('countEvents', method, url), aggregates)
}

function summarizedBy(text: string | undefined): readonly Subject[] {
  const legal = Object.keys(subjects) as Subject[]
  if (text === undefined)
    throw badParameter('summarize_by', '', `The parameter summarize_by is required: ${commaList(legal)}.`, {
      legal,
    })
  const names = text.length > maxNames ? [text] : text.split(',')
  return [...new Set(names.map(one => oneOf('summarize_by', one.trim(), legal)))]
}

/** Maximum length in characters of a list of names. */
const maxNames = 200

function oneOf<T extends string>(parameter: string, text: string, legal: readonly T[]): T {
  const found = legal.find(one => one === text)
  if (found !== undefined) return found
  const { hint, members } = suggestion(text, legal)
  const detail = `The parameter ${parameter} must be one of ${commaList(legal)}, not ${quote(text)}.${hint}`
  throw badParameter(parameter, text, detail, members)
}
