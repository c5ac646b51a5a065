import { orderOf, type Sortable } from '../parse.ts'
import { countsFilter } from './counts-filter.ts'

/**
 * Subjects by which events are counted (https://www.puppet.com/docs/puppetdb/8/api/query/v4/event-counts),
 * with their fields.
 */
export const subjects = {
  certname: ['certname'],
  containing_class: ['containing_class'],
  resource: ['resource_type', 'resource_title'],
} as const
export type Subject = keyof typeof subjects

/** The members of a count, by the status that each counts. */
const statuses = { failure: 'failures', success: 'successes', noop: 'noops', skipped: 'skips' } as const

interface EventCount {
  readonly subject_type: Subject
  readonly subject: { readonly title: string | null; readonly type?: string | null }
  failures: number
  successes: number
  noops: number
  skips: number
}

/** Rows with the number of events for each subject and status. */
export interface CountedRows {
  readonly subject: Subject
  /** JSON objects with commas between them. */
  readonly rows: Uint8Array
}

export interface Counting {
  /** The member of a row with the number. */
  readonly member: string
  readonly filter: string | undefined
  readonly order: string | undefined
  readonly offset: number
  readonly limit: number | undefined
}

/** @returns the JSON of the page, and the number of counts on all pages */
export function eventCounts(
  counted: readonly CountedRows[],
  { order, offset, limit, ...how }: Counting,
): { readonly json: string; readonly total: number } {
  const all = sorted(
    counted.flatMap(one => countsOf(one, how)),
    order,
  )
  const page = all.slice(offset, limit === undefined ? undefined : offset + limit)
  return { json: JSON.stringify(page), total: all.length }
}

/** @returns JSON with the number of subjects that have events of each status */
export function aggregateEventCounts(counted: readonly CountedRows[], how: Counting): string {
  const all = counted.map(one => {
    const counts = countsOf(one, how)
    const members = Object.values(statuses).map(
      member => [member, counts.filter(count => count[member] > 0).length] as const,
    )
    return { summarize_by: one.subject, ...Object.fromEntries(members), total: counts.length }
  })
  return JSON.stringify(all)
}

function countsOf(
  { subject, rows }: CountedRows,
  { member, filter }: Pick<Counting, 'member' | 'filter'>,
): EventCount[] {
  const all = JSON.parse(`[${new TextDecoder().decode(rows)}]`) as Readonly<
    Record<string, string | number | null>
  >[]
  const counts = new Map<string, EventCount>()
  for (const row of all) {
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
  return [...counts.values()].filter(countsFilter(filter))
}

const sortable: Sortable = {
  name: 'event-counts',
  fields: [...Object.values(statuses), 'subject_type', 'subject'].map(name => ({
    name,
    type: 'text',
    nullable: false,
  })),
}

/** Reads an order of counts. @throws Problem 400 for any other */
export const eventOrder = (order: string | undefined) => orderOf(order, sortable)

/** Sorts counts, by the subject if nothing else decides. */
function sorted(counts: readonly EventCount[], order: string | undefined): readonly EventCount[] {
  const wanted = [
    ...eventOrder(order),
    { field: 'subject_type', descending: false },
    { field: 'subject', descending: false },
  ]
  const keyed = counts.map(count => ({
    count,
    keys: wanted.map(({ field }) =>
      field === 'subject'
        ? JSON.stringify([count.subject.type, count.subject.title])
        : count[field as 'failures'],
    ),
  }))
  keyed.sort((one, other) => {
    for (const [at, { descending }] of wanted.entries()) {
      const [a, b] = [one.keys[at] ?? '', other.keys[at] ?? '']
      if (a !== b) return a < b === descending ? 1 : -1
    }
    return 0
  })
  return keyed.map(({ count }) => count)
}
