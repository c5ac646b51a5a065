import type { JSX } from 'preact'
import type { Entity } from '../../entities.ts'
import { DownloadMenu } from '../../parts/DownloadMenu.tsx'
import { askedBy, viewOf } from './view.ts'

/** All records that the page asks for, in its order: not only those of this page. */
export const Downloads = ({ entity }: { readonly entity: Entity }): JSX.Element => (
  <DownloadMenu name={entity.name} asked={() => askedBy(entity, viewOf(entity))} />
)
