import type { JSX } from 'preact'
import { type Entity, type EntityField, keyOf, labelOf } from '../../entities.ts'
import { t } from '../../i18n/i18n.ts'
import { Select } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { type Aggregate, aggregates, isAggregate, type Unit, units } from '../../query/operators.ts'
import { query, setQuery } from '../../router.ts'
import type { Kind } from './Figure.tsx'
import { type Axis, isOrdered, type Measure } from './groups.ts'
import { widthsAround } from './widths.ts'

/** The fields that records can be grouped by. */
export const groupable = ({ fields }: Entity) => fields.filter(({ sortable }) => sortable !== false)

/** The fields that a function can be asked of. */
const fieldsFor = (kind: Aggregate, fields: readonly EntityField[]) =>
  fields.filter(({ type }) =>
    kind === 'count_distinct' ? type !== 'json' : type === 'integer' || type === 'number',
  )

/** Settings that are about the field before, and go with it. */
const forgotten: Readonly<Record<string, Readonly<Record<string, null>>>> = {
  by: { step: null },
  and: { step2: null },
}

interface FormParts {
  readonly entity: Entity
  readonly by: Axis
  readonly within: Axis | undefined
  readonly measure: Measure
  readonly kind: Kind
  readonly isLog: boolean
  /** Widths of ranges that fit best, by field. */
  readonly widths: ReadonlyMap<string, number>
  /** False while widths are looked for, when none can be chosen yet. */
  readonly isReady: boolean
}

/** The settings of a drawing, which are all in the address. */
export function DrawForm({
  entity,
  by,
  within,
  measure,
  kind,
  isLog,
  widths,
  isReady,
}: FormParts): JSX.Element {
  const fields = groupable(entity)
  const set = (changes: Record<string, string | null>) => setQuery(changes)
  const select = (
    label: string,
    value: string,
    parameter: string,
    options: readonly (readonly [string, string])[],
    chosen = (one: string) => one,
    disabled = false,
  ) => (
    <Field label={label}>
      <Select
        value={value}
        disabled={disabled}
        onChoose={typed => set({ ...forgotten[parameter], [parameter]: chosen(typed) })}
        options={options}
      />
    </Field>
  )
  const steps = ({ field, width }: Axis, at: '' | '2') => {
    if (field.type !== 'integer' && field.type !== 'number') return null
    const best = widths.get(field.name)
    const all = widthsAround(best ?? 10).filter(one => field.type === 'number' || Number.isInteger(one))
    const chosen = query.value.get(`step${at}`) ?? ''
    return select(
      t('draw.step'),
      chosen === '' || chosen === 'each' ? chosen : String(width ?? ''),
      `step${at}`,
      [
        ['', best === undefined ? t('draw.step.each') : t('draw.step.best', { width: String(best) })],
        ...(best === undefined ? [] : [['each', t('draw.step.each')] as const]),
        ...new Map(
          [...all, ...(chosen !== '' && width !== undefined ? [width] : [])]
            .toSorted((a, b) => a - b)
            .map(one => [String(one), String(one)]),
        ),
      ],
      undefined,
      !isReady,
    )
  }
  const names = fields.map(one => [one.name, labelOf(one)] as const)
  const unitNames = Object.keys(units).map(one => [one, t(`unit.${one as Unit}`)] as const)
  const ordered = isOrdered(by)
  const kindsOfMeasure = [
    ['', t('draw.count')] as const,
    ...aggregates.flatMap(one =>
      fieldsFor(one, fields).length > 0 ? [[one, t(`draw.${one}`)] as const] : [],
    ),
  ]
  const kinds = [
    ['bars', t('draw.bars')] as const,
    ...(ordered ? [['lines', t('draw.lines')] as const] : []),
    ...(within ? [['cells', t('draw.cells')] as const] : []),
  ]
  return (
    <form class="draw-form" onSubmit={event => event.preventDefault()}>
      {select(t('draw.by'), by.field.name, 'by', names)}
      {by.unit && select(t('draw.unit'), by.unit, 'unit', unitNames)}
      {steps(by, '')}
      {select(t('draw.then'), within?.field.name ?? '', 'and', [['', t('none')], ...names])}
      {within?.unit && select(t('draw.unit'), within.unit, 'unit2', unitNames)}
      {within && steps(within, '2')}
      {select(t('draw.of'), measure.kind === 'count' ? '' : measure.kind, 'of', kindsOfMeasure, one => {
        const fits = isAggregate(one) ? fieldsFor(one, fields) : []
        const same = fits.find(({ name }) => measure.kind !== 'count' && name === measure.field.name)
        // A key's values are rarely worth adding up.
        const first = fits.find(({ name }) => !keyOf(entity).includes(name)) ?? fits[0]
        return first ? `${one}:${(same ?? first).name}` : ''
      })}
      {measure.kind !== 'count' &&
        select(
          t('draw.of.field'),
          measure.field.name,
          'of',
          fieldsFor(measure.kind, fields).map(one => [one.name, labelOf(one)] as const),
          one => `${measure.kind}:${one}`,
        )}
      {select(t('draw.as'), kind, 'as', kinds)}
      {select(t('draw.scale'), isLog ? 'log' : '', 'scale', [
        ['', t('draw.scale.even')],
        ['log', t('draw.scale.log')],
      ])}
    </form>
  )
}
