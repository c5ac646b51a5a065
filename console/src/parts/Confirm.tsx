import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { t } from '../i18n/i18n.ts'
import { Dialog } from './Dialog.tsx'
import { Field } from './Field.tsx'
import { useWork } from './load.ts'
import { ProblemNotice } from './states.tsx'

interface Parts {
  readonly title: string
  /** What happens, and whether it can be undone. */
  readonly children?: ComponentChildren
  /** What the button says. */
  readonly action: string
  readonly danger?: boolean
  /** What has to be typed first, for what can't be undone. */
  readonly typed?: { readonly label: string; readonly word: string }
  readonly onConfirm: () => Promise<unknown>
  readonly onClose: () => void
}

/** Asks once more. */
export function Confirm(parts: Parts): JSX.Element {
  const { title, children, action, danger, typed, onConfirm, onClose } = parts
  const [word, setWord] = useState('')
  const work = useWork(async () => {
    await onConfirm()
    onClose()
  })
  const isReady = !typed || word === typed.word
  return (
    <Dialog
      title={title}
      onClose={onClose}
      onSubmit={() => isReady && work.run()}
      footer={
        <>
          <button type="button" class="button" onClick={onClose}>
            {t('cancel')}
          </button>
          <button
            type="submit"
            class={`button ${danger ? 'danger' : 'primary'}`}
            aria-busy={work.busy}
            aria-disabled={!isReady}
          >
            {action}
          </button>
        </>
      }
    >
      {children}
      {typed && (
        <Field label={typed.label}>
          <input
            autoComplete="off"
            spellcheck={false}
            value={word}
            onInput={event => setWord(event.currentTarget.value)}
          />
        </Field>
      )}
      <ProblemNotice problem={work.problem} />
    </Dialog>
  )
}
