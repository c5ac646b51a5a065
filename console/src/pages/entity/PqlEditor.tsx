import type { JSX, TargetedKeyboardEvent } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { service } from '../../api.ts'
import { type Entity, keyOf, pathOf } from '../../entities.ts'
import { formatNumber, t, tOf } from '../../i18n/i18n.ts'
import { placeAt, type Suggestion, suggest, written } from './pql.ts'
import { QueryFault } from './QueryFault.tsx'
import { asking, type Fault, RefusedCondition } from './refused.ts'
import { frequentValues } from './values.ts'
import { pqlOf, prefixOf } from './view.ts'

interface Parts {
  readonly entity: Entity
  readonly value: string
  readonly onInput: (text: string) => void
  readonly onApply: () => void
  /** The error with which the records of the page failed to load. */
  readonly problem: unknown
}

/** Time in ms without typing after which the text is checked. */
const patience = 350

/** A condition as text, with completion at the cursor, and a fault shown at its place. */
export function PqlEditor({ entity, value, onInput, onApply, problem }: Parts): JSX.Element {
  const id = useId()
  const area = useRef<HTMLTextAreaElement>(null)
  const [list, setList] = useState<readonly Suggestion[]>([])
  const [chosen, setChosen] = useState(0)
  const [open, setOpen] = useState(false)
  const fault = useFault(entity, value, problem)
  const example = useExample(entity)
  const shown = open && list.length > 0

  const look = async (text: string, cursor: number) => {
    const place = placeAt(text, cursor, entity.fields)
    const known = suggest(place, entity.fields)
    setList(known.slice(0, 12))
    setChosen(0)
    const { expected, begun } = place
    if (expected.kind !== 'value' || !expected.field || expected.field.type !== 'text') return
    const values = await frequentValues(entity, expected.field, begun.replaceAll('"', ''))
    // The text may have changed meanwhile.
    if (area.current?.value !== text || area.current.selectionStart !== cursor) return
    setList(values.map(one => ({ text: JSON.stringify(one.value), about: formatNumber(one.count) })))
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
    const { start } = placeAt(value, cursor, entity.fields)
    const after = value[cursor] === ' ' || text.endsWith('[') ? '' : ' '
    replace(start, cursor, text + after)
  }

  const onKeyDown = (event: TargetedKeyboardEvent<HTMLTextAreaElement>) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey || !shown) && !event.shiftKey) {
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
        {t('filter.pql.label', { name: tOf('entity', entity.name) })}
      </label>
      <div class="pql-input">
        <textarea
          ref={area}
          id={id}
          class="code-input"
          rows={Math.min(8, Math.max(2, value.split('\n').length))}
          aria-haspopup="listbox"
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-describedby={`${id}-hint`}
          {...(shown ? { 'aria-activedescendant': `${id}-${chosen}` } : {})}
          {...(fault ? { 'aria-invalid': 'true' } : {})}
          autoComplete="off"
          autoCapitalize="none"
          spellcheck={false}
          placeholder={example}
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
              : nearest => replace(fault.at ?? 0, wordEnd(value, fault.at ?? 0), nearest)
          }
        />
      )}
      <p class="small soft" id={`${id}-hint`}>
        {t('filter.pql.hint')}
      </p>
    </div>
  )
}

const wordEnd = (text: string, start: number) =>
  start + (/^(?:["\p{L}\p{N}_.-]+|[=<>!~&|]+)/u.exec(text.slice(start))?.[0].length ?? 0)

/**
 * Checks a condition by asking the service for its query plan, which finds every fault and reads no record. A
 * fault is shown as long as its text stays unchanged.
 */
function useFault(entity: Entity, text: string, problem: unknown): Fault | undefined {
  const [refused, setRefused] = useState<unknown>()
  const isKnown = problem instanceof RefusedCondition && problem.condition === text.trim()
  useEffect(() => {
    if (text.trim() === '' || isKnown) return
    const controller = new AbortController()
    const { signal } = controller
    const asked = { query: pqlOf(entity, text), explain: true }
    const timer = setTimeout(
      () =>
        asking(entity, text, prefixOf(entity), () =>
          service.value.request('GET', pathOf(), { query: asked, signal }),
        ).catch(error => signal.aborted || setRefused(error)),
      patience,
    )
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [entity, text, isKnown])
  const found = [problem, refused].find(
    one => one instanceof RefusedCondition && one.condition.trim() === text.trim(),
  )
  return found instanceof RefusedCondition ? found.fault : undefined
}

/** Maximum number of fields looked at for an example, and maximum length of a value that makes a good one. */
const mostFields = 4
const longest = 40

/** Returns an example of a condition with a value of the entity's own, once it is known. */
function useExample(entity: Entity): string {
  const [example, setExample] = useState('')
  useEffect(() => {
    let gone = false
    exampleFor(entity)
      .then(found => gone || setExample(found))
      .catch(() => {})
    return () => {
      gone = true
    }
  }, [entity])
  return example
}

/** Prefers a value that several records have. */
async function exampleFor(entity: Entity): Promise<string> {
  const keys = new Set(keyOf(entity))
  const others = entity.fields.filter(({ name }) => !keys.has(name))
  const texts = others.filter(({ type }) => type === 'text').slice(0, mostFields)
  let single = ''
  for (const field of texts) {
    const values = await frequentValues(entity, field)
    const found = values.find(({ value }) => value !== '' && value.length <= longest)
    if (!found) continue
    const example = `${written(field.name)} = ${JSON.stringify(found.value)}`
    if (found.count > 1) return example
    single ||= example
  }
  const number = others.find(({ type }) => type === 'integer' || type === 'number')
  return (
    single ||
    (number ? `${written(number.name)} > 5` : `${written(entity.fields[0]?.name ?? '')} is not null`)
  )
}
