import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Addresses } from '../http/addresses.ts'
import { clientOf } from '../http/connection.ts'
import { contractsIn } from '../http/contract.ts'
import { badParameter, commaList, quote, singleParameters, suggestion } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { TooMuch } from '../lib/errors.ts'
import type { Client } from '../lib/fair-queue.ts'
import { viewerOf } from '../model/caller.ts'
import { bytesOf } from '../model/record-format.ts'
import type { Entities } from '../storage/entities.ts'
import { type Answers, limitedClient } from './answer.ts'
import {
  type CountedRows,
  type Counting,
  countsFilter,
  eventOrder,
  type Subject,
  subjects,
} from './count-events.ts'
import { accessOf, givenBy, queryRoute } from './given.ts'
import { type Json, nodeOf } from './language/node.ts'
import type { LongTexts } from './long-texts.ts'
import { parseAsked } from './parse.ts'
import type { Change } from './plan.ts'
import { knownTo } from './readable.ts'
import type { Snapshots } from './snapshots.ts'

const route = contractsIn(() => import('./contracts.ts'))

/** Maximum number of groups, which are all in memory. It is more than a person reads about. */
const maxGroups = 100_000

const parameters = ['summarize_by', 'count_by', 'counts_filter']

interface Parts {
  readonly addresses: Pick<Addresses, 'query'>
  readonly entities: Entities
  readonly answers: Answers
  readonly snapshots: Snapshots
  readonly texts: LongTexts
}

/** Counts events in the thread of long texts. */
type Count<Counts> = (rows: readonly CountedRows[], how: Counting, client: Client) => Promise<Counts>

/** Registers the addresses below the query base that only PuppetDB's clients ask (Q24). */
export function puppetDbRoutes(app: FastifyInstance, parts: Parts): void {
  factNameRoutes(app, parts)
  eventCountRoutes(app, parts)
}

/** `/event-counts` and `/aggregate-event-counts`, where an entity `events` was imported. */
function eventCountRoutes(app: FastifyInstance, { entities, answers, snapshots, texts }: Parts): void {
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
    { asked, byNode, by }: Awaited<ReturnType<typeof asking>>,
  ): Promise<readonly CountedRows[]> {
    const all: CountedRows[] = []
    for (const subject of by) {
      const known = await snapshots.at(await knownTo(entities, request, 'events'), asked.snapshot)
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
      all.push({ subject, rows: await bytesOf(listing.body) })
    }
    return all
  }

  /** Counts events in a place like that of a long list, because all rows are in memory. */
  async function counted<Counts>(request: FastifyRequest, reply: FastifyReply, count: Count<Counts>) {
    const wanted = await asking(request)
    const { client, done } = limitedClient(request, wanted.asked.timeout)
    try {
      const leave = await answers.enter(request, reply, client)
      try {
        const rows = await rowsOf(request, client, wanted)
        return { asked: wanted.asked, counts: await count(rows, wanted.counting, client) }
      } finally {
        leave()
      }
    } finally {
      done()
    }
  }

  const counts = async (request: FastifyRequest, reply: FastifyReply) => {
    const { asked, counts } = await counted(request, reply, texts.eventCounts)
    if (asked.total) reply.header('x-records', String(counts.total))
    return reply.type('application/json').send(Buffer.from(counts.json))
  }
  const aggregates = async (request: FastifyRequest, reply: FastifyReply) => {
    const { counts } = await counted(request, reply, texts.aggregateEventCounts)
    return reply.type('application/json').send(Buffer.from(counts))
  }
  for (const url of ['/event-counts', '/event_counts'])
    queryRoute(app, url, method => route('countEvents', accessOf(method), method, url), counts)
  for (const url of ['/aggregate-event-counts', '/aggregate_event_counts'])
    queryRoute(app, url, method => route('countEvents', accessOf(method), method, url), aggregates)
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

/** `/fact-names`, the names of all facts, as texts: of an entity `facts` with a field `name`. */
function factNameRoutes(
  app: FastifyInstance,
  { addresses, entities, answers, snapshots, texts }: Parts,
): void {
  const address = `${addresses.query}/fact-names`
  const names: Change = {
    columns: nodeOf(['name']),
    clauses: [nodeOf(['distinct'])],
    order: '[{"field": "name"}]',
  }
  const change = () => names
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    await knownTo(entities, request, 'facts')
    const asked = parseAsked(await givenBy(request, texts))
    if (asked.query !== undefined)
      throw new Problem(
        'bad-request',
        'The address fact-names takes no query. Ask facts for names under a condition.',
      )
    const known = await snapshots.at(await knownTo(entities, request, 'facts'), asked.snapshot)
    const plan = await texts.plan(asked, known, clientOf(request), names)
    return answers.send(request, reply, { asked, address, entity: 'facts', change, as: 'values' }, plan)
  }
  for (const url of ['/fact-names', '/fact_names'])
    queryRoute(app, url, method => route('listFactNames', accessOf(method), method, url), handler)
}
