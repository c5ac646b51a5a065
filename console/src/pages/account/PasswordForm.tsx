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

const nothing = { current: '', next: '', again: '' }

/**
 * A form for a new password. The service refuses it for accounts that log in at a provider, and its reason is
 * shown.
 */
export function PasswordForm({ person }: { readonly person: Eperson }): JSX.Element | null {
  const [values, setValues] = useState(nothing)
  const { current, next, again } = values
  const work = useWork(async () => {
    const value = { current_password: current, new_password: next }
    await service.value.patch(`/api/eperson/epersons/${person.uuid}`, {
      json: [{ op: 'add', path: '/password', value }],
    })
    setValues(nothing)
    toast(t('password.done'))
  })
  // The service refuses a change of password on behalf of an eperson.
  if (acting.value) return null
  const isWrong = work.problem instanceof CarrelProblem && work.problem.code === 'wrong-password'
  const differs = again !== '' && next !== again
  const input = (
    name: keyof typeof nothing,
    autoComplete: string,
    { minLength, ...said }: { minLength?: number; hint?: string; fault?: string | undefined },
  ) => (
    <Field label={t(`password.${name}`)} {...said}>
      <Input
        type="password"
        required
        autoComplete={autoComplete}
        {...(minLength && { minLength })}
        value={values[name]}
        onText={text => setValues(now => ({ ...now, [name]: text }))}
      />
    </Field>
  )
  return (
    <Section title={t('password.title')}>
      <Form class="form" onSubmit={() => next === again && work.run()}>
        <input type="hidden" autoComplete="username" value={person.email} />
        {input('current', 'current-password', { fault: isWrong ? t('password.wrong') : undefined })}
        {input('next', 'new-password', { hint: t('password.rules'), minLength: 8 })}
        {input('again', 'new-password', { fault: differs ? t('password.differs') : undefined })}
        {!isWrong && <ProblemNotice problem={work.problem} />}
        <div class="row">
          <Submit label={t('password.change')} busy={work.busy} aria-disabled={differs} />
        </div>
      </Form>
    </Section>
  )
}
