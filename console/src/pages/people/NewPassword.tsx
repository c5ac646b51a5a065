import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { a } from '../../i18n/admin.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { Field } from '../../parts/Field.tsx'
import { toast } from '../../parts/toast.tsx'
import { nameOf, type Person, setPassword } from './people.ts'

/** Sets somebody's password without knowing the one before. */
export function NewPassword({
  person,
  onClose,
}: {
  readonly person: Person
  readonly onClose: () => void
}): JSX.Element {
  const [password, setTyped] = useState('')
  return (
    <Confirm
      tone="primary"
      title={a('person.set-password')}
      act={a('person.set-password')}
      onClose={onClose}
      work={async () => {
        await setPassword(person.uuid, password)
        toast(a('person.password.set', { name: nameOf(person) }))
      }}
    >
      <p class="soft">{a('person.set-password.help', { name: nameOf(person) })}</p>
      <Field label={a('person.password.new')} hint={a('person.password.rules')}>
        <input
          type="password"
          required
          minLength={8}
          autoComplete="new-password"
          value={password}
          onInput={event => setTyped(event.currentTarget.value)}
        />
      </Field>
    </Confirm>
  )
}
