import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { a } from '../../i18n/admin.ts'
import { formatAgo, formatTime, t } from '../../i18n/i18n.ts'
import { KeyRound, LogOut } from '../../icons.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { HalTable } from '../../parts/HalTable.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { useLoad } from '../../parts/load.ts'
import { Pager } from '../../parts/Pager.tsx'
import { Loading, ProblemView, Progress } from '../../parts/states.tsx'
import { Table } from '../../parts/Table.tsx'
import { toast } from '../../parts/toast.tsx'
import { go, href, query, setQuery } from '../../router.ts'
import { logout, who } from '../../session.ts'
import { personPath, revoke } from '../people/people.ts'
import {
  endAllSessions,
  type Identity,
  identities,
  loadTokens,
  rotateSecret,
  type TokenOf,
  unlink,
} from './logins.ts'
import { SystemPage } from './SystemPage.tsx'

/** What gives anybody access to the service: access tokens, identities at providers, sessions, the secret. */
function Logins(): JSX.Element {
  const [open, setOpen] = useState<'end' | 'rotate'>()
  return (
    <SystemPage
      title={a('logins.title')}
      lead={a('logins.lead')}
      actions={
        <>
          <button type="button" class="button" onClick={() => setOpen('rotate')}>
            <Icon of={KeyRound} />
            {a('secret.rotate')}
          </button>
          <button type="button" class="button danger" onClick={() => setOpen('end')}>
            <Icon of={LogOut} />
            {a('sessions.end-all')}
          </button>
        </>
      }
    >
      <section class="section">
        <h2>{a('tokens.title')}</h2>
        <Tokens />
      </section>
      <section class="section">
        <h2>{a('identities.title')}</h2>
        <p class="soft prose">{a('identities.help')}</p>
        <Identities />
      </section>
      {open === 'rotate' && (
        <Confirm
          tone="primary"
          title={a('secret.rotate')}
          act={a('secret.rotate')}
          onClose={() => setOpen(undefined)}
          work={async () => toast(a('secret.rotated', { n: await rotateSecret() }))}
        >
          <p>{a('secret.rotate.help')}</p>
        </Confirm>
      )}
      {open === 'end' && (
        <Confirm
          title={a('sessions.end-all.title')}
          act={a('sessions.end-all')}
          onClose={() => setOpen(undefined)}
          work={async () => {
            await endAllSessions()
            // This one has ended, too: the browser forgets it, in every tab.
            await logout()
            go('login')
          }}
        >
          <p>{a('sessions.end-all.help')}</p>
        </Confirm>
      )}
    </SystemPage>
  )
}

const Deed = ({
  children,
  onClick,
}: {
  readonly children: ComponentChildren
  readonly onClick: () => void
}) => (
  <button type="button" class="link-button" onClick={onClick}>
    {children}
  </button>
)

const size = 25

/** The access tokens of everybody. */
function Tokens(): JSX.Element {
  const page = Math.max(1, Math.trunc(Number(query.value.get('tokens'))) || 1)
  const { value, problem, loading, reload } = useLoad(
    signal => loadTokens(page, size, signal),
    [page, who.value],
  )
  const [leaving, setLeaving] = useState<TokenOf>()
  if (problem) return <ProblemView problem={problem} retry={reload} />
  if (!value) return <Loading lines={3} />
  const { tokens, total, emails } = value
  const ownerOf = ({ eperson }: TokenOf) => emails.get(eperson) ?? eperson
  return (
    <>
      {total === 0 ? (
        <p class="soft">{t('none')}</p>
      ) : (
        <div aria-busy={loading}>
          <Progress busy={loading} />
          <Table
            whole
            label={a('tokens.title')}
            rows={tokens}
            idOf={({ id }) => id}
            columns={[
              { id: 'name', label: a('tokens.name'), wrap: true, cell: ({ name }) => <bdi>{name}</bdi> },
              {
                id: 'owner',
                label: a('person.title'),
                cell: token => (
                  <a href={href(personPath(token.eperson))}>
                    <bdi>{ownerOf(token)}</bdi>
                  </a>
                ),
              },
              {
                id: 'methods',
                label: a('tokens.methods'),
                cell: ({ methods }) => methods.join(', '),
              },
              {
                id: 'used',
                label: a('tokens.used'),
                cell: ({ lastUsed }) => (lastUsed === null ? t('tokens.never') : formatAgo(lastUsed)),
              },
              { id: 'expires', label: a('tokens.expires'), cell: ({ expires }) => formatTime(expires) },
              {
                id: 'revoke',
                label: <span class="sr-only">{a('actions')}</span>,
                cell: token => (
                  <Deed onClick={() => setLeaving(token)}>
                    {a('tokens.revoke')}
                    <span class="sr-only"> {token.name}</span>
                  </Deed>
                ),
              },
            ]}
          />
          <Pager
            page={page}
            size={size}
            total={total}
            onPage={next => setQuery({ tokens: next === 1 ? null : String(next) })}
          />
        </div>
      )}
      {leaving && (
        <Confirm
          title={a('tokens.revoke.title', { name: leaving.name })}
          act={a('tokens.revoke')}
          onClose={() => setLeaving(undefined)}
          work={async () => {
            await revoke(leaving.eperson, leaving.id)
            toast(a('tokens.revoked'))
            reload()
          }}
        >
          <p>{a('tokens.revoke.help')}</p>
        </Confirm>
      )}
    </>
  )
}

/** Who is whom at which provider. A login makes these; only their end is an administrator's. */
function Identities(): JSX.Element {
  const [leaving, setLeaving] = useState<Identity>()
  const [version, setVersion] = useState(0)
  return (
    <>
      <HalTable<Identity>
        label={a('identities.title')}
        path={identities}
        name="identities"
        version={version}
        size={size}
        idOf={({ provider, eperson }) => `${provider} ${eperson}`}
        empty={<p class="soft">{t('none')}</p>}
        columns={[
          {
            id: 'person',
            label: a('person.title'),
            cell: ({ eperson, email }) => (
              <a href={href(personPath(eperson))}>
                <bdi>{email}</bdi>
              </a>
            ),
          },
          { id: 'provider', label: a('explain.provider'), cell: ({ provider }) => <bdi>{provider}</bdi> },
          {
            id: 'subject',
            label: a('explain.subject'),
            wrap: true,
            cell: ({ subject }) => <bdi>{subject}</bdi>,
          },
          { id: 'linked', label: a('identities.linked'), cell: ({ linked }) => formatTime(linked) },
          {
            id: 'unlink',
            label: <span class="sr-only">{a('actions')}</span>,
            cell: one => (
              <Deed onClick={() => setLeaving(one)}>
                {a('identities.unlink')}
                <span class="sr-only"> {one.email}</span>
              </Deed>
            ),
          },
        ]}
      />
      {leaving && (
        <Confirm
          title={a('identities.unlink.title', { name: leaving.email, provider: leaving.provider })}
          act={a('identities.unlink')}
          onClose={() => setLeaving(undefined)}
          work={async () => {
            await unlink(leaving)
            toast(a('identities.unlinked'))
            setVersion(version + 1)
          }}
        >
          <p>{a('identities.unlink.help')}</p>
        </Confirm>
      )}
    </>
  )
}

export default Logins
