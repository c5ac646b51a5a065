import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { type DataRecord, type Entity, entityPath, keyIn, keyOf, recordPath, writes } from '../../entities.ts'
import { printExactly } from '../../exact.ts'
import { t, tOf } from '../../i18n/i18n.ts'
import { Copy, CopyPlus, Pencil, Trash2 } from '../../icons.ts'
import { Button } from '../../parts/controls.tsx'
import { copy } from '../../parts/copy.ts'
import { useLoad } from '../../parts/load.ts'
import { Menu, MenuEntries } from '../../parts/Menu.tsx'
import { Page } from '../../parts/Page.tsx'
import { Loading, ProblemView } from '../../parts/states.tsx'
import { cut, FieldName } from '../../parts/Value.tsx'
import { Whole } from '../../parts/Whole.tsx'
import { AsRequest } from '../../query/AsRequest.tsx'
import { written } from '../../query/pql.ts'
import type { Requested } from '../../query/request-texts.ts'
import { DeleteRecord, RecordDialog } from '../../records/RecordDialog.tsx'
import { RecordForm } from '../../records/RecordForm.tsx'
import { nameField, useEntity } from '../../records/view.ts'
import { load, type Stored } from '../../records/writing.ts'
import { go, href, type Parameters, path } from '../../router.ts'
import { who } from '../../session.ts'
import { History } from './History.tsx'
import { Related } from './Related.tsx'
import './record.css'

/** One record, and the records related to it. */
export default function RecordPage({ parameters }: { readonly parameters: Parameters }): JSX.Element {
  const { entity: name = '', key = '' } = parameters
  const found = useEntity(name)
  const entity = found.value
  const record = useLoad(
    async signal => {
      if (!entity) return undefined
      return load(entity, key, signal)
    },
    [entity, key, who.value, writes.value],
  )
  const problem = found.problem ?? record.problem
  const stored = record.value
  const title = entity && stored ? titleOf(entity, stored.record, key) : key
  const [isEditing, setEditing] = useState(false)
  return (
    <Page
      title={title}
      crumbs={[
        [t('nav.home'), href('')],
        [tOf('entity', name), href(entityPath(name))],
      ]}
      actions={
        entity &&
        stored && (
          <>
            {entity.writable && !isEditing && (
              <RecordActions entity={entity} stored={stored} title={title} onEdit={() => setEditing(true)} />
            )}
            <CopyAddress />
            <AsRequest requested={() => requestFor(entity, stored.record)} />
          </>
        )
      }
    >
      {problem ? (
        <ProblemView problem={problem} retry={found.problem ? found.reload : record.reload} />
      ) : entity && stored ? (
        <>
          {isEditing ? (
            <RecordForm
              entity={entity}
              stored={stored}
              onClose={() => {
                setEditing(false)
                document.querySelector<HTMLElement>('h1')?.focus()
              }}
            />
          ) : (
            <Fields entity={entity} record={stored.record} />
          )}
          {entity.relations?.map(relation => (
            <Related
              key={`${key} ${relation.to.entity}`}
              entity={entity}
              relation={relation}
              record={stored.record}
            />
          ))}
          {entity.writable && <History entity={entity} record={stored.record} />}
        </>
      ) : (
        <Loading />
      )}
    </Page>
  )
}

const titleOf = (entity: Entity, record: DataRecord, key: string): string => {
  const field = nameField(entity)
  const value = field && record[field.name]
  return typeof value === 'string' && value.trim() !== '' ? cut(value, 200) : key
}

/** Returns the record as a request: by its key, or as a query. */
const requestFor = (entity: Entity, record: DataRecord): Requested => ({
  query: `${entity.name} { ${keyOf(entity)
    .map(name => `${written(name)} = ${printExactly(record[name])}`)
    .join(' and ')} }`,
  record: { entity: entity.name, key: keyIn(entity, record) },
})
interface Parts {
  readonly entity: Entity
  readonly stored: Stored
  readonly title: string
  readonly onEdit: () => void
}

/** Actions of those who may write the record. */
function RecordActions({ entity, stored, title, onEdit }: Parts): JSX.Element {
  const [open, setOpen] = useState<'copy' | 'delete'>()
  const close = () => setOpen(undefined)
  return (
    <>
      <Button icon={Pencil} label={t('edit.do')} onClick={onEdit} />
      <Menu arrow={16} button={t('edit.actions')}>
        {shut => (
          <MenuEntries
            close={shut}
            of={[
              [t('edit.copy.do'), () => setOpen('copy'), CopyPlus],
              [t('edit.delete.do'), () => setOpen('delete'), Trash2],
            ]}
          />
        )}
      </Menu>
      {open === 'copy' && (
        <RecordDialog
          entity={entity}
          copied={stored}
          onClose={added => {
            close()
            if (added) go(recordPath(entity, added.record))
          }}
        />
      )}
      {open === 'delete' && (
        <DeleteRecord
          entity={entity}
          stored={stored}
          title={title}
          onClose={isDone => {
            close()
            if (isDone) go(entityPath(entity.name))
          }}
        />
      )}
    </>
  )
}

const CopyAddress = (): JSX.Element => (
  <Button
    icon={Copy}
    label={t('record.copy')}
    onClick={() => copy(new URL(href(path.value), location.origin).href)}
  />
)

interface FieldsParts {
  readonly entity: Entity
  readonly record: DataRecord
}

const Fields = ({ entity, record }: FieldsParts): JSX.Element => (
  <dl class="record">
    {entity.fields.map(field => (
      <>
        <dt key={`${field.name}-name`}>
          <FieldName field={field} />
          {field.help !== undefined && <p class="soft small help">{field.help}</p>}
        </dt>
        <dd key={field.name}>
          <Whole value={record[field.name]} field={field} />
        </dd>
      </>
    ))}
  </dl>
)
