import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { a } from '../../i18n/admin.ts'
import { t } from '../../i18n/i18n.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { Button, NameLink } from '../../parts/controls.tsx'
import { Finder } from '../../parts/Finder.tsx'
import { HalTable } from '../../parts/HalTable.tsx'
import { toast } from '../../parts/toast.tsx'
import { addMember, addressOf, type Kind, removeMember } from '../../people/groups.ts'

interface Parts<Row> {
  readonly group: string
  readonly kind: Kind
  /** Path of the search for candidates. */
  readonly search: string
  readonly texts: { readonly label: string; readonly find: string; readonly none: string }
  readonly nameOf: (row: Row) => string
  readonly noteOf: (row: Row) => string
  readonly pathOf: (row: Row) => string
  /** True if members can't be added by hand. */
  readonly isClosed: boolean
}

/** The direct members of a group, and a way to add others. */
export function Members<Row extends { readonly uuid: string }>(parts: Parts<Row>): JSX.Element {
  const { group, kind, search, texts, nameOf, noteOf, pathOf, isClosed } = parts
  const [version, setVersion] = useState(0)
  const [leaving, setLeaving] = useState<Row>()
  const again = () => setVersion(one => one + 1)
  return (
    <>
      {!isClosed && (
        <Finder<Row>
          label={texts.find}
          path={search}
          parameters={{ group }}
          nameOf={nameOf}
          noteOf={noteOf}
          idOf={({ uuid }) => uuid}
          onChoose={async row => {
            await addMember(group, kind, row.uuid)
            toast(a('group.joined', { name: nameOf(row) }))
            again()
          }}
        />
      )}
      <HalTable<Row>
        label={texts.label}
        path={`${addressOf(group)}/${kind}`}
        name={kind}
        version={version}
        size={25}
        idOf={({ uuid }) => uuid}
        pathOf={pathOf}
        empty={<p class="soft">{texts.none}</p>}
        columns={[
          {
            id: 'name',
            label: a('group.name'),
            cell: row => <NameLink to={pathOf(row)} name={nameOf(row)} />,
          },
          { id: 'note', label: a('details'), cell: row => <bdi>{noteOf(row)}</bdi> },
          {
            id: 'remove',
            label: <span class="sr-only">{a('actions')}</span>,
            cell: row => (
              <Button look="link" label={t('remove')} of={nameOf(row)} onClick={() => setLeaving(row)} />
            ),
          },
        ]}
      />
      {leaving && (
        <Confirm
          title={a('group.leave.title', { name: nameOf(leaving) })}
          act={t('remove')}
          onClose={() => setLeaving(undefined)}
          work={async () => {
            await removeMember(group, kind, leaving.uuid)
            toast(a('group.left', { name: nameOf(leaving) }))
            again()
          }}
          help={a('group.leave.help')}
        />
      )}
    </>
  )
}
