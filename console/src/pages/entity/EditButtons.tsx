import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { type Entity, isBuiltIn, recordPath } from '../../entities.ts'
import { t, tOf } from '../../i18n/i18n.ts'
import { Check, Pencil, Plus } from '../../icons.ts'
import { Button, LinkButton } from '../../parts/controls.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { RecordDialog } from '../../records/RecordDialog.tsx'
import { go } from '../../router.ts'
import { isAdministrator } from '../../session.ts'

/** The entity whose table is being edited. */
const edited = signal<string | undefined>(undefined)

export const isEdited = ({ name, writable }: Entity): boolean => writable === true && edited.value === name

/**
 * Buttons above a table for those who may write its records. Administrators see why others can't, and the
 * way to change that.
 */
export function EditButtons({ entity }: { readonly entity: Entity }): JSX.Element | null {
  const { name, writable } = entity
  const [open, setOpen] = useState<'add' | 'closed'>()
  const close = () => setOpen(undefined)
  if (!writable && (!isAdministrator.value || isBuiltIn(name))) return null
  const isOn = isEdited(entity)
  return (
    <>
      <button
        type="button"
        class={`button ${writable ? '' : 'quiet'}`}
        aria-pressed={writable ? isOn : undefined}
        onClick={() => {
          if (writable) edited.value = isOn ? undefined : name
          else setOpen('closed')
        }}
      >
        <Icon of={isOn ? Check : Pencil} />
        {t(isOn ? 'edit.end' : 'edit.do')}
      </button>
      {isOn && <Button icon={Plus} label={t('edit.add.do')} onClick={() => setOpen('add')} />}
      {isOn && <p class="soft small edit-help">{t('edit.grid.help')}</p>}
      {open === 'add' && (
        <RecordDialog
          entity={entity}
          onClose={added => {
            close()
            if (added) go(recordPath(entity, added.record))
          }}
        />
      )}
      {open === 'closed' && (
        <Dialog
          title={t('edit.closed', { name: tOf('entity', name) })}
          onClose={close}
          footer={
            <LinkButton
              look="primary"
              label={t('edit.closed.open')}
              to={`admin/entities/${encodeURIComponent(name)}`}
            />
          }
        >
          <p>{t('edit.closed.help')}</p>
        </Dialog>
      )}
    </>
  )
}
