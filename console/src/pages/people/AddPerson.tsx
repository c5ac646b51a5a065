import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { a } from '../../i18n/admin.ts'
import { t } from '../../i18n/i18n.ts'
import { Check } from '../../parts/Check.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { Field } from '../../parts/Field.tsx'
import { useWork } from '../../parts/load.ts'
import { ProblemNotice } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import { go } from '../../router.ts'
import { addPerson, personPath, setPassword } from './people.ts'

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
    const { password, ...person } = values
    const { uuid } = await addPerson({ ...person, email: person.email.trim() })
    // The account exists even if setting the password fails, so its page opens in both cases.
    const isSet =
      password === '' ||
      (await setPassword(uuid, password).then(
        () => true,
        () => false,
      ))
    toast(
      isSet ? a('people.added', { name: values.email }) : a('people.added.no-password'),
      isSet ? 'good' : 'bad',
    )
    onClose()
    go(personPath(uuid))
  })
  return (
    <Dialog
      title={a('people.add')}
      onClose={onClose}
      onSubmit={work.run}
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
      <Field label={a('person.email')}>
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
      <Field label={a('person.password')} hint={a('people.password.hint')}>
        <input
          type="password"
          autoComplete="new-password"
          value={values.password}
          onInput={event => set({ password: event.currentTarget.value })}
        />
      </Field>
      <Check checked={values.canLogIn} onChange={isChecked => set({ canLogIn: isChecked })}>
        {a('person.may-log-in')}
      </Check>
      <ProblemNotice problem={work.problem} />
    </Dialog>
  )
}
