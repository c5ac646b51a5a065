import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { a } from '../../i18n/admin.ts'
import { formatTime, t } from '../../i18n/i18n.ts'
import { HalTable } from '../../parts/HalTable.tsx'
import { type AccessToken, tokensOf } from './people.ts'
import { RevokeToken } from './RevokeToken.tsx'

/** Somebody's tokens for programs. */
export function Tokens({ uuid }: { readonly uuid: string }): JSX.Element {
  const [leaving, setLeaving] = useState<AccessToken>()
  const [version, setVersion] = useState(0)
  return (
    <>
      <HalTable<AccessToken>
        label={a('tokens.title')}
        path={tokensOf(uuid)}
        name="tokens"
        version={version}
        columns={[
          { id: 'name', label: a('tokens.name'), cell: ({ name }) => <bdi>{name}</bdi> },
          { id: 'expires', label: a('tokens.expires'), cell: ({ expires }) => formatTime(expires) },
          {
            id: 'revoke',
            label: <span class="sr-only">{a('actions')}</span>,
            cell: token => (
              <button type="button" class="link-button danger" onClick={() => setLeaving(token)}>
                {a('tokens.revoke')}
              </button>
            ),
          },
        ]}
        idOf={({ id }) => id}
        empty={<p class="soft">{t('none')}</p>}
      />
      {leaving && (
        <RevokeToken
          eperson={uuid}
          token={leaving}
          onClose={() => setLeaving(undefined)}
          onRevoked={() => setVersion(version + 1)}
        />
      )}
    </>
  )
}
