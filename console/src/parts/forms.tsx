import type { ComponentChildren, JSX } from 'preact'
import { t } from '../i18n/i18n.ts'
import { Button, Form, Submit } from './controls.tsx'
import { Dialog } from './Dialog.tsx'
import type { Work } from './load.ts'
import { ProblemNotice } from './states.tsx'

/** A form does some work, or something that is done at once. */
type Sent =
  | {
      readonly work: Work
      /** Called when the form is submitted; runs the work by default. */
      readonly onSubmit?: () => void
    }
  | { readonly work?: never; readonly onSubmit: () => void }

interface DialogParts {
  readonly title: string
  /** The label of the button that acts. It names the action, unlike “OK”. */
  readonly act: string
  readonly tone?: 'danger' | 'primary'
  /** True while the form can't be sent. */
  readonly isOff?: boolean | undefined
  readonly onClose: () => void
  readonly children: ComponentChildren
}

/** A form in a dialog, which is sent or left. */
export function FormDialog(parts: DialogParts & Sent): JSX.Element {
  const { title, act, tone = 'primary', work, isOff, onClose, children } = parts
  const submit = parts.work ? (parts.onSubmit ?? parts.work.run) : parts.onSubmit
  return (
    <Dialog
      title={title}
      onClose={onClose}
      onSubmit={submit}
      footer={
        <>
          <Button label={t('cancel')} onClick={onClose} />
          <Submit look={tone} label={act} busy={work?.busy} aria-disabled={isOff} />
        </>
      }
    >
      {children}
      <ProblemNotice problem={work?.problem} />
    </Dialog>
  )
}

interface ChangeParts {
  /** True until something was changed. */
  readonly isSame: boolean
  readonly work: Work
  readonly onSubmit?: () => void
  readonly children: ComponentChildren
}

/** A form for values that exist already, which is sent once something was changed. */
export const ChangeForm = ({ isSame, work, onSubmit = work.run, children }: ChangeParts): JSX.Element => (
  <Form class="stack form" onSubmit={() => isSame || onSubmit()}>
    {children}
    <ProblemNotice problem={work.problem} />
    <div>
      <Submit label={t('save')} busy={work.busy} aria-disabled={isSame} />
    </div>
  </Form>
)
