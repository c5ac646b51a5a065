import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { a } from '../../i18n/admin.ts'
import { t } from '../../i18n/i18n.ts'
import { Button } from '../../parts/controls.tsx'
import { useLoad, useWork } from '../../parts/load.ts'
import { Section } from '../../parts/Page.tsx'
import { Pending, ProblemNotice } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import { FactorCards } from '../../people/Factors.tsx'
import { loadFactors, type ProofName, proofsOf, reset } from '../../people/factors.ts'
import { ProofDialog } from '../../people/ProofDialog.tsx'
import { nameOf, type Person } from '../../people/people.ts'
import { eperson } from '../../session.ts'

/** The second factor of a person, which an administrator can reset. */
export function FactorsOf({ person }: { readonly person: Person }): JSX.Element {
  const { uuid } = person
  const name = nameOf(person)
  const { value, problem, reload } = useLoad(signal => loadFactors(uuid, signal), [uuid])
  const [proofs, setProofs] = useState<readonly ProofName[]>()
  const begin = useWork(async () => setProofs(proofsOf(await loadFactors())))
  return (
    <Section title={t('factors.title')}>
      {problem || !value ? (
        <Pending problem={problem} retry={reload} lines={2} />
      ) : value.factors.length === 0 ? (
        <p class="soft">{a('person.factors.none')}</p>
      ) : (
        <div class="stack">
          <FactorCards factors={value.factors} />
          <p>{t('recovery.left', { n: value.recoveryCodes })}</p>
          <ProblemNotice problem={begin.problem} />
          {eperson.value?.uuid !== uuid && (
            <div>
              <Button
                look="danger"
                label={a('person.factors.reset')}
                aria-busy={begin.busy}
                onClick={begin.run}
              />
            </div>
          )}
        </div>
      )}
      {proofs && (
        <ProofDialog
          title={a('person.factors.reset')}
          act={a('person.factors.reset')}
          tone="danger"
          proofs={proofs}
          work={async proof => {
            await reset(uuid, proof)
            setProofs(undefined)
            toast(a('person.factors.reset.done', { name }))
            reload()
          }}
          onClose={() => setProofs(undefined)}
        >
          <p>{a('person.factors.reset.help', { name })}</p>
        </ProofDialog>
      )}
    </Section>
  )
}
