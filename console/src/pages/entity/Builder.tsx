import type { JSX, TargetedInputEvent } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'
import { type Entity, type EntityField, labelOf } from '../../entities.ts'
import { t } from '../../i18n/i18n.ts'
import { CircleAlert, Plus, X } from '../../icons.ts'
import { Icon } from '../../parts/Icon.tsx'
import {
  anyText,
  type Condition,
  type Filter,
  firstOperator,
  needsValue,
  type Operator,
  operatorsFor,
} from './conditions.ts'
import { frequentValues } from './values.ts'

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
          <select
            value={join}
            onChange={event => onChange({ join: event.currentTarget.value as Filter['join'], conditions })}
          >
            <option value="and">{t('filter.all')}</option>
            <option value="or">{t('filter.any')}</option>
          </select>
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
      <button
        type="button"
        class="button quiet"
        onClick={() => first && onChange({ join, conditions: [...conditions, conditionFor(first)] })}
      >
        <Icon of={Plus} />
        {t('filter.add')}
      </button>
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
      <select
        aria-label={t('filter.field', { n: number })}
        value={condition.field}
        onChange={event => {
          const chosen = event.currentTarget.value
          const next = entity.fields.find(({ name }) => name === chosen)
          if (next) onChange(conditionFor(next))
          else if (chosen === anyText) onChange({ field: anyText, operator: 'words', value: '' })
        }}
      >
        {entity.fields.map(one => (
          <option key={one.name} value={one.name}>
            {labelOf(one)}
          </option>
        ))}
        <option value={anyText}>{t('filter.any-text')}</option>
      </select>
      <select
        aria-label={t('filter.operator', { n: number })}
        value={condition.operator}
        onChange={event => onChange({ ...condition, operator: event.currentTarget.value as Operator })}
      >
        {operators.map(one => (
          <option key={one} value={one}>
            {t(`operator.${one}`)}
          </option>
        ))}
      </select>
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
      <button
        type="button"
        class="button quiet icon"
        aria-label={t('filter.remove', { n: number })}
        title={t('remove')}
        onClick={() => onChange(undefined)}
      >
        <Icon of={X} />
      </button>
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
      <select aria-label={label} value={value} onChange={event => onInput(event.currentTarget.value)}>
        <option value="true">{t('yes')}</option>
        <option value="false">{t('no')}</option>
      </select>
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
