import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { adminPath } from '../../administration/declared.ts'
import { CarrelProblem } from '../../api.ts'
import { loadEntities } from '../../entities.ts'
import { a } from '../../i18n/admin.ts'
import { tOf } from '../../i18n/i18n.ts'
import { Table2 } from '../../icons.ts'
import { Form, Input, NameLink, Submit } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { useLoad, useWork } from '../../parts/load.ts'
import { Page, Section } from '../../parts/Page.tsx'
import { Empty, Loading, Notice, ProblemNotice, ProblemView } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/Table.tsx'
import { toast } from '../../parts/toast.tsx'
import { RuleField, readChoices } from '../../people/RuleField.tsx'
import { go, href } from '../../router.ts'
import { who } from '../../session.ts'
import './entities-admin.css'
import { fullName, loadTable, nameFor, type OwnTable, showTable, tablesPath } from './tables.ts'

/** A form that shows a table of the database as an entity. */
export default function ShowTable({
  parameters: { schema = '', name = '' },
}: {
  readonly parameters: { readonly schema?: string; readonly name?: string }
}): JSX.Element {
  const { value, problem, loading, reload } = useLoad(
    signal => loadTable(schema, name, signal),
    [schema, name, who.value],
  )
  return (
    <Page
      title={fullName({ schema, name })}
      lead={value && a('tables.show.lead')}
      crumbs={[
        [a('entities.title'), href('admin/entities')],
        [a('tables.title'), href(tablesPath)],
      ]}
    >
      {problem ? (
        <ProblemView problem={problem} retry={reload} />
      ) : value ? (
        <>
          {value.entities.length > 0 && (
            <Notice>
              {a('tables.shown-as')}:{' '}
              {value.entities.map((one, at) => (
                <>
                  {at > 0 && ', '}
                  <NameLink key={one} to={adminPath(one)} name={one} />
                </>
              ))}
            </Notice>
          )}
          <TableForm table={value} />
        </>
      ) : loading ? (
        <Loading />
      ) : (
        <Empty icon={Table2} title={a('tables.missing')} help={a('tables.none.help')} />
      )}
    </Page>
  )
}

type OwnColumn = OwnTable['fields'][number]

type Names = ReadonlySet<string>

const withOrWithout = (set: Names, name: string, is: boolean) =>
  is ? new Set([...set, name]) : new Set([...set].filter(one => one !== name))

/** The columns of the table, with the choice of those shown and of the key. */
const columnsFor = ({
  key,
  fields,
  setKey,
  setFields,
}: {
  readonly key: Names
  readonly fields: Names
  readonly setKey: (key: Names) => void
  readonly setFields: (fields: Names) => void
}): readonly Column<OwnColumn>[] => [
  {
    id: 'shown',
    label: a('tables.column.shown'),
    cell: ({ name }) => (
      <input
        type="checkbox"
        aria-label={a('tables.column.shown.of', { name })}
        checked={fields.has(name) || key.has(name)}
        disabled={key.has(name)}
        onChange={event => setFields(withOrWithout(fields, name, event.currentTarget.checked))}
      />
    ),
  },
  {
    id: 'key',
    label: a('entity.key'),
    cell: ({ name, sortable }) => (
      <input
        type="checkbox"
        aria-label={a('tables.column.key.of', { name })}
        checked={key.has(name)}
        disabled={sortable === false}
        onChange={event => setKey(withOrWithout(key, name, event.currentTarget.checked))}
      />
    ),
  },
  { id: 'name', label: a('field.name'), cell: ({ name }) => <bdi>{name}</bdi> },
  { id: 'type', label: a('field.type'), cell: ({ type }) => tOf('type', type) },
]

function TableForm({ table }: { readonly table: OwnTable }): JSX.Element {
  const all = table.fields.map(field => field.name)
  const [entity, setEntity] = useState(() => nameFor(table))
  const [read, setRead] = useState('admin')
  const [key, setKey] = useState<Names>(() => new Set(table.key))
  const [fields, setFields] = useState<Names>(() => new Set(all))
  const work = useWork(async () => {
    await showTable(table, {
      entity: entity.trim(),
      read,
      // If the key is the primary key, its fields keep the order of the primary key.
      key: [...key],
      fields: all.filter(name => fields.has(name) || key.has(name)),
    })
    toast(a('tables.shown', { name: entity.trim() }))
    await loadEntities().catch(() => {})
    go(adminPath(entity.trim()))
  })
  const { problem } = work
  const isTaken = problem instanceof CarrelProblem && [409, 412].includes(problem.status)
  return (
    <Form class="declarations" onSubmit={() => key.size > 0 && work.run()}>
      <section class="section">
        <div class="fields">
          <Field
            label={a('entity.name')}
            hint={a('tables.entity.hint')}
            fault={isTaken ? a('tables.taken') : undefined}
          >
            <Input
              required
              pattern="[a-z0-9_\-]+"
              autoComplete="off"
              spellcheck={false}
              value={entity}
              onText={setEntity}
            />
          </Field>
          <RuleField
            persons
            label={a('declare.read')}
            value={read}
            choices={readChoices()}
            onChange={setRead}
          />
        </div>
      </section>
      <Section title={a('tables.columns')}>
        <p class="soft prose">{a('tables.columns.help')}</p>
        <Table
          label={a('tables.columns')}
          columns={columnsFor({ key, fields, setKey, setFields })}
          rows={table.fields}
          idOf={({ name }) => name}
        />
      </Section>
      {key.size === 0 && <Notice tone="warn">{a('tables.key.needed')}</Notice>}
      {!isTaken && <ProblemNotice problem={problem} />}
      <div>
        <Submit label={a('tables.show')} aria-disabled={key.size === 0} busy={work.busy} />
      </div>
    </Form>
  )
}
