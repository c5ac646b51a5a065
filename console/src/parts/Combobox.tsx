import type { JSX, Ref } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { t } from '../i18n/i18n.ts'
import { useLoad } from './load.ts'
import { cut } from './Value.tsx'
import './combobox.css'

/** Maximum number of rows offered; more of the text narrows them down. */
export const most = 8
/** Time in ms without typing after which the service is asked. */
export const pause = 150

export interface ComboboxInput {
  readonly text: string
  readonly onText: (text: string) => void
  readonly inputRef?: Ref<HTMLInputElement>
  readonly placeholder?: string
  readonly title?: string | undefined
  /** The name of the input, its hints and faults, which a `Field` gives it. */
  readonly id?: string
  readonly 'aria-label'?: string
  readonly 'aria-describedby'?: string
  readonly 'aria-invalid'?: 'true' | undefined
  readonly 'aria-busy'?: boolean
  readonly onKeyDown?: (event: KeyboardEvent) => void
  readonly onBlur?: () => void
}

interface Found<Row> {
  readonly items: readonly Row[]
  /** Number of all rows that fit, if it is known. */
  readonly total?: number
}

interface Parts<Row> extends ComboboxInput {
  /** The name of the list of rows. */
  readonly listLabel: string
  readonly find: (text: string, signal: AbortSignal) => Promise<Found<Row>>
  /** Rows are asked for again when this changes. */
  readonly on: unknown
  readonly idOf: (row: Row) => string
  readonly nameOf?: (row: Row) => string
  /** Returns a note that tells the row from others of the same name. */
  readonly noteOf?: ((row: Row) => string) | undefined
  /** Index of the row that Enter takes before an arrow key has chosen one; -1 for none. */
  readonly first?: 0 | -1
  readonly onTake: (row: Row) => void
}

/** A combobox (ARIA 1.2, list autocomplete) that offers rows of the service for what is typed. */
export function Combobox<Row>({
  text,
  onText,
  inputRef,
  onKeyDown,
  onBlur,
  listLabel,
  find,
  on,
  idOf,
  nameOf = idOf,
  noteOf,
  first = 0,
  onTake,
  ...parts
}: Parts<Row>): JSX.Element {
  const list = useId()
  const [isOpen, setOpen] = useState(false)
  const [chosen, setChosen] = useState<number>(first)
  const [asked, setAsked] = useState<string>()
  useEffect(() => {
    if (!isOpen) return
    const timer = setTimeout(() => setAsked(text), asked === undefined ? 0 : pause)
    return () => clearTimeout(timer)
  }, [text, isOpen])
  const { value, problem, loading } = useLoad(
    async signal => (asked === undefined ? undefined : find(asked, signal)),
    [on, asked],
  )
  const found = value?.items ?? []
  const more = Math.max(0, (value?.total ?? 0) - found.length)
  const isShown = isOpen && asked !== undefined && found.length > 0
  const isAnswered = isOpen && asked !== undefined && !loading
  const at = Math.min(chosen, found.length - 1)
  const whole = useRef<HTMLSpanElement>(null)
  const panel = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    if (!isShown) return
    const place = () => placeBelow(whole.current, panel.current)
    panel.current?.showPopover()
    place()
    addEventListener('scroll', place, { capture: true, passive: true })
    addEventListener('resize', place)
    return () => {
      removeEventListener('scroll', place, { capture: true })
      removeEventListener('resize', place)
      panel.current?.hidePopover()
    }
  }, [isShown, found])
  const take = (row: Row | undefined) => {
    if (row === undefined) return
    onTake(row)
    setOpen(false)
    setChosen(first)
  }
  return (
    <span class="picker" ref={whole}>
      <input
        {...(parts as object)}
        {...(inputRef && { ref: inputRef })}
        role="combobox"
        aria-expanded={isShown}
        aria-controls={list}
        aria-autocomplete="list"
        {...(isShown && at >= 0 ? { 'aria-activedescendant': `${list}-${at}` } : {})}
        autoComplete="off"
        spellcheck={false}
        value={text}
        onClick={() => setOpen(true)}
        onInput={event => {
          setOpen(true)
          setChosen(first)
          onText(event.currentTarget.value)
        }}
        onBlur={() => {
          setOpen(false)
          onBlur?.()
        }}
        onKeyDown={event => {
          const step = { ArrowDown: 1, ArrowUp: found.length - 1 }[event.key]
          if (step !== undefined && !event.altKey) {
            event.preventDefault()
            event.stopPropagation()
            if (isShown) setChosen((Math.max(at, step === 1 ? -1 : 0) + step) % found.length)
            else setOpen(true)
          } else if (isShown && event.key === 'Enter' && !event.isComposing && asked === text) {
            event.preventDefault()
            event.stopPropagation()
            take(found[at])
          } else if (isShown && event.key === 'Escape') {
            event.preventDefault()
            event.stopPropagation()
            setOpen(false)
          } else onKeyDown?.(event)
        }}
      />
      <div ref={panel} popover="manual" id={list} role="listbox" aria-label={listLabel} class="picker-list">
        {isShown &&
          found.map((row, place) => (
            // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the text
            // biome-ignore lint/a11y/useKeyWithClickEvents: the text hears the keys
            <div
              key={idOf(row)}
              id={`${list}-${place}`}
              role="option"
              aria-selected={place === at}
              // The focus stays in the text, and a press can still be taken back.
              onPointerDown={event => event.preventDefault()}
              onMouseDown={event => event.preventDefault()}
              onClick={() => take(row)}
              ref={element => {
                if (place === at) element?.scrollIntoView({ block: 'nearest' })
              }}
            >
              <bdi>{cut(nameOf(row), 60)}</bdi>
              {noteOf && <bdi class="soft small">{cut(noteOf(row), 120)}</bdi>}
            </div>
          ))}
      </div>
      <span class={found.length > 0 && more === 0 ? 'sr-only' : 'soft small'} role="status">
        {isAnswered && said(problem, found.length, more)}
      </span>
    </span>
  )
}

function said(problem: unknown, count: number, more: number): string {
  if (problem !== undefined) return problem instanceof Error ? problem.message : t('failed')
  if (count === 0) return t('search.none')
  return [t('pick.count', { n: count }), more > 0 && t('applied.more', { n: more })].filter(Boolean).join(' ')
}

/** Distance in px between a panel and its input, and the edge of the window. */
const gap = 4

/** Places a panel below an input, or above it where there is more room. */
function placeBelow(input: HTMLElement | null, panel: HTMLElement | null): void {
  if (!input || !panel) return
  const { left, top, bottom, width } = input.getBoundingClientRect()
  const { clientWidth, clientHeight } = document.documentElement
  const isAbove = clientHeight - bottom < Math.min(panel.scrollHeight, 240) && top > clientHeight - bottom
  const room = (isAbove ? top : clientHeight - bottom) - 2 * gap
  panel.style.minWidth = `${Math.min(width, clientWidth - 2 * gap)}px`
  panel.style.maxHeight = `${Math.min(room, 320)}px`
  panel.style.left = `${Math.max(gap, Math.min(left, clientWidth - panel.offsetWidth - gap))}px`
  panel.style.top = isAbove ? `${top - gap - panel.offsetHeight}px` : `${bottom + gap}px`
}
