import type { JSX } from 'preact'
import { type Entity, entityPath } from '../../entities.ts'
import { t, tOf } from '../../i18n/i18n.ts'
import { ChartColumn, MessageCircleQuestionMark } from '../../icons.ts'
import { LinkButton } from '../../parts/controls.tsx'
import { Page } from '../../parts/Page.tsx'
import { Pending } from '../../parts/states.tsx'
import { AsRequest } from '../../query/AsRequest.tsx'
import { href, type Parameters, query, withQuery } from '../../router.ts'
import { Records } from './Records.tsx'
import './entity.css'
import { DownloadMenu } from '../../parts/DownloadMenu.tsx'
import { downloadOf, questionOf, requestOf, useEntity, viewOf } from '../../records/view.ts'

/** The records of one entity. The address of this page holds the query. */
export default function EntityPage({ parameters }: { readonly parameters: Parameters }): JSX.Element {
  const name = parameters.entity ?? ''
  const { value: entity, problem, reload } = useEntity(name)
  return (
    <Page
      title={tOf('entity', name)}
      lead={entity?.description}
      crumbs={[[t('nav.home'), href('')]]}
      actions={
        entity && (
          <>
            <LinkButton
              icon={ChartColumn}
              label={t('draw')}
              to={withQuery(`${entityPath(name)}/draw`, Object.fromEntries(query.value))}
            />
            <LinkButton
              icon={MessageCircleQuestionMark}
              label={t('questions.as')}
              to={withQuery('questions', { q: questionOf(entity, viewOf(entity)) })}
            />
            <AsRequest requested={() => requestOf(entity, viewOf(entity))} />
            <Downloads entity={entity} />
          </>
        )
      }
    >
      {problem || !entity ? <Pending problem={problem} retry={reload} /> : <Records entity={entity} />}
    </Page>
  )
}

/** Downloads all records of the view, not only those of the current page. */
function Downloads({ entity }: { readonly entity: Entity }): JSX.Element {
  const { columns } = viewOf(entity)
  const all = { asked: () => downloadOf(entity, viewOf(entity)) }
  if (columns.length === entity.fields.length) return <DownloadMenu name={entity.name} choices={[all]} />
  return (
    <DownloadMenu
      name={entity.name}
      choices={[
        {
          label: t('download.shown', { n: columns.length }),
          asked: () => downloadOf(entity, viewOf(entity), viewOf(entity).columns),
        },
        { ...all, label: t('download.every', { n: entity.fields.length }) },
      ]}
    />
  )
}
