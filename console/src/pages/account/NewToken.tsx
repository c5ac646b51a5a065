import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { service } from '../../api.ts'
import { entities } from '../../entities.ts'
import { t, tOf } from '../../i18n/i18n.ts'
import { Copy } from '../../icons.ts'
import { inOrder } from '../../in-order.ts'
import { Button, Check, Input, Select } from '../../parts/controls.tsx'
import { copy } from '../../parts/copy.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { useDraft } from '../../parts/draft.ts'
import { Field } from '../../parts/Field.tsx'
import { FormDialog } from '../../parts/forms.tsx'
import { useWork } from '../../parts/load.ts'
import { Notice } from '../../parts/states.tsx'

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
    <FormDialog title={t('tokens.add')} act={t('tokens.make')} work={work} onClose={onClose}>
      <Field label={t('tokens.name')} hint={t('tokens.name.hint')}>
        <Input required maxLength={100} value={name.value} onText={name.set} />
      </Field>
      <Field label={t('tokens.scope')}>
        <Select
          value={entity}
          onChoose={setEntity}
          none={t('tokens.everything')}
          options={inOrder(entities.value ?? []).map(one => [
            one.name,
            t('tokens.only', { name: tOf('entity', one.name) }),
          ])}
        />
      </Field>
      <Field label={t('tokens.days')}>
        <Select
          value={days}
          onChoose={setDays}
          options={[7, 30, 90, 365].map(n => [String(n), t('days', { n })])}
        />
      </Field>
      <Field label={t('tokens.networks')} hint={t('tokens.networks.hint')}>
        <Input value={networks} onText={setNetworks} />
      </Field>
      <Check label={t('tokens.writes')} checked={writes} onChange={setWrites} />
    </FormDialog>
  )
}

const Made = ({ token, onClose }: { readonly token: string; readonly onClose: () => void }): JSX.Element => (
  <Dialog
    title={t('tokens.made')}
    onClose={onClose}
    footer={<Button look="primary" label={t('close')} onClick={onClose} />}
  >
    <div class="secret">
      <Notice tone="warn">{t('tokens.once')}</Notice>
      <code>{token}</code>
      <Button icon={Copy} label={t('copy')} onClick={() => copy(token)} />
    </div>
  </Dialog>
)
