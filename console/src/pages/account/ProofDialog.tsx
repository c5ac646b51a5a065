import type { ComponentChildren, JSX } from 'preact'
import { client } from '../../api.ts'
import { t } from '../../i18n/i18n.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { useFactor } from '../../parts/FactorFields.tsx'
import { useWork } from '../../parts/load.ts'
import type { Proof, ProofName } from './factors.ts'

interface Parts {
  readonly title: string
  /** Explains the consequences, or contains fields for values that the action needs. */
  readonly children: ComponentChildren
  /** The label of the button that acts. */
  readonly act: string
  readonly tone?: 'danger' | 'primary'
  /** What the caller can prove themselves with. */
  readonly proofs: readonly ProofName[]
  readonly work: (proof: Proof) => Promise<unknown>
  readonly onClose: () => void
}

/** Asks callers for their factor again before something that would let others in. */
export function ProofDialog({
  title,
  children,
  act,
  tone = 'primary',
  proofs,
  work,
  onClose,
}: Parts): JSX.Element {
  const { fields, answer, why } = useFactor(proofs, provePasskey)
  const doing = useWork(async () => work(await answer()))
  return (
    <Dialog
      title={title}
      onClose={onClose}
      onSubmit={doing.run}
      footer={
        <>
          <button type="button" class="button" onClick={onClose}>
            {t('cancel')}
          </button>
          <button type="submit" class={`button ${tone}`} aria-busy={doing.busy}>
            {act}
          </button>
        </>
      }
    >
      <div class="stack">{children}</div>
      {fields}
      {why(doing.problem)}
    </Dialog>
  )
}

/** Asks the browser for a passkey as a proof. */
export const provePasskey = (): ReturnType<typeof client.passkey> => client.passkey({ purpose: 'proof' })
