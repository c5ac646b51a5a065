import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { service } from '../api.ts'
import { type Entity, entities, keyOf, pathOf, withRelated } from '../entities.ts'
import { formatNumber, t, tOf } from '../i18n/i18n.ts'
import { frequentValues } from './frequent-values.ts'
import { type Place, placeAt, pqlOf, prefixOf, suggest, written } from './pql.ts'
import { QueryEditor, type Suggested } from './QueryEditor.tsx'
import { asking, type Fault, RefusedCondition } from './refused.ts'

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

/** A condition as PQL. */
export const PqlEditor = ({ entity, value, onInput, onApply, problem }: Parts): JSX.Element => (
  <QueryEditor
    label={t('filter.pql.label', { name: tOf('entity', entity.name) })}
    hint={t('filter.pql.hint')}
    placeholder={useExample(entity)}
    value={value}
    onInput={onInput}
    onApply={onApply}
    applies="enter"
    fault={useFault(entity, value, problem)}
    suggestAt={(text, cursor) => {
      const known = withRelated(entity, entities.value ?? [])
      return suggestedAt(known, placeAt(text, cursor, known.fields))
    }}
  />
)

/** Suggests what may stand in a condition: what the console knows, and frequent values of a field. */
export function suggestedAt(entity: Entity, place: Place): Suggested {
  const { expected, begun, start } = place
  const list = suggest(place, entity.fields)
  const field = expected.kind === 'value' && expected.field?.type === 'text' ? expected.field : undefined
  if (!field) return { start, list }
  const more = async () =>
    (await frequentValues(entity, field, begun.replaceAll('"', ''))).map(one => ({
      text: JSON.stringify(one.value),
      about: formatNumber(one.count),
    }))
  return { start, list, more }
}

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
