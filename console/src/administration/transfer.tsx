import type { Process } from '@carrel/client/processes'
import { uploadInPieces } from '@carrel/client/uploads'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { service } from '../api.ts'
import { a } from '../i18n/admin.ts'
import { formatBytes, t } from '../i18n/i18n.ts'
import { useStopper } from '../parts/abort.ts'
import { Button } from '../parts/controls.tsx'
import './processes.css'

interface Sent {
  readonly file: File
  readonly upload: string
}

/** The way of a file: it is chosen, sent as an upload, and read by a process. */
export type Transfer =
  | { readonly at: 'start' }
  | { readonly at: 'chosen'; readonly file: File }
  | { readonly at: 'sending'; readonly file: File; readonly done: number }
  | (Sent & { readonly at: 'sent' })
  | (Sent & {
      readonly at: 'process'
      readonly id: string
      /** True if the process only says what would happen. */
      readonly isDry?: boolean
      readonly ended?: Process
    })

/** Keeps the state of a transfer, and sends its file. */
export function useTransfer() {
  const [transfer, set] = useState<Transfer>({ at: 'start' })
  const stopper = useStopper()
  /**
   * Sends a file in pieces. If it is stopped or fails, the file stays chosen.
   * @param before done first, while the file counts as being sent
   * @param after returns the state that follows; until then, too, the file counts as being sent
   */
  const send = async (
    file: File,
    before: () => Promise<void> = async () => {},
    after: (sent: Sent) => Promise<Transfer> = async sent => ({ at: 'sent', ...sent }),
  ) => {
    const signal = stopper.begin()
    let left: Transfer = { at: 'chosen', file }
    set({ at: 'sending', file, done: 0 })
    try {
      await before()
      const onProgress = ({ done }: { readonly done: number }) => set({ at: 'sending', file, done })
      const upload = await uploadInPieces(service.value, file, { signal, onProgress })
      left = { at: 'sent', file, upload }
      left = await after({ file, upload })
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      set(left)
    }
  }
  return { transfer, set, send, stop: stopper.stop }
}

interface Parts {
  readonly file: File
  readonly done: number
  readonly isChecked?: boolean
  readonly onStop: () => void
}

/** The progress of a file that is being sent. @param isChecked true if the service checks the whole file at the end */
export function Sending({ file, done, isChecked = false, onStop }: Parts): JSX.Element {
  const isChecking = isChecked && done >= file.size
  return (
    <div class="sending" role="status">
      <p>
        <bdi>{file.name}</bdi>{' '}
        <span class="soft number">
          {isChecking ? a('import.checking') : `${formatBytes(done)} / ${formatBytes(file.size)}`}
        </span>
      </p>
      <progress
        aria-label={a('import.sending', { name: file.name })}
        {...(isChecking ? {} : { value: done, max: Math.max(1, file.size) })}
      />
      <Button label={t('cancel')} onClick={onStop} />
    </div>
  )
}
