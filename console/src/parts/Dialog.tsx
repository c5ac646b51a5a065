import type { ComponentChildren, JSX } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { t } from '../i18n/i18n.ts'
import { X } from '../icons.ts'
import { Button, Form } from './controls.tsx'
import './dialog.css'

interface Parts {
  readonly title: string
  readonly onClose: () => void
  readonly wide?: boolean
  readonly children: ComponentChildren
  /** The buttons at the end of the dialog. */
  readonly footer?: ComponentChildren
  /** Makes the dialog a form; called when it is submitted. */
  readonly onSubmit?: () => void
}

/**
 * A modal dialog of the browser, which keeps the focus inside, closes with Escape, and gives the focus back.
 */
export function Dialog({ title, onClose, wide, children, footer, onSubmit }: Parts): JSX.Element {
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  // The dialog opens before the first frame, so that no key goes to the page behind it.
  useLayoutEffect(() => {
    const element = dialog.current
    element?.showModal()
    // The first control has the focus, so that a form can be filled in at once.
    element?.querySelector<HTMLElement>('input, select, textarea')?.focus()
    return () => element?.close()
  }, [])
  const inside = (
    <>
      <header>
        <h2 id={id}>{title}</h2>
        <Button look="icon" icon={X} aria-label={t('close')} onClick={onClose} />
      </header>
      {children}
      {footer && <footer>{footer}</footer>}
    </>
  )
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click beside the dialog; Escape closes it from the keyboard
    <dialog
      ref={dialog}
      class={`dialog ${wide ? 'wide' : ''}`}
      aria-labelledby={id}
      onCancel={event => {
        event.preventDefault()
        onClose()
      }}
      onClick={event => event.target === dialog.current && onClose()}
    >
      {onSubmit ? (
        <Form class="inside" onSubmit={onSubmit}>
          {inside}
        </Form>
      ) : (
        <div class="inside">{inside}</div>
      )}
    </dialog>
  )
}
