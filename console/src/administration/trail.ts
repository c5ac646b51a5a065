import { service } from '../api.ts'
import { type DataRecord, type Json, loadPage, parametersOf, pathOf } from '../entities.ts'
import { emailsOf, type Person, people } from '../people/people.ts'

/** The entity of the audit trail. */
export const trail = 'audit-events'

export interface TrailEvent extends DataRecord {
  readonly id: number
  readonly time: string
  readonly event: string
  readonly outcome: string
  readonly eperson: string | null
  readonly actor: string | null
  readonly actor_email: string | null
  readonly client_ip: string | null
  readonly method: string | null
  readonly object: string | null
  readonly reason: string | null
  readonly count: number
  readonly changes: Json
  /** `first`, `last`, `objects` and `networks`, for an event that counts others. */
  readonly repeats: Json
  readonly request: string | null
}

/** A filter of events. Empty members match everything. */
export interface Filter {
  /** A part of a name, a part of an email address, or a UUID. */
  readonly person: string
  readonly event: string
  readonly outcome: string
  /** Days in the form YYYY-MM-DD; both are included. */
  readonly from: string
  readonly until: string
}

/** Maximum number of epersons that a text is resolved to. */
const mostPeople = 50

/** @returns the condition as an AST in JSON, or undefined if no eperson matches the text */
async function conditionOf(filter: Filter, signal: AbortSignal): Promise<string | undefined> {
  const { person, event, outcome, from, until } = filter
  const conditions: unknown[] = []
  if (person.trim() !== '') {
    const search = service.value.list<Person>(`${people}/search/byMetadata`, {
      query: { query: person.trim() },
    })
    const { items } = await search.page(0, mostPeople, signal)
    // Deleted epersons appear in the trail only by their UUID.
    const uuids = items.length > 0 ? items.map(({ uuid }) => uuid) : isUuid(person) ? [person.trim()] : []
    if (uuids.length === 0) return undefined
    const among = (field: string) => ['in', field, ['array', uuids]]
    conditions.push(['or', among('eperson'), among('actor')])
  }
  if (event !== '')
    conditions.push(
      event.endsWith('.') ? ['~', 'event', `^${event.replaceAll('.', '\\.')}`] : ['=', 'event', event],
    )
  if (outcome !== '') conditions.push(['=', 'outcome', outcome])
  if (from !== '') conditions.push(['>=', 'time', `${from}T00:00:00Z`])
  if (until !== '') {
    const end = new Date(`${until}T00:00:00Z`)
    end.setUTCDate(end.getUTCDate() + 1)
    conditions.push(['<', 'time', end.toISOString()])
  }
  if (conditions.length === 0) return ''
  return JSON.stringify(conditions.length === 1 ? conditions[0] : ['and', ...conditions])
}

const isUuid = (text: string) => /^\s*[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\s*$/i.test(text)

const newestFirst = [{ field: 'id', order: 'desc' }] as const

export async function loadEvents(
  filter: Filter,
  page: number,
  size: number,
  signal: AbortSignal,
): Promise<{ readonly events: readonly TrailEvent[]; readonly total: number; readonly names: Names }> {
  const query = await conditionOf(filter, signal)
  if (query === undefined) return { events: [], total: 0, names: new Map() }
  const asked = { query, order: newestFirst, limit: size, offset: (page - 1) * size }
  const { records, total } = await loadPage(trail, asked, signal)
  const events = records as readonly TrailEvent[]
  return { events, total, names: await namesOf(events, signal) }
}

/** Email addresses of epersons by UUID, because events contain only UUIDs. */
export type Names = ReadonlyMap<string, string>

const namesOf = (events: readonly TrailEvent[], signal: AbortSignal): Promise<Names> =>
  emailsOf(
    events.flatMap(({ eperson, actor }) => [eperson, actor]).filter(one => one !== null),
    signal,
  )

export async function loadEvent(
  id: string,
  signal: AbortSignal,
): Promise<{ readonly event: TrailEvent; readonly names: Names }> {
  const event = await service.value.get<TrailEvent>(pathOf(trail, id), { signal })
  return { event, names: await namesOf([event], signal) }
}

/** Returns the parameters of a query for all events that match the filter. */
export async function exportOf(
  filter: Filter,
  signal: AbortSignal,
): Promise<Record<string, string | undefined>> {
  const query = await conditionOf(filter, signal)
  // If no eperson matches, the export is empty.
  return parametersOf({ query: query ?? '["=","id",0]', order: newestFirst })
}
