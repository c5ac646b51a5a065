import type { JSX } from 'preact'
import { loadEvent, type TrailEvent } from '../../administration/trail.ts'
import type { Json } from '../../entities.ts'
import { printExactly } from '../../exact.ts'
import { a } from '../../i18n/admin.ts'
import { formatNumber, t, tOf } from '../../i18n/i18n.ts'
import { Facts } from '../../parts/Facts.tsx'
import { useLoad } from '../../parts/load.ts'
import { type At, LoadingPage, Page } from '../../parts/Page.tsx'
import { type Column, Table } from '../../parts/Table.tsx'
import { href } from '../../router.ts'
import { who } from '../../session.ts'
import { Outcome, Someone } from './Audit.tsx'

/** One event of the trail, with the values before and after it. */
export default function EventPage({ parameters: { id = '' } }: At<'id'>): JSX.Element {
  const { value, problem, reload } = useLoad(signal => loadEvent(id, signal), [id, who.value])
  const crumbs = [[a('audit.title'), href('admin/audit')]] as const
  if (problem || !value)
    return <LoadingPage title={a('event.title', { id })} crumbs={crumbs} problem={problem} retry={reload} />
  const { event, names } = value
  return (
    <Page
      title={tOf('event', event.event)}
      windowTitle={`${tOf('event', event.event)} ${id}`}
      crumbs={crumbs}
      lead={<Outcome outcome={event.outcome} />}
    >
      <Facts
        of={[
          [a('event.number'), String(event.id)],
          [a('event.in-api'), <code>{event.event}</code>],
          [a('event.time'), <time dateTime={event.time}>{exactTime(event.time)}</time>],
          [a('event.eperson'), <Someone uuid={event.eperson} names={names} />],
          [
            a('event.actor'),
            event.actor === null ? a('event.no-actor') : <Someone uuid={event.actor} names={names} />,
          ],
          event.client_ip !== null && [a('event.ip'), <bdi>{event.client_ip}</bdi>],
          event.method !== null && [a('event.method'), <bdi>{tOf('method', event.method)}</bdi>],
          event.object !== null && [a('event.object'), <bdi>{event.object}</bdi>],
          event.reason !== null && [a('event.reason'), <bdi>{event.reason}</bdi>],
          event.request !== null && [a('event.request'), <code>{event.request}</code>],
          event.count > 1 && [a('event.count'), formatNumber(event.count)],
          ...timesOf(event),
        ]}
      />
      <Numbers label={a('event.objects')} of={membersOf(membersOf(event.repeats).objects)} />
      <Numbers label={a('event.networks')} of={membersOf(membersOf(event.repeats).networks)} />
      <Changes event={event} />
    </Page>
  )
}

/** Formats a time to the millisecond in UTC, which is how the trail stores it. */
const exactTime = (text: string) => text.replace('T', ' ').replace('Z', ' UTC')

/** Times of the first and the last event that the event counts. */
function timesOf({ repeats }: TrailEvent): readonly (readonly [string, JSX.Element])[] {
  const { first, last } = membersOf(repeats)
  const labelled = [
    [a('event.first'), first],
    [a('event.last'), last],
  ] as const
  return labelled.flatMap(([label, time]) =>
    typeof time === 'string' ? [[label, <time dateTime={time}>{exactTime(time)}</time>] as const] : [],
  )
}

const membersOf = (value: Json | undefined): Readonly<Record<string, Json>> =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, Json>) : {}

interface Parts {
  readonly label: string
  readonly of: Readonly<Record<string, Json>>
}

/** Names with numbers of events; nothing if there are none. */
function Numbers({ label, of }: Parts): JSX.Element | null {
  const rows = Object.entries(of)
  if (rows.length === 0) return null
  const columns: readonly Column<[string, Json]>[] = [
    { id: 'name', label, cell: ([name]) => <bdi>{name}</bdi> },
    { id: 'number', label: a('event.count'), cell: ([, number]) => formatNumber(Number(number)) },
  ]
  return (
    <section class="section">
      <Table label={label} columns={columns} rows={rows} idOf={([name]) => name} whole />
    </section>
  )
}

interface Change {
  readonly member: string
  readonly before: Json | undefined
  readonly after: Json | undefined
}

function Changes({ event: { changes } }: { readonly event: TrailEvent }): JSX.Element | null {
  if (changes === null || typeof changes !== 'object' || Array.isArray(changes)) return null
  const { before, after } = changes as { readonly [name: string]: Json }
  const [one, other] = [membersOf(before), membersOf(after)]
  const rows: readonly Change[] = [...new Set([...Object.keys(one), ...Object.keys(other)])].map(member => ({
    member,
    before: one[member],
    after: other[member],
  }))
  if (rows.length === 0) return null
  const columns: readonly Column<Change>[] = [
    { id: 'member', label: a('event.member'), cell: ({ member }) => <bdi>{member}</bdi> },
    {
      id: 'before',
      label: a('event.before'),
      wrap: true,
      cell: change =>
        change.before === undefined ? (
          '–'
        ) : (
          <del>
            <bdi>{written(change.before)}</bdi>
          </del>
        ),
    },
    {
      id: 'after',
      label: a('event.after'),
      wrap: true,
      cell: change =>
        change.after === undefined ? (
          '–'
        ) : (
          <ins>
            <bdi>{written(change.after)}</bdi>
          </ins>
        ),
    },
  ]
  return (
    <section class="section diff">
      <h2>{a('event.changes')}</h2>
      <Table label={a('event.changes')} columns={columns} rows={rows} idOf={({ member }) => member} whole />
    </section>
  )
}

const written = (value: Json) =>
  value === null ? t('null') : typeof value === 'string' ? value : printExactly(value, 1)
