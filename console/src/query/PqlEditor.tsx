import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { service } from '../api.ts'
import { type Entity, entities, keyOf, pathOf } from '../entities.ts'
import { t, tOf } from '../i18n/i18n.ts'
import { suggestAt } from './completion.ts'
import { frequentValues } from './frequent-values.ts'
import { pqlOf, prefixOf, written } from './pql.ts'
import { QueryEditor } from './QueryEditor.tsx'
import { asking, type Fault, Refused } from './refused.ts'

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
    suggestAt={(text, cursor) => suggestAt(text, cursor, entities.value ?? [], entity)}
  />
)

/**
 * Checks a condition by asking the service for its query plan, which finds every fault and reads no record. A
 * fault is shown as long as its text stays unchanged.
 */
function useFault(entity: Entity, text: string, problem: unknown): Fault | undefined {
  const [refused, setRefused] = useState<unknown>()
  const isKnown = problem instanceof Refused && problem.text === text.trim()
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
  const found = [problem, refused].find(one => one instanceof Refused && one.text.trim() === text.trim())
  return found instanceof Refused ? found.fault : undefined
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
