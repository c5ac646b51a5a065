import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { a } from '../../i18n/admin.ts'
import { Plus, UsersRound } from '../../icons.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { Button, Input, NameLink } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { HalTable } from '../../parts/HalTable.tsx'
import { Page } from '../../parts/Page.tsx'
import { AddressSearch } from '../../parts/SearchBox.tsx'
import { Empty } from '../../parts/states.tsx'
import type { Column } from '../../parts/Table.tsx'
import { toast } from '../../parts/toast.tsx'
import { addGroup, type Group, groupPath, groups, isOpen } from '../../people/groups.ts'
import { textOf } from '../../people/people.ts'
import { go, query } from '../../router.ts'

const columns = (): readonly Column<Group>[] => [
  {
    id: 'name',
    label: a('group.name'),
    cell: group => (
      <>
        <NameLink to={groupPath(group.uuid)} name={group.name} /> <GroupTags group={group} />
      </>
    ),
  },
  {
    id: 'description',
    label: a('group.description'),
    wrap: true,
    cell: ({ metadata }) => <bdi>{textOf(metadata, 'dc.description')}</bdi>,
  },
]

export const GroupTags = ({ group }: { readonly group: Group }): JSX.Element | null =>
  group.permanent ? (
    <span class="tag">{a('group.permanent')}</span>
  ) : isOpen(group) ? (
    <span class="tag warn">{a('group.open')}</span>
  ) : group.special ? (
    <span class="tag">{a('group.special')}</span>
  ) : null

export default function Groups(): JSX.Element {
  const [adding, setAdding] = useState(false)
  return (
    <Page
      title={a('groups.title')}
      lead={a('groups.lead')}
      actions={<Button look="primary" icon={Plus} label={a('groups.add')} onClick={() => setAdding(true)} />}
    >
      <div class="toolbar">
        <AddressSearch label={a('groups.search')} />
      </div>
      <HalTable<Group>
        label={a('groups.title')}
        path={`${groups}/search/byMetadata`}
        parameters={{ query: query.value.get('q') ?? '' }}
        columns={columns()}
        idOf={({ uuid }) => uuid}
        pathOf={({ uuid }) => groupPath(uuid)}
        empty={<Empty icon={UsersRound} title={a('groups.none')} help={a('groups.none.help')} />}
      />
      {adding && <AddGroup onClose={() => setAdding(false)} />}
    </Page>
  )
}

function AddGroup({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  return (
    <Confirm
      tone="primary"
      title={a('groups.add')}
      act={a('groups.add')}
      onClose={onClose}
      work={async () => {
        const { uuid } = await addGroup(name.trim(), description.trim())
        toast(a('groups.added', { name }))
        go(groupPath(uuid))
      }}
    >
      <Field label={a('group.name')}>
        <Input required value={name} autoComplete="off" onText={setName} />
      </Field>
      <Field label={a('group.description')}>
        <Input value={description} autoComplete="off" onText={setDescription} />
      </Field>
    </Confirm>
  )
}
