import type { Schemas } from '@carrel/client'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { service } from '../../api.ts'
import { pathOf } from '../../entities.ts'
import { formatAgo, formatTime, t, tOf } from '../../i18n/i18n.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { Button } from '../../parts/controls.tsx'
import { useLoad } from '../../parts/load.ts'
import { NeedsLogin } from '../../parts/NeedsLogin.tsx'
import { Page, Section } from '../../parts/Page.tsx'
import { AddressPager } from '../../parts/Pager.tsx'
import { Pending } from '../../parts/states.tsx'
import { Table } from '../../parts/Table.tsx'
import { toast } from '../../parts/toast.tsx'
import { Value } from '../../parts/Value.tsx'
import { query } from '../../router.ts'
import type { Eperson } from '../../session.ts'
import '../../people/account.css'

type Session = Schemas['Session']

const path = '/api/authn/sessions'

/** The caller's sessions, and the audit events of their account. */
const Sessions = (): JSX.Element => (
  <Page title={t('nav.sessions')} lead={t('sessions.lead')}>
    <NeedsLogin>
      {person => (
        <>
          <List />
          <Events person={person} />
        </>
      )}
    </NeedsLogin>
  </Page>
)

function List(): JSX.Element {
  const { value, problem, reload } = useLoad(
    signal => service.value.list<Session>(path).page(0, 100, signal),
    [],
  )
  const [ending, setEnding] = useState<Session | 'others'>()
  if (problem || !value) return <Pending problem={problem} retry={reload} lines={4} />
  const sorted = value.items.toSorted((a, b) => Number(b.current) - Number(a.current))
  return (
    <section class="stack">
      <ul class="cards">
        {sorted.map(one => (
          <li key={one.id}>
            <div>
              <p>
                <strong>
                  <bdi>{one.browser ?? one.lastNetwork ?? one.network ?? t('sessions.command-line')}</bdi>
                </strong>{' '}
                {one.current && <span class="tag good">{t('sessions.this')}</span>}
              </p>
              <p class="small soft">
                {one.browser !== null && one.network !== null && (
                  <>
                    <bdi>{one.lastNetwork ?? one.network}</bdi>
                    {' · '}
                  </>
                )}
                <span>
                  {t('sessions.about', {
                    method: tOf('method', one.method),
                    begun: formatTime(one.begun),
                    used: formatAgo(one.lastUsed),
                  })}
                </span>
              </p>
            </div>
            {!one.current && <Button label={t('sessions.end')} onClick={() => setEnding(one)} />}
          </li>
        ))}
      </ul>
      {value.items.length > 1 && (
        <div class="row">
          <Button look="danger" label={t('sessions.end.others')} onClick={() => setEnding('others')} />
        </div>
      )}
      {ending && (
        <Confirm
          title={ending === 'others' ? t('sessions.end.others') : t('sessions.end')}
          act={t('sessions.end')}
          work={() =>
            ending === 'others' ? service.value.delete(path) : service.value.delete(`${path}/${ending.id}`)
          }
          onClose={done => {
            setEnding(undefined)
            if (!done) return
            reload()
            toast(t('sessions.ended'))
          }}
        >
          {t('sessions.end.what')}
        </Confirm>
      )}
    </section>
  )
}

interface Event {
  readonly id: number
  readonly time: string
  readonly event: string
  readonly outcome: string
  readonly client_ip: string | null
  readonly method: string | null
  readonly object: string | null
  readonly reason: string | null
}

const size = 25

const shown = (one: Event, name: 'event' | 'outcome' | 'client_ip' | 'method' | 'object' | 'reason') => {
  const value = one[name]
  const isTerm = name === 'event' || name === 'outcome' || name === 'method'
  return isTerm && value !== null ? tOf(name, value) : value
}

function Events({ person }: { readonly person: Eperson }): JSX.Element {
  const page = Math.max(1, Math.trunc(Number(query.value.get('page'))) || 1)
  const { value, problem, reload } = useLoad(
    async signal => {
      const condition = `audit_events { eperson = ${JSON.stringify(person.uuid)} order by id desc }`
      const asked = { query: condition, limit: size, offset: (page - 1) * size, include_total: true }
      const response = await service.value.request('GET', pathOf(), { query: asked, signal })
      return {
        events: (await response.json()) as readonly Event[],
        total: Number(response.headers.get('x-records')),
      }
    },
    [person.uuid, page],
  )
  const columns = ['event', 'outcome', 'client_ip', 'method', 'object', 'reason'] as const
  return (
    <Section title={t('sessions.events')}>
      {problem || !value ? (
        <Pending problem={problem} retry={reload} />
      ) : (
        <div>
          <Table<Event>
            whole
            label={t('sessions.events')}
            rows={value.events}
            idOf={one => String(one.id)}
            columns={[
              {
                id: 'time',
                label: t('sessions.time'),
                cell: one => <Value value={one.time} type="date-time" />,
              },
              ...columns.map(name => ({
                id: name,
                label: t(`event.${name}`),
                cell: (one: Event) =>
                  name === 'outcome' && one.outcome === 'failure' ? (
                    <span class="tag bad">{tOf('outcome', one.outcome)}</span>
                  ) : (
                    <Value value={shown(one, name)} />
                  ),
              })),
            ]}
          />
          <AddressPager page={page} size={size} total={value.total} />
        </div>
      )}
    </Section>
  )
}

export default Sessions
