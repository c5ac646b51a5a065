import type { JSX } from 'preact'
import { type Entity, keyText } from '../entities.ts'
import { t } from '../i18n/i18n.ts'
import { Confirm } from '../parts/Confirm.tsx'
import { Dialog } from '../parts/Dialog.tsx'
import { RecordForm } from './RecordForm.tsx'
import { changed } from './undo.ts'
import { bringBack, remove, type Stored } from './writing.ts'

/** The form of a record over the page that it was opened from. */
export function RecordDialog({ onClose, ...parts }: Parameters<typeof RecordForm>[0]): JSX.Element {
  const { entity, stored, copied } = parts
  const title = stored
    ? t('edit.of', { name: keyText(entity, stored.record) })
    : copied
      ? t('edit.copy.title', { name: keyText(entity, copied.record) })
      : t('edit.add.title')
  return (
    <Dialog wide title={title} onClose={() => onClose(undefined)}>
      <RecordForm {...parts} onClose={onClose} />
    </Dialog>
  )
}

interface Parts {
  readonly entity: Entity
  readonly stored: Stored
  /** A name of the record besides its key. */
  readonly title: string
  readonly onClose: (done: boolean) => void
}

/** Asks whether a record is to be deleted, by the name that people know it by. */
export function DeleteRecord({ entity, stored, title, onClose }: Parts): JSX.Element {
  const key = keyText(entity, stored.record)
  return (
    <Confirm
      title={t('edit.delete.title', { name: key })}
      act={t('edit.delete.do')}
      work={async () => {
        await remove(entity, stored)
        changed(t('edit.deleted', { name: key }), () => bringBack(entity, stored))
      }}
      onClose={onClose}
    >
      {title !== key && (
        <p>
          <strong>
            <bdi>{title}</bdi>
          </strong>
        </p>
      )}
      <p>{t('edit.delete.help')}</p>
    </Confirm>
  )
}
