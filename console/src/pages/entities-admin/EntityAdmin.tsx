import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { loadEntities } from '../../entities.ts'
import { a, aOf } from '../../i18n/admin.ts'
import { formatBytes, formatNumber, formatTime, tOf } from '../../i18n/i18n.ts'
import { Pencil, Table2, Trash2, Upload } from '../../icons.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { Facts } from '../../parts/Facts.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { useLoad } from '../../parts/load.ts'
import { Page } from '../../parts/Page.tsx'
import { Loading, Notice, ProblemView } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import { go, href } from '../../router.ts'
import { who } from '../../session.ts'
import { ChangeFields } from './ChangeFields.tsx'
import { Declarations } from './Declarations.tsx'
import { Fields } from './DeclaredFields.tsx'
import { type Declared, dropEntity, importPath, loadDeclared } from './declared.ts'
import { KeptRecipe } from './Recipe.tsx'
import { readersInWords } from './rules.ts'
import { Versions } from './Versions.tsx'

/** The declarations of one entity. */
function EntityAdmin({
  parameters: { name = '' },
}: {
  readonly parameters: { readonly name?: string }
}): JSX.Element {
  const { value, problem, reload } = useLoad(signal => loadDeclared(name, signal), [name, who.value])
  const [changing, setChanging] = useState(false)
  const [dropping, setDropping] = useState(false)
  const crumbs = [[a('entities.title'), href('admin/entities')]] as const
  if (problem || !value)
    return (
      <Page title={tOf('entity', name)} crumbs={crumbs}>
        {problem ? <ProblemView problem={problem} retry={reload} /> : <Loading />}
      </Page>
    )
  const { entity } = value
  const isOwn = entity.source !== 'built-in'
  return (
    <Page
      title={tOf('entity', entity.name)}
      crumbs={crumbs}
      lead={entity.description}
      actions={
        <>
          <a class="button" href={href(`entities/${encodeURIComponent(name)}`)}>
            <Icon of={Table2} />
            {a('entity.show')}
          </a>
          {entity.source === 'imported' && (
            <a class="button primary" href={href(importPath(name))}>
              <Icon of={Upload} />
              {a('import.do')}
            </a>
          )}
          {isOwn && (
            <button type="button" class="button danger" onClick={() => setDropping(true)}>
              <Icon of={Trash2} />
              {a('entity.drop')}
            </button>
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
            <button type="button" class="button" onClick={() => setChanging(true)}>
              <Icon of={Pencil} />
              {a('fields.change')}
            </button>
          )}
        </div>
        {changing ? (
          <ChangeFields
            {...{ entity, tag: value.tag }}
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

export default EntityAdmin
