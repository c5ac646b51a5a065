import type { JSX } from 'preact'
import { CarrelProblem } from '../../api.ts'
import { type DataRecord, type Entity, keyPath, loadEntities, loadPage } from '../../entities.ts'
import { t } from '../../i18n/i18n.ts'
import type { Parameters } from '../../pages.tsx'
import { useLoad } from '../../parts/load.ts'
import { Page } from '../../parts/Page.tsx'
import { Pager } from '../../parts/Pager.tsx'
import { Empty, Loading, ProblemView, Progress } from '../../parts/states.tsx'
import { type Column, type Order, Table } from '../../parts/Table.tsx'
import { Value } from '../../parts/Value.tsx'
import { href, query, setQuery } from '../../router.ts'
import { who } from '../../session.ts'

/** The records of one entity. */
function EntityPage({ parameters }: { readonly parameters: Parameters }): JSX.Element {
  const name = parameters.entity ?? ''
  const found = useLoad(async () => {
    const entity = (await loadEntities()).find(one => one.name === name)
    if (!entity)
      throw new CarrelProblem({
        status: who.value.kind === 'nobody' ? 401 : 404,
        code: 'not-found',
        title: t('missing'),
        detail: t('missing.help'),
      })
    return entity
  }, [name, who.value])
  return (
    <Page title={name} lead={found.value?.description} crumbs={[[t('nav.home'), href('')]]}>
      {found.problem ? (
        <ProblemView problem={found.problem} retry={found.reload} />
      ) : found.value ? (
        <Records entity={found.value} />
      ) : (
        <Loading />
      )}
    </Page>
  )
}

const numberIn = (name: string, fallback: number) => {
  const value = Number(query.value.get(name))
  return Number.isInteger(value) && value > 0 ? value : fallback
}

export const orderOf = (text: string | null): readonly Order[] =>
  (text ?? '')
    .split(',')
    .filter(Boolean)
    .map(one => (one.startsWith('-') ? { field: one.slice(1), order: 'desc' } : { field: one, order: 'asc' }))

function Records({ entity }: { readonly entity: Entity }): JSX.Element {
  const page = numberIn('page', 1)
  const size = Math.min(1_000, numberIn('size', 50))
  const sort = query.value.get('sort')
  const order = orderOf(sort)
  const { value, problem, loading, reload } = useLoad(
    signal => loadPage(entity.name, { order, limit: size, offset: (page - 1) * size }, signal),
    [entity.name, page, size, sort],
  )
  if (problem) return <ProblemView problem={problem} retry={reload} />
  if (!value) return <Loading />
  if (value.total === 0)
    return <Empty title={t('entity.none')} help={t('entity.none.help', { name: entity.name })} />
  return (
    <div>
      <Progress busy={loading} />
      <Table
        label={t('entity.lead', { name: entity.name })}
        columns={columnsOf(entity)}
        rows={value.records}
        idOf={record => keyPath(entity, record)}
        order={order}
        onOrder={next =>
          setQuery({
            sort: next.map(one => (one.order === 'desc' ? `-${one.field}` : one.field)).join(','),
            page: null,
          })
        }
        pathOf={record => recordPath(entity, record)}
      />
      <Pager
        page={page}
        size={size}
        total={value.total}
        onPage={next => setQuery({ page: next === 1 ? null : String(next) })}
        onSize={next => setQuery({ size: next === 50 ? null : String(next), page: null })}
      />
    </div>
  )
}

const recordPath = (entity: Entity, record: DataRecord) =>
  `entities/${encodeURIComponent(entity.name)}/${keyPath(entity, record)}`

const columnsOf = (entity: Entity): readonly Column<DataRecord>[] =>
  entity.fields.slice(0, 12).map((field, at) => ({
    id: field.name,
    label: field.name,
    numeric: field.type === 'integer' || field.type === 'number',
    sortable: field.sortable !== false,
    cell: record => {
      const shown = <Value value={record[field.name]} type={field.type} />
      return at === 0 ? <a href={href(recordPath(entity, record))}>{shown}</a> : shown
    },
  }))

export default EntityPage
