import { badParameter } from '../http/parameters.ts'
import { type Node, QueryError } from './language/node.ts'
import { readAst } from './language/read-ast.ts'
import { orderOf, type Sortable } from './parse.ts'

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

const members = Object.values(statuses)

type Counts = Readonly<Record<(typeof members)[number], number>>

const comparisons = {
  '=': (one: number, other: number) => one === other,
  '>': (one: number, other: number) => one > other,
  '<': (one: number, other: number) => one < other,
  '>=': (one: number, other: number) => one >= other,
  '<=': (one: number, other: number) => one <= other,
} as const

/** Maximum length in characters, ample for comparisons of four numbers. */
const maxLength = 2_000

type Filter = (counts: Counts) => boolean

/**
 * Reads a condition on counts, such as `[">", "failures", 0]`.
 * @throws Problem 400
 */
export function countsFilter(text: string | undefined): Filter {
  if (text === undefined) return () => true
  if (text.length > maxLength)
    throw badParameter(
      'counts_filter',
      text,
      `The parameter counts_filter has at most ${maxLength.toLocaleString('en')} characters.`,
    )
  try {
    return filterOf(readAst(text))
  } catch (error) {
    if (!(error instanceof QueryError)) throw error
    const place = 'pointer' in error.at && error.at.pointer !== '' ? ` at ${error.at.pointer}` : ''
    throw badParameter(
      'counts_filter',
      text,
      `The parameter counts_filter is wrong${place}: ${error.message}`,
      { ...error.at },
    )
  }
}

function filterOf(node: Node): Filter {
  const [operator, ...given] = node.kind === 'array' ? node.items : []
  if (operator?.kind !== 'text')
    throw new QueryError('It must be an array such as [">", "failures", 0].', node.at)
  if (operator.text === 'and' || operator.text === 'or') {
    const filters = given.map(filterOf)
    return operator.text === 'and'
      ? count => filters.every(filter => filter(count))
      : count => filters.some(filter => filter(count))
  }
  const [first, second] = given
  if (operator.text === 'not' && first && given.length === 1) {
    const filter = filterOf(first)
    return count => !filter(count)
  }
  const compare = Object.entries(comparisons).find(([name]) => name === operator.text)?.[1]
  if (!compare)
    throw new QueryError(
      `The operators are and, or, not, ${Object.keys(comparisons).join(', ')}.`,
      operator.at,
    )
  const member = members.find(one => first?.kind === 'text' && one === first.text)
  if (member === undefined)
    throw new QueryError(`A count is one of ${members.join(', ')}.`, first?.at ?? node.at)
  if (second?.kind !== 'number' || given.length !== 2)
    throw new QueryError('A count is compared with one number.', second?.at ?? node.at)
  const number = Number(second.text)
  return count => compare(count[member], number)
}
