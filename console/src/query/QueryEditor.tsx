import type { JSX, TargetedKeyboardEvent } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'
import { t } from '../i18n/i18n.ts'
import type { Suggested, Suggestion } from './completion.ts'
import { QueryFault } from './QueryFault.tsx'
import type { Fault } from './refused.ts'

interface Parts {
  readonly label: string
  readonly hint: string
  readonly placeholder: string
  readonly value: string
  readonly onInput: (text: string) => void
  readonly onApply: () => void
  /** The key that applies the text: Enter begins a new line where queries are long. */
  readonly applies: 'enter' | 'ctrl-enter'
  readonly fault: Fault | undefined
  readonly suggestAt: (text: string, cursor: number) => Suggested
}

/** Maximum number of suggestions that need no request. */
const mostShown = 12

/** A query as text, with completion at the cursor, and a fault shown at its place. */
export function QueryEditor(parts: Parts): JSX.Element {
  const { label, hint, placeholder, value, onInput, onApply, applies, fault, suggestAt } = parts
  const id = useId()
  const area = useRef<HTMLTextAreaElement>(null)
  const [list, setList] = useState<readonly Suggestion[]>([])
  const [chosen, setChosen] = useState(0)
  const [open, setOpen] = useState(false)
  const shown = open && list.length > 0

  const look = async (text: string, cursor: number) => {
    const { list: known, more } = suggestAt(text, cursor)
    setList(known.slice(0, mostShown))
    setChosen(0)
    if (!more) return
    const found = await more()
    // The text may have changed meanwhile.
    if (area.current?.value !== text || area.current.selectionStart !== cursor) return
    setList(found)
  }

  const replace = (start: number, end: number, inserted: string) => {
    const element = area.current
    if (!element) return
    // The text changes at once, with the cursor after the insertion, because the next key may follow
    // immediately.
    element.setRangeText(inserted, start, end, 'end')
    element.focus()
    onInput(element.value)
    look(element.value, element.selectionStart).catch(() => {})
  }

  const take = ({ text }: Suggestion) => {
    const cursor = area.current?.selectionStart ?? value.length
    const { start } = suggestAt(value, cursor)
    const after = value[cursor] === ' ' || /[[(]$/.test(text) ? '' : ' '
    replace(start, cursor, text + after)
  }

  const onKeyDown = (event: TargetedKeyboardEvent<HTMLTextAreaElement>) => {
    const isApplied = event.ctrlKey || event.metaKey || (applies === 'enter' && !shown && !event.shiftKey)
    if (event.key === 'Enter' && isApplied) {
      event.preventDefault()
      setOpen(false)
      onApply()
    } else if (event.key === ' ' && event.ctrlKey) {
      event.preventDefault()
      setOpen(true)
      look(value, event.currentTarget.selectionStart).catch(() => {})
    } else if (shown && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
      event.preventDefault()
      setChosen((chosen + (event.key === 'ArrowDown' ? 1 : list.length - 1)) % list.length)
    } else if (shown && (event.key === 'Enter' || event.key === 'Tab') && !event.shiftKey) {
      const suggestion = list[chosen]
      if (!suggestion) return
      event.preventDefault()
      take(suggestion)
    } else if (open && event.key === 'Escape') {
      // Suggestions may be on their way.
      if (shown) event.preventDefault()
      setOpen(false)
    }
  }

  return (
    <div class="pql">
      <label class="sr-only" for={id}>
        {label}
      </label>
      <div class="pql-input">
        <textarea
          ref={area}
          id={id}
          class="code-input"
          rows={Math.min(14, Math.max(applies === 'enter' ? 2 : 4, value.split('\n').length))}
          aria-haspopup="listbox"
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-describedby={`${id}-hint`}
          {...(shown ? { 'aria-activedescendant': `${id}-${chosen}` } : {})}
          {...(fault ? { 'aria-invalid': 'true' } : {})}
          autoComplete="off"
          autoCapitalize="none"
          spellcheck={false}
          placeholder={placeholder}
          value={value}
          onInput={event => {
            onInput(event.currentTarget.value)
            setOpen(true)
            look(event.currentTarget.value, event.currentTarget.selectionStart).catch(() => {})
          }}
          onKeyDown={onKeyDown}
          onBlur={() => setOpen(false)}
        />
        <div
          role="listbox"
          id={`${id}-list`}
          aria-label={t('filter.pql.suggestions')}
          class={shown ? 'suggestions' : ''}
        >
          {shown &&
            list.map((one, at) => (
              // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the text
              <div
                key={one.text}
                id={`${id}-${at}`}
                role="option"
                aria-selected={at === chosen}
                class="suggestion"
                onPointerDown={event => {
                  event.preventDefault()
                  take(one)
                }}
                ref={element => {
                  if (at === chosen) element?.scrollIntoView({ block: 'nearest' })
                }}
              >
                <bdi>{one.text}</bdi>
                {one.about && <span class="soft small number">{one.about}</span>}
              </div>
            ))}
        </div>
      </div>
      {fault && !shown && (
        <QueryFault
          fault={fault}
          onInstead={onInput}
          onNearest={
            fault.at === undefined
              ? undefined
              : nearest => replace(fault.at ?? 0, (fault.at ?? 0) + (fault.word ?? '').length, nearest)
          }
        />
      )}
      <p class="small soft" id={`${id}-hint`}>
        {hint}
      </p>
    </div>
  )
}
