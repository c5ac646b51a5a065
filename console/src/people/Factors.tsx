import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { formatAgo, formatTime, t } from '../i18n/i18n.ts'
import { Plus } from '../icons.ts'
import { Button, Input } from '../parts/controls.tsx'
import { Dialog } from '../parts/Dialog.tsx'
import { Field } from '../parts/Field.tsx'
import { type Loaded, useLoad } from '../parts/load.ts'
import { Section } from '../parts/Page.tsx'
import { Notice, Pending } from '../parts/states.tsx'
import { toast } from '../parts/toast.tsx'
import Enrol from './Enrol.tsx'
import { type Enrolled, type Factors, loadFactors, proofsOf, remove, rename, renewCodes } from './factors.ts'
import { ProofDialog } from './ProofDialog.tsx'
import { RecoveryCodes } from './RecoveryCodes.tsx'

type Open =
  | { readonly what: 'totp' | 'passkey' | 'codes' }
  | { readonly what: 'rename' | 'remove'; readonly factor: Enrolled }
  | { readonly what: 'shown'; readonly codes: readonly string[] }

/** The caller's second factor: apps, passkeys and recovery codes. */
export function FactorsSection(): JSX.Element | null {
  const loaded = useLoad(signal => loadFactors(undefined, signal), [])
  if (loaded.value?.setting === 'off' && loaded.value.factors.length === 0) return null
  return (
    <Section title={t('factors.title')}>
      <p class="prose soft">{t('factors.what')}</p>
      <List {...loaded} />
    </Section>
  )
}

function List({ value, problem, reload }: Loaded<Factors>): JSX.Element {
  const [open, setOpen] = useState<Open>()
  if (problem || !value) return <Pending problem={problem} retry={reload} lines={2} />
  const { factors, recoveryCodes, required } = value
  return (
    <>
      {required && factors.length === 0 && <Notice tone="warn">{t('factors.required')}</Notice>}
      <FactorCards
        factors={factors}
        actions={factor => (
          <div class="row">
            <Button onClick={() => setOpen({ what: 'rename', factor })}>
              {t('factor.rename')}
              <span class="sr-only"> {factor.name}</span>
            </Button>
            <Button look="danger" onClick={() => setOpen({ what: 'remove', factor })}>
              {t('remove')}
              <span class="sr-only"> {factor.name}</span>
            </Button>
          </div>
        )}
      />
      {factors.length > 0 && <p>{t('recovery.left', { n: recoveryCodes })}</p>}
      <div class="row">
        {(['totp', 'passkey'] as const).map(
          what =>
            (what === 'totp' || value.passkeys) && (
              <Button
                key={what}
                icon={Plus}
                label={t(`factor.add.${what}`)}
                onClick={() => setOpen({ what })}
              />
            ),
        )}
        {factors.length > 0 && (
          <Button label={t('recovery.renew')} onClick={() => setOpen({ what: 'codes' })} />
        )}
      </div>
      {open && (
        <Change
          open={open}
          factors={value}
          onOpen={next => {
            setOpen(next)
            if (next?.what !== open.what) reload()
          }}
        />
      )}
    </>
  )
}

interface Parts {
  readonly factors: readonly Enrolled[]
  readonly actions?: (factor: Enrolled) => JSX.Element
}

/** Factors with what is known about them. */
export const FactorCards = ({ factors, actions }: Parts): JSX.Element | null =>
  factors.length === 0 ? null : (
    <ul class="cards">
      {factors.map(one => (
        <li key={one.id}>
          <div>
            <p>
              <strong>
                <bdi>{one.name}</bdi>
              </strong>{' '}
              {one.alone && <span class="tag">{t('factor.alone')}</span>}
            </p>
            <p class="small soft">
              {t('factor.about', {
                kind: t(`factor.kind.${one.kind}`),
                created: formatTime(one.created),
                used: one.lastUsed ? formatAgo(one.lastUsed) : t('tokens.never'),
              })}
            </p>
          </div>
          {actions?.(one)}
        </li>
      ))}
    </ul>
  )

interface Changing {
  readonly open: Open
  readonly factors: Factors
  /** Shows another dialog, or none. */
  readonly onOpen: (open: Open | undefined) => void
}

function Change({ open, factors, onOpen }: Changing): JSX.Element {
  const close = () => onOpen(undefined)
  const proofs = proofsOf(factors)
  const [name, setName] = useState('factor' in open ? open.factor.name : '')
  const [hasCodes, setHasCodes] = useState(false)
  const done = (text: string) => {
    toast(text)
    close()
  }
  switch (open.what) {
    case 'shown':
      return (
        <Dialog
          title={t('recovery.renew')}
          onClose={close}
          footer={<Button look="primary" label={t('recovery.kept')} onClick={close} />}
        >
          <RecoveryCodes codes={open.codes} />
        </Dialog>
      )
    case 'codes':
      return (
        <ProofDialog
          title={t('recovery.renew')}
          act={t('recovery.renew')}
          proofs={proofs}
          work={async proof => onOpen({ what: 'shown', codes: await renewCodes(proof) })}
          onClose={close}
        >
          <p>{t('recovery.renew.what')}</p>
        </ProofDialog>
      )
    case 'rename':
      return (
        <ProofDialog
          title={t('factor.rename')}
          act={t('save')}
          proofs={proofs}
          work={async proof => {
            await rename(open.factor.id, name.trim(), proof)
            done(t('saved'))
          }}
          onClose={close}
        >
          <Field label={t('factor.name')}>
            <Input required maxLength={100} value={name} onText={setName} />
          </Field>
        </ProofDialog>
      )
    case 'remove':
      return (
        <ProofDialog
          title={t('factor.remove.title', { name: open.factor.name })}
          act={t('remove')}
          tone="danger"
          proofs={proofs}
          work={async proof => {
            await remove(open.factor.id, proof)
            done(t('factor.removed'))
          }}
          onClose={close}
        >
          <p>{t(factors.factors.length > 1 ? 'factor.remove.what' : 'factor.remove.last')}</p>
        </ProofDialog>
      )
    default:
      return (
        <Dialog title={t(hasCodes ? 'recovery.keep' : `factor.add.${open.what}`)} onClose={close}>
          <Enrol
            kinds={[open.what]}
            by={proofs}
            onCodes={() => setHasCodes(true)}
            onDone={() => done(t('factor.added'))}
          />
        </Dialog>
      )
  }
}
