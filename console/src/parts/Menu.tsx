import type { IconNode } from 'lucide'
import type { ComponentChildren, JSX } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { ChevronDown } from '../icons.ts'
import { Button } from './controls.tsx'
import { Icon } from './Icon.tsx'
import './dialog.css'

interface Parts {
  /** The content of the button. */
  readonly button: ComponentChildren
  /** An icon before it. */
  readonly icon?: IconNode
  /** The size of an arrow behind it. */
  readonly arrow?: number
  /** The name of the button, needed if its content is a picture. */
  readonly label?: string
  readonly buttonClass?: string
  /** The direction in which the panel opens; below the button and aligned with its right edge by default. */
  readonly side?: 'left' | 'up' | 'left up'
  /** The content of the panel: actions with the class `menu-item`, or anything else, such as checkboxes. */
  readonly children: ComponentChildren | ((close: () => void) => ComponentChildren)
}

/**
 * A button that opens a small panel. Arrow keys move between its controls; Escape and a click elsewhere close
 * it.
 */
export function Menu(parts: Parts): JSX.Element {
  const { button, icon, arrow, label, buttonClass = 'button', side, children } = parts
  const [open, setOpen] = useState(false)
  const id = useId()
  const whole = useRef<HTMLDivElement>(null)
  const opener = useRef<HTMLButtonElement>(null)
  const close = () => setOpen(false)

  // Before the page is painted: a panel that is outside of the window makes the page wider for a moment.
  useLayoutEffect(() => {
    if (!open) return
    intoWindow(whole.current?.querySelector<HTMLElement>('.menu-list'))
    stops(whole.current)[0]?.focus()
    const elsewhere = (event: Event) => {
      if (!whole.current?.contains(event.target as Node)) close()
    }
    addEventListener('pointerdown', elsewhere)
    addEventListener('focusin', elsewhere)
    return () => {
      removeEventListener('pointerdown', elsewhere)
      removeEventListener('focusin', elsewhere)
    }
  }, [open])

  const onKeyDown = (event: KeyboardEvent) => {
    if (!open) return
    if (event.key === 'Escape') {
      event.stopPropagation()
      close()
      opener.current?.focus()
      return
    }
    // In a select element, the arrow keys choose the value.
    if (event.target instanceof HTMLSelectElement) return
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const isText = event.target instanceof HTMLInputElement && event.target.type !== 'checkbox'
    if (step === undefined || (isText && event.target.value !== '' && step < 0)) return
    event.preventDefault()
    const all = stops(whole.current)
    const at = all.indexOf(document.activeElement as HTMLElement)
    all[(at + step + all.length) % all.length]?.focus()
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of the controls inside
    <div class={`menu ${side ?? ''}`} ref={whole} onKeyDown={onKeyDown}>
      <button
        type="button"
        ref={opener}
        class={buttonClass}
        aria-expanded={open}
        aria-controls={id}
        {...(label ? { 'aria-label': label, title: label } : {})}
        onClick={() => setOpen(!open)}
      >
        {icon && <Icon of={icon} />}
        {button}
        {arrow && <Icon of={ChevronDown} size={arrow} />}
      </button>
      {open && (
        <div id={id} class="menu-list">
          {typeof children === 'function' ? children(close) : children}
        </div>
      )}
    </div>
  )
}

interface MenuEntriesParts {
  readonly of: readonly (readonly [label: string, act: () => unknown, icon?: IconNode])[]
  readonly close: () => void
}

/** The entries of a menu, which close it. @param close comes from the menu */
export const MenuEntries = ({ of, close }: MenuEntriesParts): JSX.Element => (
  <>
    {of.map(([label, act, icon]) => (
      <Button
        look="menu"
        key={label}
        label={label}
        {...(icon && { icon })}
        onClick={() => {
          close()
          act()
        }}
      />
    ))}
  </>
)

/** Minimum distance in px between a panel and the edge of the window. */
const edge = 8

/** Moves a panel so that all of it is inside the window, wherever its button is. */
function intoWindow(panel: HTMLElement | null | undefined): void {
  if (!panel) return
  const { left, right } = panel.getBoundingClientRect()
  const { clientWidth } = document.documentElement
  const shift = Math.max(edge - left, Math.min(0, clientWidth - edge - right))
  panel.style.setProperty('--shift', `${shift}px`)
}

const stops = (element: Element | null): HTMLElement[] => [
  ...(element?.querySelectorAll<HTMLElement>(
    '.menu-list :is(a[href], button, input, select):not(:disabled)',
  ) ?? []),
]
