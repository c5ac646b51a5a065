import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { a } from '../../i18n/admin.ts'
import { t } from '../../i18n/i18n.ts'
import { Trash2 } from '../../icons.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { Button, Input } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { ChangeForm } from '../../parts/forms.tsx'
import { useLoad, useWork } from '../../parts/load.ts'
import { type At, LoadingPage, Page, Section } from '../../parts/Page.tsx'
import { Notice } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import { useTyped } from '../../parts/typed.ts'
import {
  changeGroup,
  deleteGroup,
  type Group,
  groupPath,
  groups,
  isOpen,
  loadGroup,
} from '../../people/groups.ts'
import { nameOf, type Person, people, personPath, textOf } from '../../people/people.ts'
import { RulesOfGroup } from '../../people/SpecialGroups.tsx'
import { go, href } from '../../router.ts'
import { who } from '../../session.ts'
import { GroupTags } from './Groups.tsx'
import { Members } from './Members.tsx'
import { Opens } from './Opens.tsx'

/** One group: its name, its members, and its subgroups. */
export default function GroupPage({ parameters: { uuid = '' } }: At<'uuid'>): JSX.Element {
  const { value, problem, reload } = useLoad(signal => loadGroup(uuid, signal), [uuid, who.value])
  const [deleting, setDeleting] = useState(false)
  const crumbs = [[a('groups.title'), href('admin/groups')]] as const
  if (problem || !value)
    return <LoadingPage title={a('group.title')} crumbs={crumbs} problem={problem} retry={reload} />
  const mayChange = !isOpen(value)
  return (
    <Page
      title={value.name}
      crumbs={crumbs}
      lead={<GroupTags group={value} />}
      actions={
        mayChange &&
        !value.permanent &&
        !value.special && (
          <Button look="danger" icon={Trash2} label={t('delete')} onClick={() => setDeleting(true)} />
        )
      }
    >
      {!mayChange ? <Notice>{a('group.open.help')}</Notice> : <Sections group={value} onChange={reload} />}
      {deleting && (
        <Confirm
          title={a('group.delete.title', { name: value.name })}
          act={t('delete')}
          typed={{ label: a('confirm.typed', { word: value.name }), word: value.name }}
          onClose={() => setDeleting(false)}
          work={async () => {
            await deleteGroup(uuid)
            toast(a('group.deleted', { name: value.name }))
            go('admin/groups')
          }}
          help={a('group.delete.help')}
        />
      )}
    </Page>
  )
}

interface GroupParts {
  readonly group: Group
  readonly onChange: () => void
}

function Sections({ group, onChange }: GroupParts): JSX.Element {
  const { uuid } = group
  return (
    <>
      <Section title={a('group.about')}>
        <About group={group} onChange={onChange} />
      </Section>
      {group.special && (
        <Section title={a('special.who')}>
          <p class="soft prose">{a('special.help')}</p>
          <RulesOfGroup group={uuid} />
        </Section>
      )}
      <Section title={a('group.opens')} help={a('group.opens.help')}>
        <Opens group={group.name} />
      </Section>
      <Section title={a('group.members')} help={a('group.members.help')}>
        <Members<Person>
          isClosed={group.special}
          group={uuid}
          kind="epersons"
          search={`${people}/search/isNotMemberOf`}
          texts={{
            label: a('group.members'),
            find: a('group.members.find'),
            none: a('group.members.none'),
          }}
          nameOf={nameOf}
          noteOf={({ email }) => email}
          pathOf={person => personPath(person.uuid)}
        />
      </Section>
      <Section title={a('group.subgroups')} help={a('group.subgroups.help')}>
        <Members<Group>
          isClosed={group.special}
          group={uuid}
          kind="subgroups"
          search={`${groups}/search/isNotMemberOf`}
          texts={{
            label: a('group.subgroups'),
            find: a('group.subgroups.find'),
            none: a('group.subgroups.none'),
          }}
          nameOf={({ name }) => name}
          noteOf={({ metadata }) => textOf(metadata, 'dc.description')}
          pathOf={group => groupPath(group.uuid)}
        />
      </Section>
    </>
  )
}

function About({ group, onChange }: GroupParts): JSX.Element {
  const known = textOf(group.metadata, 'dc.description')
  const [name, setName] = useTyped(group.name)
  const [description, setDescription] = useTyped(known)
  const keepsName = group.permanent || group.special
  const isSame = name === group.name && description === known
  const work = useWork(async () => {
    await changeGroup(group.uuid, name === group.name ? undefined : name.trim(), description.trim())
    toast(a('saved'))
    onChange()
  })
  return (
    <ChangeForm isSame={isSame} work={work}>
      <div class="fields">
        <Field label={a('group.name')} {...(keepsName ? { hint: a('group.permanent.help') } : {})}>
          <Input required readOnly={keepsName} value={name} onText={setName} />
        </Field>
        <Field label={a('group.description')}>
          <Input value={description} onText={setDescription} />
        </Field>
      </div>
    </ChangeForm>
  )
}
