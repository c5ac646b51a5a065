import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { a } from '../../i18n/admin.ts'
import { formatTime, t } from '../../i18n/i18n.ts'
import { Archive, ArchiveRestore, Eye, EyeOff, Trash2 } from '../../icons.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { LinkButton } from '../../parts/controls.tsx'
import { Facts } from '../../parts/Facts.tsx'
import { useLoad } from '../../parts/load.ts'
import { Menu, MenuEntries } from '../../parts/Menu.tsx'
import { type At, LoadingPage, Page, Section } from '../../parts/Page.tsx'
import { toast } from '../../parts/toast.tsx'
import { cut } from '../../parts/Value.tsx'
import { go, href } from '../../router.ts'
import { who } from '../../session.ts'
import { Files } from './Files.tsx'
import { StateTags } from './Items.tsx'
import { deleteItem, type Item, loadItem, setState } from './items.ts'
import { MetadataEditor } from './MetadataEditor.tsx'
import { Policies } from './Policies.tsx'

/** One item: its metadata, its files, and its policies. */
export default function ItemAdmin({ parameters: { uuid = '' } }: At<'uuid'>): JSX.Element {
  const { value, problem, reload } = useLoad(signal => loadItem(uuid, signal), [uuid, who.value])
  const crumbs = [[a('items.title'), href('admin/items')]] as const
  if (problem || !value)
    return <LoadingPage title={a('item.page')} crumbs={crumbs} problem={problem} retry={reload} />
  const { item } = value
  return (
    <Page
      title={cut(item.name ?? a('item.untitled'), 300)}
      crumbs={crumbs}
      lead={<StateTags withdrawn={item.withdrawn} discoverable={item.discoverable} />}
      actions={<Actions item={item} onChange={reload} />}
    >
      <Facts
        of={[
          [a('item.identifier'), <bdi>{item.handle}</bdi>],
          ['UUID', <code>{item.uuid}</code>],
          [a('item.modified'), formatTime(item.lastModified)],
        ]}
      />
      <Section title={a('item.metadata')}>
        <MetadataEditor tagged={value} onChange={reload} />
      </Section>
      <Section title={a('files.title')}>
        <Files item={uuid} />
      </Section>
      <Section title={a('policies.title')}>
        <Policies object={uuid} isItem />
      </Section>
    </Page>
  )
}

type Open = 'withdraw' | 'delete'

function Actions({ item, onChange }: { readonly item: Item; readonly onChange: () => void }): JSX.Element {
  const [open, setOpen] = useState<Open>()
  const { uuid, withdrawn, discoverable } = item
  const name = cut(item.name ?? item.handle, 80)
  const hide = async () => {
    try {
      await setState(uuid, '/discoverable', !discoverable)
      toast(a('saved'))
      onChange()
    } catch (error) {
      toast(error instanceof Error ? error.message : t('failed'), 'bad')
    }
  }
  return (
    <>
      <LinkButton icon={Eye} label={a('item.show')} to={`items/${uuid}`} />
      <Menu arrow={15} button={a('actions')}>
        {close => (
          <MenuEntries
            close={close}
            of={[
              [
                withdrawn ? a('item.reinstate') : a('item.withdraw'),
                () => setOpen('withdraw'),
                withdrawn ? ArchiveRestore : Archive,
              ],
              [discoverable ? a('item.hide') : a('item.unhide'), hide, discoverable ? EyeOff : Eye],
              [a('item.delete'), () => setOpen('delete'), Trash2],
            ]}
          />
        )}
      </Menu>
      {open === 'withdraw' && (
        <Confirm
          title={withdrawn ? a('item.reinstate') : a('item.withdraw')}
          act={withdrawn ? a('item.reinstate') : a('item.withdraw')}
          tone={!withdrawn ? 'danger' : 'primary'}
          onClose={() => setOpen(undefined)}
          work={async () => {
            await setState(uuid, '/withdrawn', !withdrawn)
            toast(a('saved'))
            onChange()
          }}
          help={withdrawn ? a('item.reinstate.help') : a('item.withdraw.help')}
        />
      )}
      {open === 'delete' && (
        <Confirm
          title={a('item.delete.title', { name })}
          act={a('item.delete')}
          typed={{ label: a('confirm.typed', { word: item.handle }), word: item.handle }}
          onClose={() => setOpen(undefined)}
          work={async () => {
            await deleteItem(uuid)
            toast(a('item.deleted'))
            go('admin/items')
          }}
          help={a('item.delete.help')}
        />
      )}
    </>
  )
}
