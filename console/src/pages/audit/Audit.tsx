import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { StartScript } from '../../administration/StartScript.tsx'
import {
  exportOf,
  type Filter,
  loadEvents,
  type Names,
  type TrailEvent,
  trail,
} from '../../administration/trail.ts'
import { pathOf } from '../../entities.ts'
import { a } from '../../i18n/admin.ts'
import { formatMoment, formatNumber, tOf } from '../../i18n/i18n.ts'
import { ScrollText, ShieldCheck } from '../../icons.ts'
import { Button, NameLink } from '../../parts/controls.tsx'
import { DownloadMenu } from '../../parts/DownloadMenu.tsx'
import { useLoad } from '../../parts/load.ts'
import { Page } from '../../parts/Page.tsx'
import { AddressPager } from '../../parts/Pager.tsx'
import { Empty, Pending, Progress } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/Table.tsx'
import { cut } from '../../parts/Value.tsx'
import { personPath } from '../../people/people.ts'
import { href, query } from '../../router.ts'
import { who } from '../../session.ts'
import { Filters, filterHere } from './Filters.tsx'

const sizes = [50, 100, 500]

export const eventPath = (id: number): string => `admin/audit/${id}`

interface Parts {
  readonly uuid: string | null
  readonly names: Names
}

/** An eperson, shown by email address if it is known, otherwise by UUID. */
export const Someone = ({ uuid, names }: Parts): JSX.Element =>
  uuid === null ? (
    <span class="null">–</span>
  ) : (
    <NameLink to={personPath(uuid)} name={names.get(uuid) ?? uuid} />
  )

export const Outcome = ({ outcome }: { readonly outcome: string }): JSX.Element => (
  <span class={`tag ${outcome === 'success' ? 'good' : 'bad'}`}>{tOf('outcome', outcome)}</span>
)

const columns = (names: Names): readonly Column<TrailEvent>[] => [
  {
    id: 'time',
    label: a('event.time'),
    cell: ({ id, time }) => (
      <a href={href(eventPath(id))}>
        <time dateTime={time}>{formatMoment(time)}</time>
      </a>
    ),
  },
  {
    id: 'event',
    label: a('event.event'),
    cell: ({ event, count }) => (
      <>
        {tOf('event', event)}
        {count > 1 && <span class="soft"> × {formatNumber(count)}</span>}
      </>
    ),
  },
  { id: 'outcome', label: a('event.outcome'), cell: ({ outcome }) => <Outcome outcome={outcome} /> },
  {
    id: 'eperson',
    label: a('event.eperson'),
    cell: ({ eperson }) => <Someone uuid={eperson} names={names} />,
  },
  {
    id: 'actor',
    label: a('event.actor'),
    cell: ({ actor, eperson }) =>
      actor !== null && actor === eperson ? (
        <span class="soft">{a('event.self')}</span>
      ) : (
        <Someone uuid={actor} names={names} />
      ),
  },
  { id: 'object', label: a('event.object'), cell: ({ object }) => <bdi>{cut(object ?? '', 60)}</bdi> },
  { id: 'ip', label: a('event.ip'), cell: ({ client_ip: ip }) => <bdi>{ip ?? ''}</bdi> },
]

/** The audit trail, page by page. */
export default function Audit(): JSX.Element {
  const [verifying, setVerifying] = useState(false)
  const filter = filterHere()
  const page = Math.max(1, Math.trunc(Number(query.value.get('page'))) || 1)
  const size = sizes.find(one => String(one) === query.value.get('size')) ?? 50
  const { value, problem, loading, reload } = useLoad(
    signal => loadEvents(filter, page, size, signal),
    [JSON.stringify(filter), page, size, who.value],
  )
  return (
    <Page
      title={a('audit.title')}
      lead={a('audit.lead')}
      actions={
        <>
          <Button icon={ShieldCheck} label={a('audit.verify')} onClick={() => setVerifying(true)} />
          <Export filter={filter} />
        </>
      }
    >
      <Filters filter={filter} />
      <Progress busy={loading && value !== undefined} />
      {problem || !value ? (
        <Pending problem={problem} retry={reload} />
      ) : value.total === 0 ? (
        <Empty icon={ScrollText} title={a('audit.none')} help={a('audit.none.help')} />
      ) : (
        <div class="stale" aria-busy={loading}>
          <Table
            label={a('audit.title')}
            columns={columns(value.names)}
            rows={value.events}
            idOf={({ id }) => String(id)}
            pathOf={({ id }) => eventPath(id)}
            whole
          />
          <AddressPager page={page} size={size} sizes={sizes} total={value.total} usual={50} />
        </div>
      )}
      {verifying && <StartScript only="verify-trail" onClose={() => setVerifying(false)} />}
    </Page>
  )
}

/** Downloads all events that match the filter. */
const Export = ({ filter }: { readonly filter: Filter }): JSX.Element => (
  <DownloadMenu
    name={trail}
    choices={[
      { asked: async signal => ({ path: pathOf(trail), parameters: await exportOf(filter, signal) }) },
    ]}
  />
)
