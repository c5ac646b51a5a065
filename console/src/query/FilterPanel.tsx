import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Entity } from '../entities.ts'
import { t } from '../i18n/i18n.ts'
import { Button, Form, Submit } from '../parts/controls.tsx'
import { useDraft } from '../parts/draft.ts'
import { recall, remember } from '../settings.ts'
import { Builder, conditionFor } from './Builder.tsx'
import { conditionAt, type Filter, needsValue, printFilter, readFilter, wrongValue } from './conditions.ts'
import { PqlEditor } from './PqlEditor.tsx'
import { QueryFault } from './QueryFault.tsx'
import { Refused } from './refused.ts'

interface FilterPanelParts {
  readonly entity: Entity
  readonly condition: string
  /** The error with which the records of the page failed to load. */
  readonly problem: unknown
  readonly onApply: (condition: string) => void
}

/**
 * Edits the filter as single conditions or as PQL. Conditions are used as long as they can express the
 * filter.
 */
export function FilterPanel({ entity, condition, problem, onApply }: FilterPanelParts): JSX.Element {
  const draft = useDraft(`filter.${entity.name}`, condition)
  const read = readFilter(draft.value, entity.fields)
  const [mode, setMode] = useState<'hand' | 'pql'>(read && recall('filter') !== 'pql' ? 'hand' : 'pql')
  const choose = (next: 'hand' | 'pql') => {
    remember('filter', next)
    setMode(next)
  }
  const [first] = entity.fields
  const start: Filter = { join: 'and', conditions: first ? [conditionFor(first)] : [] }
  const [filter, setFilter] = useState<Filter>(read && read.conditions.length > 0 ? read : start)

  // The filter was changed elsewhere, such as by Back. The first one is shown already, and what was chosen before this
  // runs must stay.
  const shown = useRef(condition)
  useEffect(() => {
    if (shown.current === condition) return
    shown.current = condition
    const now = readFilter(condition, entity.fields)
    if (!now) setMode('pql')
    else if (printFilter(filter, entity.fields) !== condition)
      setFilter(now.conditions.length > 0 ? now : start)
  }, [condition])

  // Wrong values are reported only after the first attempt to apply the filter.
  const [isDone, setDone] = useState(false)
  const faults = filter.conditions.map(one => (isDone ? wrongValue(one, entity.fields) : undefined))
  const refused = problem instanceof Refused && problem.text === condition ? problem : undefined
  const refusedAt =
    refused && printFilter(filter, entity.fields) === condition
      ? conditionAt(filter, entity.fields, refused.fault.at)
      : undefined

  const byHand = (next: Filter) => {
    setFilter(next)
    draft.set(printFilter(next, entity.fields))
  }
  const apply = () => {
    setDone(true)
    if (mode === 'hand' && filter.conditions.some(one => wrongValue(one, entity.fields))) return
    draft.done()
    onApply(mode === 'hand' ? printFilter(filter, entity.fields) : draft.value)
  }
  return (
    <Form class="filter" aria-label={t('filter')} onSubmit={apply}>
      <div class="row spread">
        <Modes
          mode={mode}
          isSimple={read !== undefined}
          onHand={() => {
            if (!read) return
            setFilter(read.conditions.length > 0 ? read : start)
            choose('hand')
          }}
          onPql={() => {
            if (mode === 'hand') draft.set(printFilter(finished(filter), entity.fields))
            choose('pql')
          }}
        />
        {!read && mode === 'pql' && draft.value === condition && !refused && (
          <span class="small soft">{t('filter.too-much')}</span>
        )}
      </div>
      {mode === 'hand' ? (
        <>
          {refused && refusedAt === undefined && <QueryFault fault={refused.fault} />}
          <Builder
            entity={entity}
            filter={filter}
            faults={faults.map((one, at) =>
              one ? t(`filter.wrong.${one}`) : at === refusedAt ? refused?.fault.message : undefined,
            )}
            onChange={byHand}
          />
        </>
      ) : (
        <PqlEditor
          entity={entity}
          value={draft.value}
          onInput={draft.set}
          onApply={apply}
          problem={problem}
        />
      )}
      <div class="row">
        <Submit label={t('filter.apply')} />
        {condition !== '' && (
          <Button
            label={t('entity.clear')}
            onClick={() => {
              draft.done()
              draft.set('')
              setFilter(start)
              onApply('')
            }}
          />
        )}
      </div>
    </Form>
  )
}

interface ModesParts {
  readonly mode: 'hand' | 'pql'
  /** True if single conditions can express the filter. */
  readonly isSimple: boolean
  readonly onHand: () => void
  readonly onPql: () => void
}

function Modes({ mode, isSimple, onHand, onPql }: ModesParts): JSX.Element {
  return (
    <fieldset class="group">
      <legend class="sr-only">{t('filter.how')}</legend>
      <Button
        label={t('filter.hand')}
        aria-pressed={mode === 'hand'}
        aria-disabled={!isSimple}
        title={isSimple ? undefined : t('filter.too-much')}
        onClick={onHand}
      />
      <Button label="PQL" aria-pressed={mode === 'pql'} onClick={onPql} />
    </fieldset>
  )
}

/** Removes the lines that have no value yet. */
const finished = ({ join, conditions }: Filter): Filter => ({
  join,
  conditions: conditions.filter(({ value, operator }) => value !== '' || !needsValue(operator)),
})
