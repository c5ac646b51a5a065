import type { JSX } from 'preact'
import { adminPath } from '../../administration/declared.ts'
import { a, aOf } from '../../i18n/admin.ts'
import { formatNumber } from '../../i18n/i18n.ts'
import { Table2 } from '../../icons.ts'
import { NameLink } from '../../parts/controls.tsx'
import { HalTable } from '../../parts/HalTable.tsx'
import { Page } from '../../parts/Page.tsx'
import { AddressSearch } from '../../parts/SearchBox.tsx'
import { Empty } from '../../parts/states.tsx'
import type { Column } from '../../parts/Table.tsx'
import { href, query } from '../../router.ts'
import { fullName, type OwnTable, tablePath, tables } from './tables.ts'

const columns = (): readonly Column<OwnTable>[] => [
  {
    id: 'name',
    label: a('tables.name'),
    cell: table => <NameLink to={tablePath(table)} name={fullName(table)} />,
  },
  {
    id: 'kind',
    label: a('tables.kind'),
    cell: ({ kind }) => <span class="tag">{aOf('table', kind)}</span>,
  },
  {
    id: 'fields',
    label: a('entity.fields'),
    numeric: true,
    cell: ({ fields }) => formatNumber(fields.length),
  },
  {
    id: 'key',
    label: a('tables.primary-key'),
    cell: ({ key }) => <bdi>{key.length > 0 ? key.join(', ') : '–'}</bdi>,
  },
  {
    id: 'entities',
    label: a('tables.shown-as'),
    wrap: true,
    cell: ({ entities }) => (
      <span class="row">
        {entities.length === 0 && '–'}
        {entities.map(name => (
          <NameLink key={name} to={adminPath(name)} name={name} />
        ))}
      </span>
    ),
  },
]

/** The tables and views of the database that are entities or could become entities. */
const Tables = (): JSX.Element => (
  <Page
    title={a('tables.title')}
    lead={a('tables.lead')}
    crumbs={[[a('entities.title'), href('admin/entities')]]}
  >
    <div class="toolbar">
      <AddressSearch label={a('tables.search')} />
    </div>
    <HalTable<OwnTable>
      label={a('tables.title')}
      path={tables}
      parameters={{ query: query.value.get('q') ?? '' }}
      columns={columns()}
      idOf={table => JSON.stringify([table.schema, table.name])}
      pathOf={tablePath}
      empty={<Empty icon={Table2} title={a('tables.none')} help={a('tables.none.help')} />}
    />
  </Page>
)

export default Tables
