import type { JSX, Ref } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { service } from '../../api.ts'
import {
  type DataRecord,
  type Entity,
  type EntityField,
  entities,
  keyOf,
  keyText,
  pathOf,
  recordPath,
} from '../../entities.ts'
import { readExactly } from '../../exact.ts'
import { t, tOf } from '../../i18n/i18n.ts'
import { useLoad } from '../../parts/load.ts'
import { cut } from '../../parts/Value.tsx'
import { href } from '../../router.ts'
import { written } from '../entity/pql.ts'
import { nameField, pqlOf } from '../entity/view.ts'
import { hasWord } from '../search/search.ts'
import './picker.css'

/** Maximum number of records offered; more of the name narrows them down. */
const most = 8
/** Time in ms without typing after which the service is asked. */
const pause = 150

interface Parts {
  /** The entity of the records. */
  readonly of: Entity
  /** The key as it is typed, or words of the record that is looked for. */
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

/** The entity whose records a field references, if the caller may read it. */
export const referencedBy = ({ references }: Pick<EntityField, 'references'>): Entity | undefined =>
  references === undefined ? undefined : entities.value?.find(({ name }) => name === references)

/**
 * A combobox (ARIA 1.2, list autocomplete) for a reference: words and keys are searched among the records that it
 * can lead to, and the key of the chosen one becomes its value.
 */
export function RecordPicker({
  of: other,
  text,
  onText,
  inputRef,
  onKeyDown,
  onBlur,
  ...parts
}: Parts): JSX.Element {
  const list = useId()
  const [isOpen, setOpen] = useState(false)
  const [chosen, setChosen] = useState(0)
  const [asked, setAsked] = useState<string>()
  useEffect(() => {
    if (!isOpen) return
    const timer = setTimeout(() => setAsked(text), asked === undefined ? 0 : pause)
    return () => clearTimeout(timer)
  }, [text, isOpen])
  const { value: found = [], loading } = useLoad(
    async signal => (asked === undefined ? [] : find(other, asked, signal)),
    [other, asked],
  )
  const isShown = isOpen && asked !== undefined && found.length > 0
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
  const take = (record: DataRecord | undefined) => {
    if (!record) return
    onText(keyText(other, record))
    setOpen(false)
  }
  const name = besideKey(other)
  return (
    <span class="picker" ref={whole}>
      <input
        {...(parts as object)}
        {...(inputRef && { ref: inputRef })}
        role="combobox"
        aria-expanded={isShown}
        aria-controls={list}
        aria-autocomplete="list"
        {...(isShown ? { 'aria-activedescendant': `${list}-${at}` } : {})}
        autoComplete="off"
        spellcheck={false}
        value={text}
        onClick={() => setOpen(true)}
        onInput={event => {
          setOpen(true)
          setChosen(0)
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
            if (isShown) setChosen((at + step) % found.length)
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
      <div
        ref={panel}
        popover="manual"
        id={list}
        role="listbox"
        aria-label={t('pick.list', { name: tOf('entity', other.name) })}
        class="picker-list"
      >
        {isShown &&
          found.map((record, place) => (
            // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the text
            <div
              key={keyText(other, record)}
              id={`${list}-${place}`}
              role="option"
              aria-selected={place === at}
              onPointerDown={event => {
                event.preventDefault()
                take(record)
              }}
              ref={element => {
                if (place === at) element?.scrollIntoView({ block: 'nearest' })
              }}
            >
              <bdi>{cut(keyText(other, record), 60)}</bdi>
              {name && <bdi class="soft small">{cut(String(record[name.name] ?? ''), 120)}</bdi>}
            </div>
          ))}
      </div>
      <span class="sr-only" role="status">
        {isOpen && asked !== undefined && !loading && t('pick.count', { n: found.length })}
      </span>
    </span>
  )
}

/** The record that a value leads to, as a link that says its name. It opens beside what is being typed. */
export function ReferencedRecord({
  of: other,
  text,
}: {
  readonly of: Entity
  readonly text: string
}): JSX.Element | null {
  const { value } = useLoad(
    async signal => {
      if (text.trim() === '') return undefined
      await new Promise(resolve => setTimeout(resolve, pause))
      signal.throwIfAborted()
      // Asked as a list, because browsers log a record that isn't there.
      return (await find(other, text, signal, true))[0]
    },
    [other, text],
  )
  const name = besideKey(other)
  if (!value || keyText(other, value) !== text.trim()) return null
  return (
    <a href={href(recordPath(other, value))} target="_blank" rel="noopener">
      <bdi>{cut(String((name && value[name.name]) ?? text), 120)}</bdi>
    </a>
  )
}

/** The field that says besides the key which record it is. */
function besideKey(other: Entity): EntityField | undefined {
  const keys = keyOf(other)
  const name = nameField(other)
  return name && !keys.includes(name.name)
    ? name
    : other.fields.find(field => field.type === 'text' && !keys.includes(field.name))
}

/** Finds records by their key, or by words that they have. A record with exactly this key comes first. */
async function find(
  other: Entity,
  text: string,
  signal: AbortSignal,
  isKey = false,
): Promise<readonly DataRecord[]> {
  const typed = text.trim()
  const [key = ''] = keyOf(other)
  const type = other.fields.find(field => field.name === key)?.type
  const literal =
    type === 'integer' || type === 'number'
      ? /^-?(0|[1-9]\d*)(\.\d+)?$/.test(typed)
        ? typed
        : undefined
      : JSON.stringify(typed)
  const words = typed.replaceAll(/["*\\]/g, ' ').trim()
  const conditions = [
    ...(literal !== undefined && typed !== '' ? [`${written(key)} = ${literal}`] : []),
    ...(hasWord(words) && !isKey && other.fields.some(field => field.type === 'text' || field.type === 'json')
      ? [`* match ${JSON.stringify(`${words}*`)}`]
      : []),
  ]
  if (typed !== '' && conditions.length === 0) return []
  const [path, query] =
    typed === '' ? [pathOf(other.name)] : [pathOf(), pqlOf(other, conditions.join(' or '))]
  const response = await service.value.request('GET', path, { query: { query, limit: most }, signal })
  const records = readExactly(await response.text()) as readonly DataRecord[]
  const [exact, rest] = [true, false].map(is =>
    records.filter(record => (keyText(other, record) === typed) === is),
  )
  return [...(exact ?? []), ...(rest ?? [])]
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
