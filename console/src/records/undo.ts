import { effect } from '@preact/signals'
import { CarrelProblem, service } from '../api.ts'
import { t } from '../i18n/i18n.ts'
import { forgetActions, toast } from '../parts/toast.tsx'

/** The last change of this tab, which can be undone. */
let last: (() => Promise<unknown>) | undefined
let isListening = false
// A change is undone as the person as whom it was made.
effect(() => {
  service.value
  last = undefined
  forgetActions()
})

/**
 * Confirms a change, and offers to undo it.
 * @param undo writes only over the state that the change has made, so that a later change of another person
 * stays
 */
export function changed(text: string, undo: () => Promise<unknown>): void {
  last = undo
  if (!isListening) addEventListener('keydown', onKeyDown)
  isListening = true
  toast(text, 'good', { label: t('undo'), run: () => void undoLast(undo) })
}

/** Ctrl+Z, unless it is for what is being typed. */
function onKeyDown(event: KeyboardEvent): void {
  const { key, ctrlKey, metaKey, shiftKey, altKey, target } = event
  if (key.toLowerCase() !== 'z' || !(ctrlKey || metaKey) || shiftKey || altKey || !last) return
  if ((target as Element | null)?.closest('input, textarea, select, [contenteditable], dialog')) return
  event.preventDefault()
  void undoLast(last)
}

async function undoLast(undo: () => Promise<unknown>): Promise<void> {
  // A second press, or the button of an earlier toast, undoes nothing more.
  if (last !== undo) return
  last = undefined
  try {
    if ((await undo()) !== false) toast(t('undo.done'))
  } catch (error) {
    const isChanged = error instanceof CarrelProblem && [404, 412].includes(error.status)
    toast(isChanged ? t('undo.changed') : t('undo.failed'), 'bad')
    // After a failure of the connection, it can be tried again.
    if (!isChanged) last ??= undo
  }
}
