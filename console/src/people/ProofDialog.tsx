import type { ComponentChildren, JSX } from 'preact'
import { client } from '../api.ts'
import { useFactor } from '../parts/FactorFields.tsx'
import { FormDialog } from '../parts/forms.tsx'
import { useWork } from '../parts/load.ts'
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
export function ProofDialog({ children, proofs, work, ...parts }: Parts): JSX.Element {
  const { fields, answer, why } = useFactor(proofs, provePasskey)
  const doing = useWork(async () => work(await answer()))
  return (
    <FormDialog {...parts} work={{ ...doing, problem: undefined }}>
      <div class="stack">{children}</div>
      {fields}
      {why(doing.problem)}
    </FormDialog>
  )
}

/** Asks the browser for a passkey as a proof. */
export const provePasskey = (): ReturnType<typeof client.passkey> => client.passkey({ purpose: 'proof' })
