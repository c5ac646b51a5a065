import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { Button } from './controls.tsx'
import { Notice } from './states.tsx'
import './dialog.css'

interface Toast {
  readonly id: number
  readonly text: string
  readonly tone: 'good' | 'bad'
  readonly action?: Action | undefined
}

/** A button in a toast. */
interface Action {
  readonly label: string
  readonly run: () => void
}

const toasts = signal<readonly Toast[]>([])
let count = 0

/** Confirms an action for some seconds. A failure is shown in place instead. */
export function toast(text: string, tone: Toast['tone'] = 'good', action?: Action): void {
  const id = ++count
  // What an earlier button would do is no longer the last action.
  const others = action ? toasts.value.filter(one => !one.action) : toasts.value
  toasts.value = [...others.slice(-2), { id, text, tone, action }]
  setTimeout(() => remove(id), action ? 15_000 : 6_000)
}

/** Removes the toasts with a button. */
export const forgetActions = (): void => {
  toasts.value = toasts.peek().filter(one => !one.action)
}

const remove = (id: number) => {
  toasts.value = toasts.value.filter(one => one.id !== id)
}

export const Toasts = (): JSX.Element => (
  <div class="toasts" aria-live="polite">
    {toasts.value.map(({ id, text, tone, action }) => (
      <Notice key={id} tone={tone}>
        {text}
        {action && (
          <>
            {' '}
            <Button
              look="link"
              label={action.label}
              onClick={() => {
                remove(id)
                action.run()
              }}
            />
          </>
        )}
      </Notice>
    ))}
  </div>
)
