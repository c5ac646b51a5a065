import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { Notice } from './states.tsx'
import './dialog.css'

interface Toast {
  readonly id: number
  readonly text: string
  readonly tone: 'good' | 'bad'
}

const toasts = signal<readonly Toast[]>([])
let count = 0

/** Confirms an action for some seconds. A failure is shown in place instead. */
export function toast(text: string, tone: Toast['tone'] = 'good'): void {
  const id = ++count
  toasts.value = [...toasts.value.slice(-2), { id, text, tone }]
  setTimeout(() => {
    toasts.value = toasts.value.filter(one => one.id !== id)
  }, 6_000)
}

export const Toasts = (): JSX.Element => (
  <div class="toasts" aria-live="polite">
    {toasts.value.map(({ id, text, tone }) => (
      <Notice key={id} tone={tone}>
        {text}
      </Notice>
    ))}
  </div>
)
