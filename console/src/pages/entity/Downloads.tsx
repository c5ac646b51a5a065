import type { JSX } from 'preact'
import type { Entity } from '../../entities.ts'
import { t } from '../../i18n/i18n.ts'
import { DownloadMenu } from '../../parts/DownloadMenu.tsx'
import { downloadOf, viewOf } from './view.ts'

/** All records that the page asks for, in its order and with its columns: not only those of this page. */
export function Downloads({ entity }: { readonly entity: Entity }): JSX.Element {
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
