import type { JSX } from 'preact'
import { adminPath, type Declared, entitiesAddress, importPath } from '../../administration/declared.ts'
import { service } from '../../api.ts'
import { isBuiltIn } from '../../entities.ts'
import { a, aOf } from '../../i18n/admin.ts'
import { formatBytes, formatNumber, formatTime, t, tOf } from '../../i18n/i18n.ts'
import { Database, Plus, Table2, Upload } from '../../icons.ts'
import { inOrder } from '../../in-order.ts'
import { LinkButton, NameLink } from '../../parts/controls.tsx'
import { useLoad } from '../../parts/load.ts'
import { Page, Section } from '../../parts/Page.tsx'
import { Empty, Loading, ProblemView } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/Table.tsx'
import { readersInWords } from '../../people/rules.ts'
import { who } from '../../session.ts'
import { countTables, tablesPath } from './tables.ts'

const columns = (): readonly Column<Declared>[] => [
  {
    id: 'name',
    label: a('entity.name'),
    cell: ({ name }) => <NameLink to={adminPath(name)} name={tOf('entity', name)} />,
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

export default function Entities(): JSX.Element {
  const { value: tables = 0 } = useLoad(countTables, [who.value])
  // All of them, because the service sorts by the names of the API.
  const { value, problem, reload } = useLoad(
    async signal => {
      const all: Declared[] = []
      for await (const { items } of service.value.list<Declared>(entitiesAddress).pages(100, signal))
        all.push(...items)
      return all
    },
    [who.value],
  )
  const sorted = inOrder(value ?? [])
  return (
    <Page
      title={a('entities.title')}
      lead={a('entities.lead')}
      actions={
        <>
          {tables > 0 && <LinkButton icon={Table2} label={a('tables.do')} to={tablesPath} />}
          <LinkButton icon={Plus} label={a('new-entity.title')} to={'admin/new-entity'} />
          <LinkButton look="primary" icon={Upload} label={a('import.do')} to={importPath()} />
        </>
      }
    >
      {problem ? <ProblemView problem={problem} retry={reload} /> : !value && <Loading />}
      <Part label={t('home.entities')} rows={sorted.filter(({ name }) => !isBuiltIn(name))} />
      <Part label={t('home.built-in')} rows={sorted.filter(({ name }) => isBuiltIn(name))} />
      {value?.length === 0 && <Empty icon={Database} title={a('entities.none')} />}
    </Page>
  )
}

const Part = ({ label, rows }: { readonly label: string; readonly rows: readonly Declared[] }) =>
  rows.length === 0 ? null : (
    <Section title={label}>
      <Table
        label={label}
        columns={columns()}
        rows={rows}
        idOf={({ name }) => name}
        pathOf={({ name }) => adminPath(name)}
        whole
      />
    </Section>
  )
