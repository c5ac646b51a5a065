import type { FastifyInstance } from 'fastify'
import { clientOf } from '../../http/client.ts'
import { badParameter, commaList, quote, singleParameters, suggestion } from '../../http/parameters.ts'
import { viewerOf } from '../../model/viewer.ts'
import type { Entities } from '../../storage/entities.ts'
import { type Json, nodeOf } from '../build-ast.ts'
import { givenBy } from '../given.ts'
import { knownTo } from '../known.ts'
import { orderOf, parseAsked, type Sortable } from '../parse.ts'
import { planOf, projected, readQuery, telling } from '../plan.ts'
import { recordsIn } from '../records-in.ts'
import { countsFilter } from './counts-filter.ts'

/** What events are counted by (https://www.puppet.com/docs/puppetdb/8/api/query/v4/event-counts), and the fields of it. */
const subjects = {
  certname: ['certname'],
  containing_class: ['containing_class'],
  resource: ['resource_type', 'resource_title'],
} as const
type Subject = keyof typeof subjects

/** The members of a count, by the status that each counts. */
const statuses = { failure: 'failures', success: 'successes', noop: 'noops', skipped: 'skips' } as const

export interface EventCount {
  readonly subject_type: Subject
  readonly subject: { readonly title: string | null; readonly type?: string | null }
  failures: number
  successes: number
  noops: number
  skips: number
}

/** More subjects than a person reads about; all of them are in memory. */
const maxGroups = 100_000

const parameters = ['summarize_by', 'count_by', 'counts_filter']

/** `/event-counts` and `/aggregate-event-counts`, where an entity `events` was imported (Q24). */
export function eventCountRoutes(app: FastifyInstance, entities: Entities): void {
  const counted = async (request: Parameters<typeof givenBy>[0]) => {
    const given = await givenBy(request)
    const known = await knownTo(entities, request, 'events')
    const asked = parseAsked(given, parameters)
    const own: Partial<Record<string, string>> = singleParameters(given, [...given.values.keys()])
    const countBy = oneOf('count_by', own.count_by ?? 'resource', ['resource', 'certname'])
    const filter = countsFilter(own.counts_filter)
    const summaries: EventCount[][] = []
    for (const subject of summarizedBy(own.summarize_by)) {
      const count: Json =
        countBy === 'certname' ? ['function', 'count_distinct', 'certname'] : ['function', 'count']
      const groups: readonly string[] = [...subjects[subject], 'status']
      const plan = telling(asked.query ?? '', () =>
        planOf(
          { ...asked, query: undefined, order: undefined, limit: maxGroups, offset: 0, total: false },
          known,
          projected(
            asked.query === undefined ? null : readQuery(asked.query, known.entity),
            nodeOf([...groups, count]),
            nodeOf(['group_by', ...groups]),
          ),
        ),
      )
      const listing = await entities.list(plan, viewerOf(request.caller), 'json', clientOf(request))
      const rows = await recordsIn<Readonly<Record<string, string | number | null>>>(listing.body)
      summaries.push(
        countsOf(subject, rows, countBy === 'certname' ? 'count_distinct' : 'count').filter(filter),
      )
    }
    return { asked, summaries, subjects: summarizedBy(own.summarize_by) }
  }

  app.route({
    method: ['GET', 'POST'],
    url: '/event-counts',
    handler: async (request, reply) => {
      const { asked, summaries } = await counted(request)
      const all = sorted(summaries.flat(), asked.order)
      if (asked.total) reply.header('x-records', String(all.length))
      const from = asked.offset ?? 0
      return all.slice(from, asked.limit === undefined ? undefined : from + asked.limit)
    },
  })

  app.route({
    method: ['GET', 'POST'],
    url: '/aggregate-event-counts',
    handler: async request => {
      const { summaries, subjects } = await counted(request)
      return summaries.map((counts, at) => ({
        summarize_by: subjects[at],
        ...Object.fromEntries(
          Object.values(statuses).map(member => [member, counts.filter(one => one[member] > 0).length]),
        ),
        total: counts.length,
      }))
    },
  })
}

function summarizedBy(text: string | undefined): readonly Subject[] {
  const legal = Object.keys(subjects) as Subject[]
  if (text === undefined)
    throw badParameter('summarize_by', '', `The parameter summarize_by is required: ${commaList(legal)}.`, {
      legal,
    })
  return [...new Set(text.split(',').map(one => oneOf('summarize_by', one.trim(), legal)))]
}

function oneOf<T extends string>(parameter: string, text: string, legal: readonly T[]): T {
  const found = legal.find(one => one === text)
  if (found !== undefined) return found
  const { hint, members } = suggestion(text, legal)
  const detail = `The parameter ${parameter} must be one of ${commaList(legal)}, not ${quote(text)}.${hint}`
  throw badParameter(parameter, text, detail, members)
}

function countsOf(
  subject: Subject,
  rows: readonly Readonly<Record<string, string | number | null>>[],
  member: string,
): EventCount[] {
  const counts = new Map<string, EventCount>()
  for (const row of rows) {
    const of = subjects[subject].map(field => row[field] ?? null)
    const key = JSON.stringify(of)
    let count = counts.get(key)
    if (count === undefined) {
      const [first, title = first] = of as (string | null)[]
      const described =
        subject === 'resource' ? { type: first ?? null, title: title ?? null } : { title: first ?? null }
      count = { subject_type: subject, subject: described, failures: 0, successes: 0, noops: 0, skips: 0 }
      counts.set(key, count)
    }
    const status = Object.entries(statuses).find(([name]) => name === row.status)?.[1]
    if (status !== undefined) count[status] += Number(row[member])
  }
  return [...counts.values()]
}

const sortable: Sortable = {
  name: 'event-counts',
  fields: [...Object.values(statuses), 'subject_type', 'subject'].map(name => ({
    name,
    type: 'text',
    nullable: false,
  })),
}

/** By the subject where nothing else decides. */
function sorted(counts: readonly EventCount[], order: string | undefined): readonly EventCount[] {
  const wanted = [
    ...orderOf(order, sortable),
    { field: 'subject_type', descending: false },
    { field: 'subject', descending: false },
  ]
  const value = (count: EventCount, field: string) =>
    field === 'subject'
      ? JSON.stringify([count.subject.type, count.subject.title])
      : count[field as 'failures']
  return counts.toSorted((one, other) => {
    for (const { field, descending } of wanted) {
      const [a, b] = [value(one, field), value(other, field)]
      if (a !== b) return a < b === descending ? 1 : -1
    }
    return 0
  })
}
