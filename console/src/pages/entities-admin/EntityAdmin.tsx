import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { type Declared, dropEntity, importPath, loadDeclared } from '../../administration/declared.ts'
import { loadEntities } from '../../entities.ts'
import { a, aOf } from '../../i18n/admin.ts'
import { formatBytes, formatNumber, formatTime, tOf } from '../../i18n/i18n.ts'
import { Pencil, Table2, Trash2, Upload } from '../../icons.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { Button, LinkButton } from '../../parts/controls.tsx'
import { Facts } from '../../parts/Facts.tsx'
import { useLoad } from '../../parts/load.ts'
import { type At, LoadingPage, Page } from '../../parts/Page.tsx'
import { Notice } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import { readersInWords } from '../../people/rules.ts'
import { go, href } from '../../router.ts'
import { who } from '../../session.ts'
import { ChangeFields } from './ChangeFields.tsx'
import { Declarations } from './Declarations.tsx'
import { Fields } from './DeclaredFields.tsx'
import { KeptRecipe } from './Recipe.tsx'
import { Versions } from './Versions.tsx'

/** The declarations of one entity. */
export default function EntityAdmin({ parameters: { name = '' } }: At<'name'>): JSX.Element {
  const { value, problem, reload } = useLoad(signal => loadDeclared(name, signal), [name, who.value])
  const [changing, setChanging] = useState(false)
  const [dropping, setDropping] = useState(false)
  const crumbs = [[a('entities.title'), href('admin/entities')]] as const
  if (problem || !value)
    return <LoadingPage title={tOf('entity', name)} crumbs={crumbs} problem={problem} retry={reload} />
  const { entity } = value
  const isOwn = entity.source !== 'built-in'
  return (
    <Page
      title={tOf('entity', entity.name)}
      crumbs={crumbs}
      lead={entity.description}
      actions={
        <>
          <LinkButton icon={Table2} label={a('entity.show')} to={`entities/${encodeURIComponent(name)}`} />
          {entity.source === 'imported' && (
            <LinkButton look="primary" icon={Upload} label={a('import.do')} to={importPath(name)} />
          )}
          {isOwn && (
            <Button look="danger" icon={Trash2} label={a('entity.drop')} onClick={() => setDropping(true)} />
          )}
        </>
      }
    >
      <About entity={entity} />
      {isOwn ? (
        <Declarations tagged={value} onChange={reload} />
      ) : (
        <Notice>{a('entity.built-in', { rule: readersInWords(entity.read) })}</Notice>
      )}
      <section class="section">
        <div class="row spread">
          <h2>{a('entity.fields')}</h2>
          {entity.source === 'imported' && !changing && (
            <Button icon={Pencil} label={a('fields.change')} onClick={() => setChanging(true)} />
          )}
        </div>
        {changing ? (
          <ChangeFields
            entity={entity}
            tag={value.tag}
            onChange={reload}
            onClose={() => setChanging(false)}
          />
        ) : (
          <Fields entity={entity} tag={value.tag} onChange={reload} />
        )}
      </section>
      {entity.recipe && <KeptRecipe tagged={value} recipe={entity.recipe} onChange={reload} />}
      {entity.source === 'imported' && (
        <Versions key={entity.imported ?? ''} name={name} onRestore={reload} />
      )}
      {dropping && (
        <Confirm
          title={a('entity.drop.title', { name })}
          act={a('entity.drop')}
          typed={{ label: a('confirm.typed', { word: name }), word: name }}
          onClose={() => setDropping(false)}
          work={async () => {
            await dropEntity(name)
            toast(a('entity.dropped', { name }))
            await loadEntities().catch(() => {})
            go('admin/entities')
          }}
        >
          <p>
            {entity.source === 'exposed'
              ? a('entity.drop.exposed')
              : a('entity.drop.help', { n: entity.records ?? 0 })}
          </p>
        </Confirm>
      )}
    </Page>
  )
}

function About({ entity }: { readonly entity: Declared }): JSX.Element {
  const { name, source, key, records, bytes, imported, table } = entity
  return (
    <Facts
      of={[
        [a('entity.source'), aOf('source', source)],
        source === 'built-in' && [a('entity.in-api'), <code>{name}</code>],
        table !== null && [a('entity.table'), <bdi>{`${table.schema}.${table.name}`}</bdi>],
        [a('entity.key'), <bdi>{[key].flat().join(', ')}</bdi>],
        records !== null && [a('entity.records'), formatNumber(records)],
        bytes !== null && [a('entity.bytes'), formatBytes(bytes)],
        imported !== null && [a('entity.imported'), formatTime(imported)],
      ]}
    />
  )
}
