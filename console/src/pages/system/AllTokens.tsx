import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { a } from '../../i18n/admin.ts'
import { formatAgo, formatTime, t } from '../../i18n/i18n.ts'
import { useLoad } from '../../parts/load.ts'
import { Pager } from '../../parts/Pager.tsx'
import { Loading, ProblemView, Progress } from '../../parts/states.tsx'
import { Table } from '../../parts/Table.tsx'
import { loadTokens, type TokenOf } from '../../people/logins.ts'
import { personPath } from '../../people/people.ts'
import { RevokeToken } from '../../people/RevokeToken.tsx'
import { href, query, setQuery } from '../../router.ts'
import { who } from '../../session.ts'

const size = 25

/** The access tokens of all epersons. */
export function AllTokens(): JSX.Element {
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
        <div class="stale" aria-busy={loading}>
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
                  <button type="button" class="link-button danger" onClick={() => setLeaving(token)}>
                    {a('tokens.revoke')}
                    <span class="sr-only"> {token.name}</span>
                  </button>
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
        <RevokeToken
          eperson={leaving.eperson}
          token={leaving}
          onClose={() => setLeaving(undefined)}
          onRevoked={reload}
        />
      )}
    </>
  )
}
