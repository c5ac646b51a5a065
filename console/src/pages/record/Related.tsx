import type { JSX } from 'preact'
import { service } from '../../api.ts'
import {
  type DataRecord,
  entities,
  entityPath,
  keyPath,
  pathOf,
  type Relation,
  recordPath,
} from '../../entities.ts'
import { printExactly, readExactly } from '../../exact.ts'
import { t, tOf } from '../../i18n/i18n.ts'
import { useLoad } from '../../parts/load.ts'
import { Loading, ProblemView } from '../../parts/states.tsx'
import { Table } from '../../parts/Table.tsx'
import { FieldName, Value } from '../../parts/Value.tsx'
import { href, withQuery } from '../../router.ts'
import { who } from '../../session.ts'
import { written } from '../entity/pql.ts'
import { usual } from '../entity/view.ts'

/** Number of related records listed; a link leads to all of them. */
const some = 10

/**
 * Records of another entity that are related to this one. The link to all of them uses the relation as a
 * filter.
 */
export function Related({
  relation,
  record,
}: {
  readonly relation: Relation
  readonly record: DataRecord
}): JSX.Element | null {
  const other = entities.value?.find(({ name }) => name === relation.to.entity)
  const values = relation.fields.map(name => record[name])
  const condition = relation.to.fields
    .map((name, at) => `${written(name)} = ${printExactly(values[at])}`)
    .join(' and ')
  const isNull = values.some(value => value === null || value === undefined)
  const { value, problem, reload } = useLoad(
    async signal => {
      if (!other || isNull) return undefined
      const query = { query: `${other.name} { ${condition} }`, limit: some, include_total: true }
      const response = await service.value.request('GET', pathOf(), { query, signal })
      return {
        records: readExactly(await response.text()) as readonly DataRecord[],
        total: Number(response.headers.get('x-records')),
      }
    },
    [other, condition, who.value],
  )
  if (!other || isNull) return null
  const shown = usual(other).slice(0, 8)
  return (
    <section class="section">
      <div class="row spread">
        <h2>{tOf('entity', other.name)}</h2>
        {value && value.total > 0 && (
          <a href={href(withQuery(entityPath(other.name), { q: condition }))}>
            {t('record.related', { n: value.total })}
          </a>
        )}
      </div>
      {problem ? (
        <ProblemView problem={problem} retry={reload} />
      ) : !value ? (
        <Loading lines={3} />
      ) : value.total === 0 ? (
        <p class="soft">{t('entity.none')}</p>
      ) : (
        <Table<DataRecord>
          whole
          label={tOf('entity', other.name)}
          rows={value.records}
          idOf={one => keyPath(other, one)}
          pathOf={one => recordPath(other, one)}
          columns={shown.map((field, at) => ({
            id: field.name,
            label: <FieldName field={field} />,
            numeric: field.type === 'integer' || field.type === 'number',
            cell: one => {
              const text = <Value value={one[field.name]} field={field} plain={at === 0} />
              return at === 0 ? <a href={href(recordPath(other, one))}>{text}</a> : text
            },
          }))}
        />
      )}
    </section>
  )
}
