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
  return (
    <Form class="form" onSubmit={work.run}>
      <div class="pair">
        <Field label={t('account.first')}>
          <Input autoComplete="given-name" required maxLength={200} value={first.value} onText={first.set} />
        </Field>
        <Field label={t('account.last')}>
          <Input autoComplete="family-name" required maxLength={200} value={last.value} onText={last.set} />
        </Field>
      </div>
      <ProblemNotice problem={work.problem} />
      <div class="row">
        <Submit label={t('save')} busy={work.busy} />
      </div>
    </Form>
  )
}
