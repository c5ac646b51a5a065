import type { JSX, TargetedInputEvent } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'
import { type Entity, type EntityField, labelOf } from '../entities.ts'
import { t } from '../i18n/i18n.ts'
import { CircleAlert, Plus, X } from '../icons.ts'
import { Button, Select } from '../parts/controls.tsx'
import { Icon } from '../parts/Icon.tsx'
import { anyText, type Condition, type Filter, firstOperator, needsValue } from './conditions.ts'
import { frequentValues } from './frequent-values.ts'
import { operatorsFor } from './operators.ts'

interface Parts {
  readonly entity: Entity
  readonly filter: Filter
  /** A message for each condition that is wrong. */
  readonly faults: readonly (string | undefined)[]
  readonly onChange: (filter: Filter) => void
}

/** Returns the condition with which a new line for a field begins. */
export const conditionFor = ({ name, type }: EntityField): Condition => ({
  field: name,
  operator: firstOperator(type),
  value: type === 'boolean' ? 'true' : '',
})

/** An editor of a filter with one line for each condition. */
export function Builder({ entity, filter, faults, onChange }: Parts): JSX.Element {
  const { join, conditions } = filter
  const [first] = entity.fields
  const change = (at: number, condition: Condition | undefined) =>
    onChange({
      join,
      conditions: conditions.flatMap((one, index) => (index === at ? (condition ?? []) : one)),
    })
  return (
    <div class="builder">
      {conditions.length > 1 && (
        <label class="row">
          <span class="small">{t('filter.join')}</span>
          <Select
            value={join}
            onChoose={chosen => onChange({ join: chosen, conditions })}
            options={[
              ['and', t('filter.all')],
              ['or', t('filter.any')],
            ]}
          />
        </label>
      )}
      <ul class="stack">
        {conditions.map((one, at) => (
          <Line
            key={at}
            entity={entity}
            condition={one}
            number={at + 1}
            fault={faults[at]}
            onChange={next => change(at, next)}
          />
        ))}
      </ul>
      <Button
        look="quiet"
        icon={Plus}
        label={t('filter.add')}
        onClick={() => first && onChange({ join, conditions: [...conditions, conditionFor(first)] })}
      />
    </div>
  )
}

interface LineParts {
  readonly entity: Entity
  readonly condition: Condition
  /** The number of the line, counted from 1, for screen readers. */
  readonly number: number
  readonly fault: string | undefined
  readonly onChange: (condition: Condition | undefined) => void
}

function Line({ entity, condition, number, fault, onChange }: LineParts): JSX.Element {
  const id = useId()
  const isAnyText = condition.field === anyText
  const field = entity.fields.find(({ name }) => name === condition.field) ?? entity.fields[0]
  const operators = isAnyText ? (['words'] as const) : operatorsFor(field?.type ?? 'text')
  return (
    <li class="condition">
      <Select
        aria-label={t('filter.field', { n: number })}
        value={condition.field}
        onChoose={chosen => {
          const next = entity.fields.find(({ name }) => name === chosen)
          if (next) onChange(conditionFor(next))
          else if (chosen === anyText) onChange({ field: anyText, operator: 'words', value: '' })
        }}
        options={[
          ...entity.fields.map(one => [one.name, labelOf(one)] as const),
          [anyText, t('filter.any-text')],
        ]}
      />
      <Select
        aria-label={t('filter.operator', { n: number })}
        value={condition.operator}
        onChoose={operator => onChange({ ...condition, operator })}
        options={operators.map(one => [one, t(`operator.${one}`)])}
      />
      {needsValue(condition.operator) && field ? (
        <Operand
          entity={entity}
          field={field}
          label={t('filter.value', { n: number })}
          value={condition.value}
          faultId={fault === undefined ? undefined : id}
          onInput={value => onChange({ ...condition, value })}
        />
      ) : (
        <span />
      )}
      <Button
        look="icon"
        icon={X}
        aria-label={t('filter.remove', { n: number })}
        title={t('remove')}
        onClick={() => onChange(undefined)}
      />
      {fault !== undefined && (
        <p class="fault" id={id}>
          <Icon of={CircleAlert} size={15} />
          {fault}
        </p>
      )}
    </li>
  )
}

interface OperandParts {
  readonly entity: Entity
  readonly field: EntityField
  readonly label: string
  readonly value: string
  /** The id of the message that says why the value is wrong. */
  readonly faultId: string | undefined
  readonly onInput: (value: string) => void
}

function Operand({ entity, field, label, value, faultId, onInput }: OperandParts): JSX.Element {
  const id = useId()
  const [frequent, setFrequent] = useState<readonly string[]>([])
  useEffect(() => {
    let gone = false
    frequentValues(entity, field)
      .then(list => gone || setFrequent(list.map(one => one.value)))
      .catch(() => {})
    return () => {
      gone = true
    }
  }, [entity.name, field.name])
  const common = {
    'aria-label': label,
    value,
    required: true,
    ...(faultId === undefined ? {} : { 'aria-invalid': 'true' as const, 'aria-describedby': faultId }),
    onInput: (event: TargetedInputEvent<HTMLInputElement>) => onInput(event.currentTarget.value),
  }
  if (field.type === 'boolean')
    return (
      <Select
        aria-label={label}
        value={value}
        onChoose={onInput}
        options={[
          ['true', t('yes')],
          ['false', t('no')],
        ]}
      />
    )
  if (field.type === 'date-time') return <input {...common} placeholder="1998-01-31" inputMode="numeric" />
  if (field.type !== 'text')
    return <input {...common} inputMode={field.type === 'json' ? 'text' : 'decimal'} />
  return (
    <>
      <input {...common} list={id} autoComplete="off" />
      <datalist id={id}>
        {frequent.map(one => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </>
  )
}
