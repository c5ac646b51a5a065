import type { ComponentChildren, JSX } from 'preact'
import { t } from '../i18n/i18n.ts'
import { Dialog } from './Dialog.tsx'
import { useWork } from './load.ts'
import { ProblemNotice } from './states.tsx'

interface Parts {
  readonly title: string
  /** What happens, for those who have to decide. */
  readonly children: ComponentChildren
  /** What the button says: the deed, not “OK”. */
  readonly act: string
  readonly work: () => Promise<unknown>
  /** Afterwards, and when somebody thinks better of it. */
  readonly onClose: (done: boolean) => void
}

/** Asks before what can't be undone. */
export function Confirm({ title, children, act, work, onClose }: Parts): JSX.Element {
  const doing = useWork(async () => {
    await work()
    onClose(true)
  })
  return (
    <Dialog
      title={title}
      onClose={() => onClose(false)}
      onSubmit={doing.run}
      footer={
        <>
          <button type="button" class="button" onClick={() => onClose(false)}>
            {t('cancel')}
          </button>
          <button type="submit" class="button danger" aria-busy={doing.busy}>
            {act}
          </button>
        </>
      }
    >
      <div class="soft">{children}</div>
      <ProblemNotice problem={doing.problem} />
    </Dialog>
  )
}
