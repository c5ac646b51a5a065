import type { JSX } from 'preact'
import { a } from '../i18n/admin.ts'
import { Button } from '../parts/controls.tsx'
import { Finder } from '../parts/Finder.tsx'
import { nameOf, type Person, people } from './people.ts'

interface Parts {
  readonly person: Person | undefined
  readonly onChange: (person: Person | undefined) => void
}

/** Finds a person to choose, or shows the chosen one. */
export const ChosenPerson = ({ person, onChange }: Parts): JSX.Element =>
  person ? (
    <p>
      {a('rule.person', { name: person.email })}{' '}
      <Button look="link" label={a('change')} onClick={() => onChange(undefined)} />
    </p>
  ) : (
    <Finder<Person>
      label={a('people.search')}
      path={`${people}/search/byMetadata`}
      nameOf={nameOf}
      noteOf={({ email }) => email}
      idOf={one => one.uuid}
      onChoose={onChange}
    />
  )
