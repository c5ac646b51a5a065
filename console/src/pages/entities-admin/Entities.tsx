import type { JSX } from 'preact'
import { a, aOf } from '../../i18n/admin.ts'
import { formatBytes, formatNumber, formatTime, t, tOf } from '../../i18n/i18n.ts'
import { Database, Plus, Table2, Upload } from '../../icons.ts'
import { HalTable } from '../../parts/HalTable.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { useLoad } from '../../parts/load.ts'
import { Page } from '../../parts/Page.tsx'
import { Empty } from '../../parts/states.tsx'
import type { Column } from '../../parts/Table.tsx'
import { href } from '../../router.ts'
import { who } from '../../session.ts'
import { countTables, tablesPath } from '../tables/tables.ts'
import { adminPath, type Declared, entitiesAddress, importPath } from './declared.ts'
import { readersInWords } from './rules.ts'

const columns = (): readonly Column<Declared>[] => [
  {
    id: 'name',
    label: a('entity.name'),
    cell: ({ name }) => (
      <a href={href(adminPath(name))}>
        <bdi>{tOf('entity', name)}</bdi>
      </a>
    ),
  },
  {
    id: 'source',
    label: a('entity.source'),
    cell: ({ source }) => <span class="tag">{aOf('source', source)}</span>,
  },
  { id: 'read', label: a('entity.read'), cell: ({ read }) => <bdi>{readersInWords(read)}</bdi> },
  {
    id: 'records',
    label: a('entity.records'),
    numeric: true,
    cell: ({ records }) => (records === null ? '–' : formatNumber(records)),
  },
  {
    id: 'bytes',
    label: a('entity.bytes'),
    numeric: true,
    cell: ({ bytes }) => (bytes === null ? '–' : formatBytes(bytes)),
  },
  {
    id: 'imported',
    label: a('entity.imported'),
    cell: ({ imported }) =>
      imported === null ? <span class="soft">{t('none')}</span> : formatTime(imported),
  },
]

function Entities(): JSX.Element {
  const { value: tables = 0 } = useLoad(countTables, [who.value])
  return (
    <Page
      title={a('entities.title')}
      lead={a('entities.lead')}
      actions={
        <>
          {tables > 0 && (
            <a class="button" href={href(tablesPath)}>
              <Icon of={Table2} />
              {a('tables.do')}
            </a>
          )}
          <a class="button" href={href('admin/new-entity')}>
            <Icon of={Plus} />
            {a('new-entity.title')}
          </a>
          <a class="button primary" href={href(importPath())}>
            <Icon of={Upload} />
            {a('import.do')}
          </a>
        </>
      }
    >
      <HalTable<Declared>
        label={a('entities.title')}
        path={entitiesAddress}
        columns={columns()}
        idOf={({ name }) => name}
        pathOf={({ name }) => adminPath(name)}
        empty={<Empty icon={Database} title={a('entities.none')} />}
      />
    </Page>
  )
}

export default Entities
