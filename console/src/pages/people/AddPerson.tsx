import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { CarrelProblem } from '../../api.ts'
import { a } from '../../i18n/admin.ts'
import { t } from '../../i18n/i18n.ts'
import { Check } from '../../parts/Check.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { Field } from '../../parts/Field.tsx'
import { useWork } from '../../parts/load.ts'
import { ProblemNotice } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import { go } from '../../router.ts'
import { addPerson, personPath, useLocalWarning } from './people.ts'

/** A form for a new account, with or without a password. */
export function AddPerson({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const [values, setValues] = useState({
    email: '',
    firstName: '',
    lastName: '',
    password: '',
    canLogIn: true,
  })
  const set = (change: Partial<typeof values>) => setValues({ ...values, ...change })
  const work = useWork(async () => {
    const { uuid } = await addPerson({ ...values, email: values.email.trim() })
    toast(a('people.added', { name: values.email }))
    onClose()
    go(personPath(uuid))
  })
  const { submit, fault } = useLocalWarning(values.email, work.run)
  const isRefused = work.problem instanceof CarrelProblem && work.problem.code === 'password-refused'
  return (
    <Dialog
      title={a('people.add')}
      onClose={onClose}
      onSubmit={submit}
      footer={
        <>
          <button type="button" class="button" onClick={onClose}>
            {t('cancel')}
          </button>
          <button type="submit" class="button primary" aria-busy={work.busy}>
            {a('people.add')}
          </button>
        </>
      }
    >
      <Field label={a('person.email')} fault={fault}>
        <input
          type="email"
          required
          autoComplete="off"
          value={values.email}
          onInput={event => set({ email: event.currentTarget.value })}
        />
      </Field>
      <Field label={a('person.first')}>
        <input
          value={values.firstName}
          autoComplete="off"
          onInput={event => set({ firstName: event.currentTarget.value })}
        />
      </Field>
      <Field label={a('person.last')}>
        <input
          value={values.lastName}
          autoComplete="off"
          onInput={event => set({ lastName: event.currentTarget.value })}
        />
      </Field>
      <Field
        label={a('person.password')}
        hint={`${a('person.password.rules')} ${a('people.password.hint')}`}
        fault={isRefused ? a('people.password.refused') : undefined}
      >
        <input
          type="password"
          minLength={8}
          autoComplete="new-password"
          value={values.password}
          onInput={event => set({ password: event.currentTarget.value })}
        />
      </Field>
      <Check checked={values.canLogIn} onChange={isChecked => set({ canLogIn: isChecked })}>
        {a('person.may-log-in')}
      </Check>
      {!isRefused && <ProblemNotice problem={work.problem} />}
    </Dialog>
  )
}
