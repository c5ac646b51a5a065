import type { JSX } from 'preact'
import { service } from '../../api.ts'
import { t } from '../../i18n/i18n.ts'
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
    <form
      class="form"
      onSubmit={event => {
        event.preventDefault()
        work.run()
      }}
    >
      <div class="pair">
        <Field label={t('account.first')}>
          <input
            autoComplete="given-name"
            required
            maxLength={200}
            value={first.value}
            onInput={event => first.set(event.currentTarget.value)}
          />
        </Field>
        <Field label={t('account.last')}>
          <input
            autoComplete="family-name"
            required
            maxLength={200}
            value={last.value}
            onInput={event => last.set(event.currentTarget.value)}
          />
        </Field>
      </div>
      <ProblemNotice problem={work.problem} />
      <div class="row">
        <button type="submit" class="button primary" aria-busy={work.busy}>
          {t('save')}
        </button>
      </div>
    </form>
  )
}
