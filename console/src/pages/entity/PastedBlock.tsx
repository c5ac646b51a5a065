import type { JSX } from 'preact'
import type { Entity } from '../../entities.ts'
import { t } from '../../i18n/i18n.ts'
import { Notice } from '../../parts/states.tsx'
import { href, withQuery } from '../../router.ts'
import { isAdministrator } from '../../session.ts'

/** Stands for a paste of several cells, which a table doesn't take. */
export const blockPasted = Symbol('pasted')

/** Says what to do instead of pasting a block of cells. */
export const PastedBlock = ({ entity }: { readonly entity: Entity }): JSX.Element => (
  <Notice tone="warn">
    {t('edit.paste.block')}{' '}
    {isAdministrator.value ? (
      <a href={href(withQuery('admin/import', { entity: entity.name }))}>{t('edit.paste.import')}</a>
    ) : (
      t('edit.paste.ask')
    )}
  </Notice>
)
