import type { JSX } from 'preact'
import { service } from '../../api.ts'
import { t } from '../../i18n/i18n.ts'
import { Form, Input, Submit } from '../../parts/controls.tsx'
import { useDraft } from '../../parts/draft.ts'
import { Field } from '../../parts/Field.tsx'
import { useWork } from '../../parts/load.ts'
import { ProblemNotice } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import { type Eperson, findOut } from '../../session.ts'

/** A form for first and last name. Only an administrator can change the email address. */
export function ProfileForm({ person }: { readonly person: Eperson }): JSX.Element {
  const first = useDraft(`first.${person.uuid}`, person.firstName)
  const last = useDraft(`last.${person.uuid}`, person.lastName)
  const work = useWork(async () => {
    const operations = [
      { op: 'add', path: '/metadata/eperson.firstname', value: [{ value: first.value.trim() }] },
      { op: 'add', path: '/metadata/eperson.lastname', value: [{ value: last.value.trim() }] },
    ]
    await service.value.patch(`/api/eperson/epersons/${person.uuid}`, { json: operations })
    first.done()
    last.done()
    await findOut()
    toast(t('saved'))
  })
  const input = (draft: typeof first, label: string, autoComplete: string) => (
    <Field label={label}>
      <Input required maxLength={200} autoComplete={autoComplete} value={draft.value} onText={draft.set} />
    </Field>
  )
  return (
    <Form class="form" onSubmit={work.run}>
      <div class="pair">
        {input(first, t('account.first'), 'given-name')}
        {input(last, t('account.last'), 'family-name')}
      </div>
      <ProblemNotice problem={work.problem} />
      <div class="row">
        <Submit label={t('save')} busy={work.busy} />
      </div>
    </Form>
  )
}
