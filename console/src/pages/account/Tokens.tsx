import type { Schemas } from '@carrel/client'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { service } from '../../api.ts'
import { formatAgo, formatTime, t, tOf } from '../../i18n/i18n.ts'
import { KeyRound, Plus } from '../../icons.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { Button } from '../../parts/controls.tsx'
import { useLoad } from '../../parts/load.ts'
import { NeedsLogin } from '../../parts/NeedsLogin.tsx'
import { Page } from '../../parts/Page.tsx'
import { Empty, Pending } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import { cut } from '../../parts/Value.tsx'
import { NewToken } from './NewToken.tsx'
import '../../people/account.css'

type Token = Schemas['AccessToken']

/** Access tokens, with which programs act in the caller's name. */
export default function Tokens(): JSX.Element {
  const [adding, setAdding] = useState(false)
  const [round, setRound] = useState(0)
  return (
    <Page
      title={t('nav.tokens')}
      lead={t('tokens.lead')}
      actions={<Button look="primary" icon={Plus} label={t('tokens.add')} onClick={() => setAdding(true)} />}
    >
      <NeedsLogin>{() => <List key={round} />}</NeedsLogin>
      {adding && (
        <NewToken
          onClose={() => {
            setAdding(false)
            setRound(round + 1)
          }}
        />
      )}
    </Page>
  )
}

function List(): JSX.Element {
  const { value, problem, reload } = useLoad(
    signal => service.value.list<Token>('/api/authn/tokens').page(0, 100, signal),
    [],
  )
  const [revoking, setRevoking] = useState<Token>()
  if (problem || !value) return <Pending problem={problem} retry={reload} lines={4} />
  if (value.items.length === 0)
    return <Empty icon={KeyRound} title={t('tokens.none')} help={t('tokens.none.help')} />
  return (
    <>
      <ul class="cards">
        {value.items.map(one => (
          <li key={one.id}>
            <div>
              <p>
                <strong>
                  <bdi>{one.name}</bdi>
                </strong>{' '}
                {one.methods.map(method => (
                  <span key={method} class="tag">
                    {method}
                  </span>
                ))}
              </p>
              <p class="small soft">
                {t('tokens.about', {
                  scope: cut(
                    (one.entities?.map(name => tOf('entity', name)) ?? one.parts ?? []).join(', ') ||
                      t('tokens.everything'),
                    120,
                  ),
                  expires: formatTime(one.expires),
                  used: one.lastUsed ? formatAgo(one.lastUsed) : t('tokens.never'),
                })}
              </p>
            </div>
            <Button look="danger" onClick={() => setRevoking(one)}>
              {t('tokens.revoke')}
              <span class="sr-only"> {one.name}</span>
            </Button>
          </li>
        ))}
      </ul>
      {revoking && (
        <Confirm
          title={t('tokens.revoke.title', { name: revoking.name })}
          act={t('tokens.revoke')}
          work={() => service.value.delete(`/api/authn/tokens/${revoking.id}`)}
          onClose={done => {
            setRevoking(undefined)
            if (!done) return
            reload()
            toast(t('tokens.revoked'))
          }}
        >
          {t('tokens.revoke.what')}
        </Confirm>
      )}
    </>
  )
}
