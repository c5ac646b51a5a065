import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { a } from '../../i18n/admin.ts'
import { Plus, Users } from '../../icons.ts'
import { Button, NameLink } from '../../parts/controls.tsx'
import { HalTable } from '../../parts/HalTable.tsx'
import { Page } from '../../parts/Page.tsx'
import { AddressSearch } from '../../parts/SearchBox.tsx'
import { Empty } from '../../parts/states.tsx'
import type { Column } from '../../parts/Table.tsx'
import { nameOf, type Person, people, personPath } from '../../people/people.ts'
import { query } from '../../router.ts'
import { AddPerson } from './AddPerson.tsx'

const columns = (): readonly Column<Person>[] => [
  {
    id: 'name',
    label: a('person.name'),
    cell: person => <NameLink to={personPath(person.uuid)} name={nameOf(person)} />,
  },
  { id: 'email', label: a('person.email'), cell: ({ email }) => <bdi>{email}</bdi> },
  { id: 'state', label: a('person.state'), cell: person => <LoginState person={person} /> },
  {
    id: 'standing',
    label: a('person.standing'),
    cell: ({ administrator, hasPassword, factors = [] }) => (
      <span class="row">
        {administrator && <span class="tag warn">{a('person.administrator')}</span>}
        {factors.map(kind => (
          <span key={kind} class="tag good">
            {a(`person.has.${kind}`)}
          </span>
        ))}
        {hasPassword === false && <span class="tag">{a('person.no-password')}</span>}
      </span>
    ),
  },
]

export const LoginState = ({ person: { canLogIn } }: { readonly person: Person }): JSX.Element => (
  <span class={`tag ${canLogIn ? 'good' : 'warn'}`}>
    {canLogIn ? a('person.enabled') : a('person.disabled')}
  </span>
)

/** All epersons. */
export default function People(): JSX.Element {
  const [adding, setAdding] = useState(false)
  const text = query.value.get('q') ?? ''
  return (
    <Page
      title={a('people.title')}
      lead={a('people.lead')}
      actions={<Button look="primary" icon={Plus} label={a('people.add')} onClick={() => setAdding(true)} />}
    >
      <div class="toolbar">
        <AddressSearch label={a('people.search')} />
      </div>
      <HalTable<Person>
        label={a('people.title')}
        path={`${people}/search/byMetadata`}
        parameters={{ query: text }}
        columns={columns()}
        idOf={({ uuid }) => uuid}
        pathOf={({ uuid }) => personPath(uuid)}
        empty={<Empty icon={Users} title={a('people.none')} help={a('people.none.help')} />}
      />
      {adding && <AddPerson onClose={() => setAdding(false)} />}
    </Page>
  )
}
