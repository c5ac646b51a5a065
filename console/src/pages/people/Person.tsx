import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { a } from '../../i18n/admin.ts'
import { formatTime, t } from '../../i18n/i18n.ts'
import { Button, Input } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { ChangeForm } from '../../parts/forms.tsx'
import { HalTable } from '../../parts/HalTable.tsx'
import { useLoad, useWork } from '../../parts/load.ts'
import { type At, LoadingPage, Page, Section } from '../../parts/Page.tsx'
import { toast } from '../../parts/toast.tsx'
import { useTyped } from '../../parts/typed.ts'
import {
  type AccessToken,
  changePerson,
  loadHasPassword,
  loadPerson,
  nameOf,
  type Person,
  textOf,
  tokensOf,
  useLocalWarning,
} from '../../people/people.ts'
import { RevokeToken } from '../../people/RevokeToken.tsx'
import { SpecialGroupsOf } from '../../people/SpecialGroups.tsx'
import { href } from '../../router.ts'
import { who } from '../../session.ts'
import { AccessView } from './AccessView.tsx'
import { FactorsOf } from './FactorsOf.tsx'
import { IdentitiesOf } from './LinkIdentity.tsx'
import { LoginState } from './People.tsx'
import { PersonActions } from './PersonActions.tsx'

/** One eperson: their data, and the actions on their account. */
export default function PersonPage({ parameters: { uuid = '' } }: At<'uuid'>): JSX.Element {
  const { value, problem, reload } = useLoad(signal => loadPerson(uuid, signal), [uuid, who.value])
  const { value: password } = useLoad(signal => loadHasPassword(uuid, signal), [value])
  const crumbs = [[a('people.title'), href('admin/people')]] as const
  if (problem || !value)
    return <LoadingPage title={a('person.title')} crumbs={crumbs} problem={problem} retry={reload} />
  return (
    <Page
      title={nameOf(value)}
      crumbs={crumbs}
      lead={
        <>
          <bdi>{value.email}</bdi> <LoginState person={value} />{' '}
          {password === false && <span class="tag">{a('person.no-password')}</span>}
        </>
      }
      actions={<PersonActions person={value} onChange={reload} />}
    >
      <Section title={a('person.profile')}>
        <Profile person={value} onChange={reload} />
      </Section>
      <AccessView person={value} />
      <SpecialGroupsOf person={uuid} />
      <IdentitiesOf person={value} />
      <FactorsOf person={value} />
      <Section title={a('tokens.title')}>
        <Tokens uuid={uuid} />
      </Section>
      <p>
        <a href={href(`admin/audit?person=${uuid}`)}>{a('person.trail')}</a>
      </p>
    </Page>
  )
}

interface Parts {
  readonly person: Person
  readonly onChange: () => void
}

function Profile({ person, onChange }: Parts): JSX.Element {
  const start = {
    email: person.email,
    firstName: textOf(person.metadata, 'eperson.firstname'),
    lastName: textOf(person.metadata, 'eperson.lastname'),
  }
  const [values, setValues] = useTyped(start)
  const isSame = JSON.stringify(values) === JSON.stringify(start)
  const work = useWork(async () => {
    await changePerson(person, { ...values, email: values.email.trim() })
    toast(a('saved'))
    onChange()
  })
  const { submit, fault } = useLocalWarning(values.email, work.run, person.email)
  const input = (name: keyof typeof values, label: string, type: 'text' | 'email' = 'text') => (
    <Field label={label} fault={type === 'email' ? fault : undefined}>
      <Input
        type={type as 'email'}
        required={type === 'email'}
        autoComplete="off"
        value={values[name]}
        onText={text => setValues({ ...values, [name]: text })}
      />
    </Field>
  )
  return (
    <ChangeForm isSame={isSame} work={work} onSubmit={submit}>
      <div class="fields">
        {input('firstName', a('person.first'))}
        {input('lastName', a('person.last'))}
        {input('email', a('person.email'), 'email')}
      </div>
    </ChangeForm>
  )
}

/** The access tokens of a person. */
function Tokens({ uuid }: { readonly uuid: string }): JSX.Element {
  const [leaving, setLeaving] = useState<AccessToken>()
  const [version, setVersion] = useState(0)
  return (
    <>
      <HalTable<AccessToken>
        label={a('tokens.title')}
        path={tokensOf(uuid)}
        name="tokens"
        version={version}
        columns={[
          { id: 'name', label: a('tokens.name'), cell: ({ name }) => <bdi>{name}</bdi> },
          { id: 'expires', label: a('tokens.expires'), cell: ({ expires }) => formatTime(expires) },
          {
            id: 'revoke',
            label: <span class="sr-only">{a('actions')}</span>,
            cell: token => (
              <Button look="danger-link" label={a('tokens.revoke')} onClick={() => setLeaving(token)} />
            ),
          },
        ]}
        idOf={({ id }) => id}
        empty={<p class="soft">{t('none')}</p>}
      />
      {leaving && (
        <RevokeToken
          eperson={uuid}
          token={leaving}
          onClose={() => setLeaving(undefined)}
          onRevoked={() => setVersion(version + 1)}
        />
      )}
    </>
  )
}
