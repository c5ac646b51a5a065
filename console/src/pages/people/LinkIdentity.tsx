import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { a } from '../../i18n/admin.ts'
import { Link } from '../../icons.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { Button, Input } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { useLoad } from '../../parts/load.ts'
import { Section } from '../../parts/Page.tsx'
import { toast } from '../../parts/toast.tsx'
import { Identities } from '../../people/Identities.tsx'
import { link, loadProviders, type Provider } from '../../people/logins.ts'
import { ProviderSelect } from '../../people/ProviderSelect.tsx'
import { nameOf, type Person } from '../../people/people.ts'

/** A person's identities at providers of single sign-on. Renders nothing if there are no providers. */
export function IdentitiesOf({ person }: { readonly person: Person }): JSX.Element | null {
  const { value: providers = [] } = useLoad(loadProviders, [])
  const [linking, setLinking] = useState(false)
  const [version, setVersion] = useState(0)
  if (providers.length === 0) return null
  return (
    <Section title={a('identities.title')}>
      <Identities person={person.uuid} changed={version} />
      <div>
        <Button icon={Link} label={a('identities.link')} onClick={() => setLinking(true)} />
      </div>
      {linking && (
        <LinkForm
          person={person}
          providers={providers}
          onClose={() => setLinking(false)}
          onLinked={() => setVersion(version + 1)}
        />
      )}
    </Section>
  )
}

interface Parts {
  readonly person: Person
  readonly providers: readonly Provider[]
  readonly onClose: () => void
  readonly onLinked: () => void
}

function LinkForm({ person, providers, onClose, onLinked }: Parts): JSX.Element {
  const [chosen, setChosen] = useState(providers[0]?.id ?? '')
  const [subject, setSubject] = useState('')
  const [entityId, setEntityId] = useState('')
  const provider = providers.find(({ id }) => id === chosen)
  return (
    <Confirm
      tone="primary"
      title={a('identities.link.title', { name: nameOf(person) })}
      act={a('identities.link')}
      onClose={onClose}
      work={async () => {
        await link(person.uuid, chosen, {
          subject: subject.trim(),
          ...(provider?.federation ? { entityId: entityId.trim() } : {}),
        })
        toast(a('identities.linked.said', { name: nameOf(person), provider: provider?.name ?? chosen }))
        onLinked()
      }}
    >
      <p>{a('identities.link.help')}</p>
      <Field label={a('explain.provider')}>
        <ProviderSelect providers={providers} value={chosen} onChoose={setChosen} />
      </Field>
      {provider?.federation && (
        <Field label={a('explain.entity-id')} hint={a('identities.entity-id.hint')}>
          <Input required value={entityId} spellcheck={false} autoComplete="off" onText={setEntityId} />
        </Field>
      )}
      <Field label={a('explain.subject')} hint={a('identities.subject.hint')}>
        <Input
          required
          value={subject}
          spellcheck={false}
          autoComplete="off"
          maxLength={1024}
          onText={setSubject}
        />
      </Field>
    </Confirm>
  )
}
