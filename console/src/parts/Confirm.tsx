import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Input } from './controls.tsx'
import { Field } from './Field.tsx'
import { FormDialog } from './forms.tsx'
import { useWork } from './load.ts'

interface Parts {
  readonly title: string
  /** Explains the consequences. */
  readonly help?: string
  /** Explains more, or contains fields for values that the action needs. */
  readonly children?: ComponentChildren
  /** The label of the button that acts. It names the action, unlike “OK”. */
  readonly act: string
  /** `primary` for an action that takes nothing away. */
  readonly tone?: 'danger' | 'primary'
  /** A word to be typed first, for an action that can't be undone. */
  readonly typed?: { readonly label: string; readonly word: string }
  /** Does it; the dialog stays open if it returns false. */
  readonly work: () => Promise<unknown>
  /** Called when the work is done, or with false if the dialog is dismissed. */
  readonly onClose: (done: boolean) => void
}

/** Asks for confirmation before an action that can't be undone. */
export function Confirm(parts: Parts): JSX.Element {
  const { title, help, children, act, tone = 'danger', typed, work, onClose } = parts
  const [word, setWord] = useState('')
  const doing = useWork(async () => {
    if ((await work()) !== false) onClose(true)
  })
  const isReady = !typed || word === typed.word
  return (
    <FormDialog
      title={title}
      act={act}
      tone={tone}
      work={doing}
      onSubmit={() => isReady && doing.run()}
      isOff={isReady ? undefined : true}
      onClose={() => onClose(false)}
    >
      <div class="stack">
        {help !== undefined && <p>{help}</p>}
        {children}
      </div>
      {typed && (
        <Field label={typed.label}>
          <Input autoComplete="off" spellcheck={false} value={word} onText={setWord} />
        </Field>
      )}
    </FormDialog>
  )
}
