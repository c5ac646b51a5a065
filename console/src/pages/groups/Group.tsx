import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { a } from '../../i18n/admin.ts'
import { t } from '../../i18n/i18n.ts'
import { Trash2 } from '../../icons.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { Field } from '../../parts/Field.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { useLoad, useWork } from '../../parts/load.ts'
import { Page } from '../../parts/Page.tsx'
import { Loading, Notice, ProblemNotice, ProblemView } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import { useTyped } from '../../parts/typed.ts'
import { go, href } from '../../router.ts'
import { who } from '../../session.ts'
import { nameOf, type Person, people, personPath, textOf } from '../people/people.ts'
import { GroupTags } from './Groups.tsx'
import { changeGroup, deleteGroup, type Group, groupPath, groups, isOpen, loadGroup } from './groups.ts'
import { Members } from './Members.tsx'
import { Opens } from './Opens.tsx'
import { RulesOfGroup } from './SpecialGroups.tsx'

/** One group: its name, its members, and its subgroups. */
function GroupPage({
  parameters: { uuid = '' },
}: {
  readonly parameters: { readonly uuid?: string }
}): JSX.Element {
  const { value, problem, reload } = useLoad(signal => loadGroup(uuid, signal), [uuid, who.value])
  const [deleting, setDeleting] = useState(false)
  const crumbs = [[a('groups.title'), href('admin/groups')]] as const
  if (problem || !value)
    return (
      <Page title={a('group.title')} crumbs={crumbs}>
        {problem ? <ProblemView problem={problem} retry={reload} /> : <Loading />}
      </Page>
    )
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
          <button type="button" class="button danger" onClick={() => setDeleting(true)}>
            <Icon of={Trash2} />
            {t('delete')}
          </button>
        )
      }
    >
      {!mayChange ? (
        <Notice>{a('group.open.help')}</Notice>
      ) : (
        <>
          <section class="section">
            <h2>{a('group.about')}</h2>
            <About group={value} onChange={reload} />
          </section>
          {value.special && (
            <section class="section">
              <h2>{a('special.who')}</h2>
              <p class="soft prose">{a('special.help')}</p>
              <RulesOfGroup group={uuid} />
            </section>
          )}
          <section class="section">
            <h2>{a('group.opens')}</h2>
            <p class="soft">{a('group.opens.help')}</p>
            <Opens group={value.name} />
          </section>
          <section class="section">
            <h2>{a('group.members')}</h2>
            <p class="soft">{a('group.members.help')}</p>
            <Members<Person>
              isClosed={value.special}
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
          </section>
          <section class="section">
            <h2>{a('group.subgroups')}</h2>
            <p class="soft">{a('group.subgroups.help')}</p>
            <Members<Group>
              isClosed={value.special}
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
          </section>
        </>
      )}
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
        >
          <p>{a('group.delete.help')}</p>
        </Confirm>
      )}
    </Page>
  )
}

function About({ group, onChange }: { readonly group: Group; readonly onChange: () => void }): JSX.Element {
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
    <form
      class="stack form"
      onSubmit={event => {
        event.preventDefault()
        if (!isSame) work.run()
      }}
    >
      <div class="fields">
        <Field label={a('group.name')} {...(keepsName ? { hint: a('group.permanent.help') } : {})}>
          <input
            required
            readOnly={keepsName}
            value={name}
            onInput={event => setName(event.currentTarget.value)}
          />
        </Field>
        <Field label={a('group.description')}>
          <input value={description} onInput={event => setDescription(event.currentTarget.value)} />
        </Field>
      </div>
      <ProblemNotice problem={work.problem} />
      <div>
        <button type="submit" class="button primary" aria-disabled={isSame} aria-busy={work.busy}>
          {t('save')}
        </button>
      </div>
    </form>
  )
}

export default GroupPage
