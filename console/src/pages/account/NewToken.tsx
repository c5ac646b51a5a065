import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { service } from '../../api.ts'
import { entities } from '../../entities.ts'
import { t, tOf } from '../../i18n/i18n.ts'
import { Copy } from '../../icons.ts'
import { inOrder } from '../../in-order.ts'
import { Check } from '../../parts/Check.tsx'
import { copy } from '../../parts/copy.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { useDraft } from '../../parts/draft.ts'
import { Field } from '../../parts/Field.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { useWork } from '../../parts/load.ts'
import { Notice, ProblemNotice } from '../../parts/states.tsx'

const day = 86_400_000

/** Asks for the name, scope, networks and lifetime of an access token, creates it, and shows it once. */
export function NewToken({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const name = useDraft('token.name', '')
  const [days, setDays] = useState('30')
  const [entity, setEntity] = useState('')
  const [writes, setWrites] = useState(false)
  const [networks, setNetworks] = useState('')
  const [made, setMade] = useState<string>()
  const work = useWork(async () => {
    const { token } = await service.value.post<{ token: string }>('/api/authn/tokens', {
      json: {
        name: name.value.trim(),
        expires: new Date(Date.now() + Number(days) * day).toISOString(),
        methods: writes ? ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] : ['GET'],
        ...(entity === '' ? {} : { entities: [entity] }),
        ...(networks.trim() === '' ? {} : { networks: networks.split(/[\s,]+/).filter(Boolean) }),
      },
    })
    name.done()
    setMade(token)
  })
  if (made !== undefined) return <Made token={made} onClose={onClose} />
  return (
    <Dialog
      title={t('tokens.add')}
      onClose={onClose}
      onSubmit={work.run}
      footer={
        <>
          <button type="button" class="button" onClick={onClose}>
            {t('cancel')}
          </button>
          <button type="submit" class="button primary" aria-busy={work.busy}>
            {t('tokens.make')}
          </button>
        </>
      }
    >
      <Field label={t('tokens.name')} hint={t('tokens.name.hint')}>
        <input
          required
          maxLength={100}
          value={name.value}
          onInput={event => name.set(event.currentTarget.value)}
        />
      </Field>
      <Field label={t('tokens.scope')}>
        <select value={entity} onChange={event => setEntity(event.currentTarget.value)}>
          <option value="">{t('tokens.everything')}</option>
          {inOrder(entities.value ?? []).map(one => (
            <option key={one.name} value={one.name}>
              {t('tokens.only', { name: tOf('entity', one.name) })}
            </option>
          ))}
        </select>
      </Field>
      <Field label={t('tokens.days')}>
        <select value={days} onChange={event => setDays(event.currentTarget.value)}>
          {[7, 30, 90, 365].map(one => (
            <option key={one} value={one}>
              {t('days', { n: one })}
            </option>
          ))}
        </select>
      </Field>
      <Field label={t('tokens.networks')} hint={t('tokens.networks.hint')}>
        <input value={networks} onInput={event => setNetworks(event.currentTarget.value)} />
      </Field>
      <Check checked={writes} onChange={setWrites}>
        {t('tokens.writes')}
      </Check>
      <ProblemNotice problem={work.problem} />
    </Dialog>
  )
}

const Made = ({ token, onClose }: { readonly token: string; readonly onClose: () => void }): JSX.Element => (
  <Dialog
    title={t('tokens.made')}
    onClose={onClose}
    footer={
      <button type="button" class="button primary" onClick={onClose}>
        {t('close')}
      </button>
    }
  >
    <div class="secret">
      <Notice tone="warn">{t('tokens.once')}</Notice>
      <code>{token}</code>
      <button type="button" class="button" onClick={() => copy(token)}>
        <Icon of={Copy} />
        {t('copy')}
      </button>
    </div>
  </Dialog>
)
