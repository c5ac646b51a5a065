import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { DataRecord } from '../../entities.ts'
import { a, aOf } from '../../i18n/admin.ts'
import { formatTime } from '../../i18n/i18n.ts'
import { Library, Plus, Upload } from '../../icons.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { Button, Check, Input, LinkButton, NameLink } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { useLoad } from '../../parts/load.ts'
import { Page } from '../../parts/Page.tsx'
import { AddressPager } from '../../parts/Pager.tsx'
import { AddressSearch } from '../../parts/SearchBox.tsx'
import { Empty, Pending, Progress } from '../../parts/states.tsx'
import { type Column, type Order, Table } from '../../parts/Table.tsx'
import { cut } from '../../parts/Value.tsx'
import { readersInWords } from '../../people/rules.ts'
import { itemPath } from '../../records/items.ts'
import { go, query, setQuery } from '../../router.ts'
import { who } from '../../session.ts'
import { addItem, findItems } from './items.ts'
import { Several } from './Several.tsx'

const size = 50

/** Columns that items can be sorted by. */
const sortable: readonly string[] = ['title', 'identifier', 'modified']

const usualOrder: Order = { field: 'modified', order: 'desc' }

function orderIn(text: string | null): Order {
  const field = (text ?? '').replace(/^-/, '')
  return sortable.includes(field) ? { field, order: text?.startsWith('-') ? 'desc' : 'asc' } : usualOrder
}

interface Choice {
  readonly chosen: ReadonlySet<string>
  readonly all: readonly string[]
  readonly choose: (uuids: readonly string[], isChosen: boolean) => void
}

const columns = ({ chosen, all, choose }: Choice): readonly Column<DataRecord>[] => [
  {
    id: 'chosen',
    label: (
      <input
        type="checkbox"
        aria-label={a('several.all')}
        checked={all.every(uuid => chosen.has(uuid))}
        onChange={event => choose(all, event.currentTarget.checked)}
      />
    ),
    cell: ({ uuid, title, identifier }) => (
      <input
        type="checkbox"
        aria-label={a('several.choose', { name: cut(String(title ?? identifier), 100) })}
        checked={chosen.has(String(uuid))}
        onChange={event => choose([String(uuid)], event.currentTarget.checked)}
      />
    ),
  },
  {
    id: 'title',
    label: a('item.title'),
    wrap: true,
    sortable: true,
    cell: ({ uuid, title, withdrawn, discoverable }) => (
      <>
        <NameLink
          to={itemPath(String(uuid))}
          name={title === null ? a('item.untitled') : cut(String(title), 200)}
        />{' '}
        <StateTags withdrawn={withdrawn === true} discoverable={discoverable !== false} />
      </>
    ),
  },
  {
    id: 'identifier',
    label: a('item.identifier'),
    sortable: true,
    cell: ({ identifier }) => <bdi>{cut(String(identifier), 60)}</bdi>,
  },
  {
    id: 'readers',
    label: a('item.readers'),
    cell: ({ readers }) => <bdi>{inWords(readers)}</bdi>,
  },
  {
    id: 'modified',
    label: a('item.modified'),
    sortable: true,
    cell: ({ modified }) => formatTime(String(modified)),
  },
]

/** A rule for readers as the service returns it. */
interface Rule {
  readonly reader: string
  readonly from?: string
  readonly until?: string
}

const ruleOf = ({ reader, from, until }: Rule) =>
  [reader, from && `from:${from}`, until && `until:${until}`].filter(Boolean).join(' ')

function inWords(readers: unknown): string {
  const rules = Array.isArray(readers) ? readers : []
  return rules.length === 0
    ? aOf('role', 'admin')
    : rules.map(rule => readersInWords(ruleOf(rule as Rule))).join('; ')
}

interface Parts {
  readonly withdrawn: boolean
  readonly discoverable: boolean
}

export const StateTags = ({ withdrawn, discoverable }: Parts): JSX.Element => (
  <>
    {withdrawn && <span class="tag bad">{a('item.withdrawn')}</span>}{' '}
    {!discoverable && <span class="tag warn">{a('item.hidden')}</span>}
  </>
)

/** All items, for their administration. */
export default function Items(): JSX.Element {
  const [adding, setAdding] = useState(false)
  const text = query.value.get('q') ?? ''
  const withdrawn = query.value.get('withdrawn') === '1'
  const order = orderIn(query.value.get('sort'))
  const page = Math.max(1, Math.trunc(Number(query.value.get('page'))) || 1)
  const { value, problem, loading, reload } = useLoad(
    signal => findItems({ text, withdrawn, order: [order], page, size }, signal),
    [text, withdrawn, order.field, order.order, page, who.value],
  )
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const all = value?.records.map(({ uuid }) => String(uuid)) ?? []
  const choice: Choice = {
    chosen,
    all,
    choose: (uuids, isChosen) =>
      setChosen(new Set(isChosen ? [...chosen, ...uuids] : [...chosen].filter(one => !uuids.includes(one)))),
  }
  return (
    <Page
      title={a('items.title')}
      lead={a('items.lead')}
      actions={
        <>
          <LinkButton icon={Upload} label={a('ingest.do')} to={'admin/ingest'} />
          <Button look="primary" icon={Plus} label={a('items.add')} onClick={() => setAdding(true)} />
        </>
      }
    >
      <div class="toolbar">
        <AddressSearch label={a('items.search')} />
        <Check
          label={a('items.withdrawn')}
          checked={withdrawn}
          onChange={isChecked => setQuery({ withdrawn: isChecked ? '1' : null, page: null })}
        />
      </div>
      <Progress busy={loading && value !== undefined} />
      {problem || !value ? (
        <Pending problem={problem} retry={reload} />
      ) : value.total === 0 ? (
        <Empty icon={Library} title={a('items.none')} help={a('items.none.help')} />
      ) : (
        <div>
          <Several
            // Items chosen on another page can't be seen, so actions leave them alone.
            chosen={value.records.filter(({ uuid }) => chosen.has(String(uuid)))}
            onDone={failed => {
              setChosen(failed)
              reload()
            }}
          />
          <Table
            label={a('items.title')}
            columns={columns(choice)}
            order={[order]}
            onOrder={([next = usualOrder]) =>
              setQuery({ sort: `${next.order === 'desc' ? '-' : ''}${next.field}`, page: null })
            }
            rows={value.records}
            idOf={({ uuid }) => String(uuid)}
            pathOf={({ uuid }) => itemPath(String(uuid))}
            whole
          />
          <AddressPager page={page} size={size} total={value.total} />
        </div>
      )}
      {adding && <AddItem onClose={() => setAdding(false)} />}
    </Page>
  )
}

function AddItem({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const [title, setTitle] = useState('')
  return (
    <Confirm
      tone="primary"
      title={a('items.add')}
      act={a('items.add')}
      onClose={onClose}
      work={async () => {
        const { uuid } = await addItem(title.trim())
        go(itemPath(uuid))
      }}
    >
      <p class="soft">{a('items.add.help')}</p>
      <Field label={a('item.title')}>
        <Input required value={title} autoComplete="off" onText={setTitle} />
      </Field>
    </Confirm>
  )
}
