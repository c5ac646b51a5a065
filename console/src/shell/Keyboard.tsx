import { signal } from '@preact/signals'
import type { ComponentType, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { t } from '../i18n/i18n.ts'
import { Search } from '../icons.ts'
import { Button } from '../parts/controls.tsx'

type Part = ComponentType<{ readonly onClose: () => void }>

/** Loaded when they are opened for the first time. */
const parts = {
  go: () => import('./keyboard/GoTo.tsx'),
  keys: () => import('./keyboard/Keys.tsx'),
} as const satisfies Record<string, () => Promise<{ readonly default: Part }>>

const opened = signal<keyof typeof parts | undefined>(undefined)

/** Finds out which dialog a key opens. What is typed into a field stays there. */
function openedBy({ key, ctrlKey, metaKey, altKey, target }: KeyboardEvent): keyof typeof parts | undefined {
  if (document.querySelector('dialog[open]')) return undefined
  if (key.toLowerCase() === 'k' && (ctrlKey || metaKey) && !altKey) return 'go'
  const isTyped = (target as Element | null)?.closest('input, textarea, select, [contenteditable]')
  return key === '?' && !ctrlKey && !metaKey && !isTyped ? 'keys' : undefined
}

/** Puts the cursor into the search box of the page; a page without one searches everywhere. */
function goesToSearch(event: KeyboardEvent): boolean {
  const { key, ctrlKey, metaKey, altKey, target } = event
  const isTyped = (target as Element | null)?.closest('input, textarea, select, [contenteditable]')
  if (key !== '/' || ctrlKey || metaKey || altKey || isTyped || document.querySelector('dialog[open]'))
    return false
  const box = document.querySelector<HTMLInputElement>('main input[type="search"]')
  event.preventDefault()
  if (box) box.focus()
  else opened.value = 'go'
  return true
}

/** Listens for the keys that work on every page, and shows what they open. */
export function Keyboard(): JSX.Element | null {
  const now = opened.value
  const [shown, setShown] = useState<{ readonly of: typeof now; readonly Part: Part }>()
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (goesToSearch(event)) return
      const next = openedBy(event)
      if (!next) return
      event.preventDefault()
      opened.value = next
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [])
  useEffect(() => {
    if (now === undefined) return
    parts[now]().then(
      ({ default: part }) => setShown({ of: now, Part: part }),
      // Without a connection, nothing opens.
      () => close(),
    )
  }, [now])
  return now !== undefined && shown?.of === now ? <shown.Part onClose={close} /> : null
}

const close = () => {
  opened.value = undefined
}

/** Opens the search for pages, for those who don't know its key. */
export const GoToButton = (): JSX.Element => (
  <Button
    icon={Search}
    class="button quiet go-to"
    onClick={event => {
      // In a narrow window, the button is in a drawer that is in the way.
      event.currentTarget.closest('dialog')?.close()
      opened.value = 'go'
    }}
  >
    <span>{t('go.do')}</span>
    <kbd>{t('key.go')}</kbd>
  </Button>
)
