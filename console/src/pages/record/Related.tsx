import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { service } from '../../api.ts'
import {
  type DataRecord,
  type Entity,
  entities,
  entityPath,
  isSortable,
  type Json,
  keyOf,
  keyPath,
  type Relation,
  recordPath,
  writes,
} from '../../entities.ts'
import { printExactly, readExactly } from '../../exact.ts'
import { formatNumber, t, tOf } from '../../i18n/i18n.ts'
import { useLoad } from '../../parts/load.ts'
import { Pager } from '../../parts/Pager.tsx'
import { Pending } from '../../parts/states.tsx'
import { type Order, Table } from '../../parts/Table.tsx'
import { FieldName, Value } from '../../parts/Value.tsx'
import { written } from '../../query/pql.ts'
import { askedBy, columnsFor, printOrder } from '../../records/view.ts'
import { href, withQuery } from '../../router.ts'
import { who } from '../../session.ts'

/** Number of related records on a page of the table; a link leads to all of them in a table of their own. */
const size = 10

interface Parts {
  readonly entity: Entity
  readonly relation: Relation
  readonly record: DataRecord
}

/**
 * Records of another entity that are related to this one. The link to all of them uses the relation as a
 * filter.
 */
export function Related({ entity, relation, record }: Parts): JSX.Element | null {
  const other = entities.value?.find(({ name }) => name === relation.to.entity)
  const condition = other && conditionFor(entity, record, relation, other)
  const [order, setOrder] = useState<readonly Order[]>([])
  const [page, setPage] = useState(1)
  const { value, problem, loading, reload } = useLoad(
    async signal => {
      if (!other || condition === undefined) return undefined
      const { path, parameters } = askedBy(other, { condition, order })
      const paging = { limit: size, offset: (page - 1) * size || undefined, include_total: true }
      const response = await service.value.request('GET', path, {
        query: { ...parameters, ...paging },
        signal,
      })
      return {
        records: readExactly(await response.text()) as readonly DataRecord[],
        total: Number(response.headers.get('x-records')),
      }
    },
    [other, condition, order, page, who.value, writes.value],
  )
  if (!other || condition === undefined) return null
  const sort = printOrder(order)
  return (
    <section class="section related" aria-busy={loading}>
      <div class="row spread">
        <h2>
          {tOf('entity', other.name)}{' '}
          {value && value.total > 0 && <span class="soft number">{formatNumber(value.total)}</span>}
        </h2>
        {value && value.total > 0 && (
          <a href={href(withQuery(entityPath(other.name), { q: condition, ...(sort && { sort }) }))}>
            {t('record.related', { n: value.total })}
          </a>
        )}
      </div>
      {problem || !value ? (
        <Pending problem={problem} retry={reload} lines={3} />
      ) : value.total === 0 ? (
        <p class="soft">{t('entity.none')}</p>
      ) : (
        <>
          <Table<DataRecord>
            whole
            label={tOf('entity', other.name)}
            rows={value.records}
            idOf={one => keyPath(other, one)}
            pathOf={one => recordPath(other, one)}
            order={order}
            onOrder={next => {
              setOrder(next)
              setPage(1)
            }}
            columns={columnsFor(other).map((field, at) => ({
              id: field.name,
              label: <FieldName field={field} />,
              sortable: isSortable(field),
              pinned: at === 0,
              numeric: field.type === 'integer' || field.type === 'number',
              cell: one => {
                const text = <Value value={one[field.name]} field={field} plain={at === 0} />
                return at === 0 ? <a href={href(recordPath(other, one))}>{text}</a> : text
              },
            }))}
          />
          {value.total > size && <Pager page={page} size={size} total={value.total} onPage={setPage} />}
        </>
      )}
    </section>
  )
}

/**
 * Writes the condition of the other entity's records that are related to this one: with the values of this record where
 * they are plain, or else with its key.
 *
 * @returns undefined if it has no value to be related by
 */
function conditionFor(
  entity: Entity,
  record: DataRecord,
  { fields, to }: Relation,
  other: Entity,
): string | undefined {
  const isPlain = fields.every(name => entity.fields.some(one => one.name === name && !one.list))
  const equal = (names: readonly string[], values: readonly unknown[], of: Entity) =>
    names.map((name, at) => `${writtenPath(name, of)} = ${printExactly(values[at] as Json)}`).join(' and ')
  if (!isPlain) {
    const key = keyOf(entity)
    const values = key.map(name => record[name])
    return `${entity.name} { ${equal(key, values, entity)} }`
  }
  const values = fields.map(name => record[name])
  return values.some(value => value === null || value === undefined)
    ? undefined
    : equal(to.fields, values, other)
}

/** Writes a field, or a path into one, in PQL. */
const writtenPath = (text: string, { fields }: Entity): string =>
  fields.every(({ name }) => name !== text) && /^[A-Za-z_]\w*(\.[A-Za-z_]\w*|\[(\d+|\*)\])*$/.test(text)
    ? text
    : written(text)
