import type { JSX } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import {
  type DataRecord,
  type Entity,
  isSortable,
  keyOf,
  keyPath,
  recordPath,
  writes,
} from '../../entities.ts'
import { t, tOf } from '../../i18n/i18n.ts'
import { Ellipsis, ListFilter, SlidersHorizontal } from '../../icons.ts'
import { Button } from '../../parts/controls.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { useLoad } from '../../parts/load.ts'
import { AddressPager } from '../../parts/Pager.tsx'
import { SearchBox } from '../../parts/SearchBox.tsx'
import { Empty, Loading, ProblemView, Progress } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/Table.tsx'
import { FieldName, Value } from '../../parts/Value.tsx'
import { FilterPanel } from '../../query/FilterPanel.tsx'
import { QueryFault } from '../../query/QueryFault.tsx'
import { Refused } from '../../query/refused.ts'
import { joined, requirementsOf, searchedIn, withSearch } from '../../query/requirements.ts'
import { hasWord } from '../../records/search.ts'
import {
  addRemembered,
  loadRecords,
  showCondition,
  showOrder,
  usualSize,
  type View,
  viewOf,
} from '../../records/view.ts'
import { nameOf, rounds, writtenSince } from '../../records/writing.ts'
import { href, query, setQuery } from '../../router.ts'
import { who } from '../../session.ts'
import { recall, remember } from '../../settings.ts'
import { step } from '../../tour.ts'
import { Applied } from './Applied.tsx'
import { ChangedRecords } from './ChangedRecords.tsx'
import { headOf } from './ColumnHead.tsx'
import { Columns } from './Columns.tsx'
import { EditButtons, isEdited } from './EditButtons.tsx'
import { EditTable } from './EditTable.tsx'
import { Facets } from './Facets.tsx'
import { Sorting } from './Sorting.tsx'

export function Records({ entity }: { readonly entity: Entity }): JSX.Element {
  const view = viewOf(entity)
  const { condition } = view
  const asked = ['q', 'sort', 'page', 'size'].map(name => query.value.get(name))
  const [visit, setVisit] = useState(0)
  // All pages of a visit show the state of the first one, until something is written here.
  const pin: { snapshot: string | undefined } = useMemo(
    () => ({ snapshot: undefined }),
    [entity.name, who.value, writes.value, visit],
  )
  const loaded = useLoad(
    async signal => {
      const since = writes.peek()
      const page = await loadRecords(entity, view, signal, pin.snapshot)
      pin.snapshot = page.snapshot
      return { ...page, since }
    },
    [entity.name, who.value, rounds.value, visit, ...asked],
  )
  const { problem } = loaded
  useEffect(() => addRemembered(entity), [entity.name, query.value])
  const [chosen, setOpen] = useState<boolean>()
  // A link with a condition shows its records at once. The panel opens if the condition is wrong, or during
  // the tour.
  const open = chosen ?? (condition !== '' && (problem instanceof Refused || step.value !== undefined))
  const all = requirementsOf(condition, entity.fields)
  const facets = useFacetsOpen()
  return (
    <section class="stack" aria-busy={loaded.loading}>
      <Progress busy={loaded.loading && loaded.value !== undefined} />
      <Toolbar
        entity={entity}
        view={view}
        all={all}
        facets={facets}
        isFiltering={open}
        onFilter={() => setOpen(!open)}
      />
      {condition !== '' && !open && <Applied entity={entity} condition={condition} />}
      <div id="filter" hidden={!open}>
        {open && (
          <FilterPanel entity={entity} condition={condition} problem={problem} onApply={showCondition} />
        )}
      </div>
      {loaded.value?.snapshot !== undefined && (
        <ChangedRecords
          entity={entity}
          snapshot={loaded.value.snapshot}
          since={loaded.value.since}
          onShow={() => setVisit(visit + 1)}
        />
      )}
      <div class={`explore ${all && facets.isOpen && facets.isBeside ? 'with-facets' : ''}`}>
        {all && facets.isOpen && facets.isBeside && (
          <section class="facets-beside" aria-label={t('facets')}>
            <Facets entity={entity} all={all} isBeside />
          </section>
        )}
        <Shown entity={entity} view={view} isFiltering={open} {...loaded} />
      </div>
      {all && facets.isOpen && !facets.isBeside && (
        <Dialog title={t('facets')} onClose={() => facets.open(false)}>
          <Facets entity={entity} all={all} isBeside={false} />
        </Dialog>
      )}
    </section>
  )
}

interface ToolbarParts {
  readonly entity: Entity
  readonly view: View
  readonly all: ReturnType<typeof requirementsOf>
  readonly facets: ReturnType<typeof useFacetsOpen>
  readonly isFiltering: boolean
  readonly onFilter: () => void
}

function Toolbar({ entity, view, all, facets, isFiltering, onFilter }: ToolbarParts): JSX.Element {
  const [hasTools, setTools] = useState(false)
  return (
    <div class="toolbar tools">
      {all && isSearchable(entity) && (
        <SearchBox
          label={t('entity.search')}
          value={searchedIn(all)}
          onSearch={words =>
            showCondition(joined(withSearch(all, hasWord(words) ? words.trim() : '')), { replace: true })
          }
        />
      )}
      <Button
        icon={Ellipsis}
        class="button icon more"
        aria-expanded={hasTools}
        aria-label={t('entity.tools')}
        title={t('entity.tools')}
        onClick={() => setTools(!hasTools)}
      />
      {all && (
        <Button
          icon={SlidersHorizontal}
          label={t('facets')}
          aria-expanded={facets.isOpen}
          onClick={() => facets.open(!facets.isOpen)}
        />
      )}
      <Button
        icon={ListFilter}
        label={t('filter')}
        aria-expanded={isFiltering}
        aria-controls="filter"
        onClick={onFilter}
      />
      <Columns entity={entity} shown={view.columns} />
      <Sorting entity={entity} order={view.order} />
      <EditButtons entity={entity} />
    </div>
  )
}

/** Width in which there is room for facets beside a table. */
const beside = '(min-width: 60rem)'

/**
 * The panel of facets: beside the table, where this browser remembers it, and over the page where there is no
 * room beside it.
 */
function useFacetsOpen() {
  const [isBeside, setBeside] = useState(() => matchMedia(beside).matches)
  const [isOver, setOver] = useState(false)
  const [isOpen, setOpen] = useState(() => query.peek().has('facets') || recall('facets') === 'open')
  useEffect(() => {
    const media = matchMedia(beside)
    const onChange = () => setBeside(media.matches)
    media.addEventListener('change', onChange)
    return () => media.removeEventListener('change', onChange)
  }, [])
  if (!isBeside) return { isOpen: isOver, isBeside, open: setOver }
  const open = (next: boolean) => {
    remember('facets', next ? 'open' : 'closed')
    setOpen(next)
    if (!next) setQuery({ facets: null }, { replace: true })
  }
  return { isOpen, isBeside, open }
}

/** True if the entity has text, in which words can be searched. */
const isSearchable = ({ fields }: Entity) => fields.some(({ type }) => type === 'text' || type === 'json')

/** A page of records, and the number of writes in this tab when it was asked for. */
type Loaded = Awaited<ReturnType<typeof loadRecords>> & { readonly since: number }

type ShownParts = ReturnType<typeof useLoad<Loaded>> & {
  readonly entity: Entity
  readonly view: View
  /** True if the panel of conditions is open, which shows the fault of its condition. */
  readonly isFiltering: boolean
}

function Shown({
  entity,
  view,
  isFiltering,
  value,
  problem,
  loading,
  reload,
}: ShownParts): JSX.Element | null {
  const { condition, page, size, order } = view
  const pages = value && Math.max(1, Math.ceil(value.total / size))
  // There may be fewer records than when the address was made.
  const isPast = pages !== undefined && page > pages
  useEffect(() => {
    if (isPast) setQuery({ page: pages === 1 ? null : String(pages) }, { replace: true })
  }, [isPast])
  if (problem instanceof Refused) return isFiltering ? null : <QueryFault fault={problem.fault} />
  if (problem) return <ProblemView problem={problem} retry={reload} />
  if (!value || isPast) return <Loading />
  const all = requirementsOf(condition, entity.fields) ?? { list: [], clauses: '' }
  const words = searchedIn(all)
  const begun = words === '' || /[*"]$/.test(words) ? undefined : `${words}*`
  if (value.total === 0 && condition !== '')
    return (
      <Empty title={t('entity.none.filtered')} help={t('entity.none.filtered.help')}>
        <Button label={t('entity.clear')} onClick={() => showCondition('')} />
        {begun && (
          <Button
            label={t('search.prefix', { words: begun })}
            onClick={() => showCondition(joined(withSearch(all, begun)))}
          />
        )}
      </Empty>
    )
  if (value.total === 0)
    return (
      <Empty title={t('entity.none')} help={t('entity.none.help', { name: tOf('entity', entity.name) })} />
    )
  const table = {
    label: t('entity.lead', { name: tOf('entity', entity.name) }),
    columns: columnsOf(entity, view),
    rows: value.records.map(record => writtenSince(value.since, nameOf(entity, record)) ?? record),
    idOf: (record: DataRecord) => keyPath(entity, record),
    order,
    onOrder: showOrder,
  }
  return (
    <div class="stale" aria-busy={loading}>
      {isEdited(entity) ? (
        <EditTable
          {...table}
          entity={entity}
          condition={condition}
          total={value.total}
          fields={view.columns}
        />
      ) : (
        <Table {...table} pathOf={record => recordPath(entity, record)} />
      )}
      <AddressPager page={page} size={size} total={value.total} usual={usualSize} />
    </div>
  )
}

/**
 * Returns the columns of the table. The key links to the record or, if the key is hidden, the first column
 * does.
 */
function columnsOf(entity: Entity, view: View): readonly Column<DataRecord>[] {
  const { columns } = view
  const keys = new Set(keyOf(entity))
  const linked = columns.find(({ name }) => keys.has(name)) ?? columns[0]
  // The key stays in sight while the table is scrolled sideways, so it is the first column.
  const ordered = linked ? [linked, ...columns.filter(field => field !== linked)] : columns
  return ordered.map(field => ({
    id: field.name,
    label: <FieldName field={field} />,
    numeric: field.type === 'integer' || field.type === 'number',
    sortable: isSortable(field),
    pinned: field === linked,
    ...headOf(entity, view, field),
    cell: record => {
      const shown = <Value value={record[field.name]} field={field} plain={field === linked} />
      return field === linked ? <a href={href(recordPath(entity, record))}>{shown}</a> : shown
    },
  }))
}
