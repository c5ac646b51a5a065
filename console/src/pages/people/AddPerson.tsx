import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { CarrelProblem } from '../../api.ts'
import { a } from '../../i18n/admin.ts'
import { Check, Input } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { FormDialog } from '../../parts/forms.tsx'
import { useWork } from '../../parts/load.ts'
import { toast } from '../../parts/toast.tsx'
import { addPerson, personPath, useLocalWarning } from '../../people/people.ts'
import { go } from '../../router.ts'

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
    <FormDialog
      title={a('people.add')}
      act={a('people.add')}
      work={isRefused ? { ...work, problem: undefined } : work}
      onSubmit={submit}
      onClose={onClose}
    >
      <Field label={a('person.email')} fault={fault}>
        <Input
          type="email"
          required
          autoComplete="off"
          value={values.email}
          onText={text => set({ email: text })}
        />
      </Field>
      <Field label={a('person.first')}>
        <Input value={values.firstName} autoComplete="off" onText={text => set({ firstName: text })} />
      </Field>
      <Field label={a('person.last')}>
        <Input value={values.lastName} autoComplete="off" onText={text => set({ lastName: text })} />
      </Field>
      <Field
        label={a('person.password')}
        hint={`${a('person.password.rules')} ${a('people.password.hint')}`}
        fault={isRefused ? a('people.password.refused') : undefined}
      >
        <Input
          type="password"
          minLength={8}
          autoComplete="new-password"
          value={values.password}
          onText={text => set({ password: text })}
        />
      </Field>
      <Check
        label={a('person.may-log-in')}
        checked={values.canLogIn}
        onChange={isChecked => set({ canLogIn: isChecked })}
      />
    </FormDialog>
  )
}
