import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { acting, CarrelProblem, service } from '../../api.ts'
import { t } from '../../i18n/i18n.ts'
import { Form, Input, Submit } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { useWork } from '../../parts/load.ts'
import { Section } from '../../parts/Page.tsx'
import { ProblemNotice } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import type { Eperson } from '../../session.ts'

/**
 * A form for a new password. The service refuses it for accounts that log in at a provider, and its reason is
 * shown.
 */
export function PasswordForm({ person }: { readonly person: Eperson }): JSX.Element | null {
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const [again, setAgain] = useState('')
  const work = useWork(async () => {
    const value = { current_password: current, new_password: next }
    await service.value.patch(`/api/eperson/epersons/${person.uuid}`, {
      json: [{ op: 'add', path: '/password', value }],
    })
    setCurrent('')
    setNext('')
    setAgain('')
    toast(t('password.done'))
  })
  // The service refuses a change of password on behalf of an eperson.
  if (acting.value) return null
  const isWrong = work.problem instanceof CarrelProblem && work.problem.code === 'wrong-password'
  const differs = again !== '' && next !== again
  return (
    <Section title={t('password.title')}>
      <Form class="form" onSubmit={() => next === again && work.run()}>
        <input type="hidden" autoComplete="username" value={person.email} />
        <Field label={t('password.current')} fault={isWrong ? t('password.wrong') : undefined}>
          <Input
            type="password"
            autoComplete="current-password"
            required
            value={current}
            onText={setCurrent}
          />
        </Field>
        <Field label={t('password.next')} hint={t('password.rules')}>
          <Input
            type="password"
            autoComplete="new-password"
            required
            minLength={8}
            value={next}
            onText={setNext}
          />
        </Field>
        <Field label={t('password.again')} fault={differs ? t('password.differs') : undefined}>
          <Input type="password" autoComplete="new-password" required value={again} onText={setAgain} />
        </Field>
        {!isWrong && <ProblemNotice problem={work.problem} />}
        <div class="row">
          <Submit label={t('password.change')} busy={work.busy} aria-disabled={differs} />
        </div>
      </Form>
    </Section>
  )
}
