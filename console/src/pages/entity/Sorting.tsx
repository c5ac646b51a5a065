import type { JSX } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { type Entity, type EntityField, isSortable, labelIn, labelOf } from '../../entities.ts'
import { formatNumber, t } from '../../i18n/i18n.ts'
import { ArrowDown, ArrowDownNarrowWide, ArrowUp, ChevronDown, ChevronUp, Plus, X } from '../../icons.ts'
import { Field } from '../../parts/Field.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { Menu } from '../../parts/Menu.tsx'
import type { Order } from '../../parts/Table.tsx'
import { showOrder } from './view.ts'

/** The sort order as a list, most significant column first, for users without a Shift key. */
export const Sorting = ({
  entity,
  order,
}: {
  readonly entity: Entity
  readonly order: readonly Order[]
}): JSX.Element => (
  <Menu
    side="left"
    button={
      <>
        <Icon of={ArrowDownNarrowWide} />
        {t('sort')}
        {order.length > 0 && <span class="soft number small">{formatNumber(order.length)}</span>}
      </>
    }
  >
    <Orders fields={entity.fields.filter(isSortable)} order={order} />
  </Menu>
)

function Orders({
  fields,
  order,
}: {
  readonly fields: readonly EntityField[]
  readonly order: readonly Order[]
}): JSX.Element {
  const whole = useRef<HTMLDivElement>(null)
  // When an entry moves, the focus moves with its button.
  const next = useRef<string | undefined>(undefined)
  useLayoutEffect(() => {
    if (next.current === undefined) return
    whole.current?.querySelector<HTMLElement>(`[data-stop="${CSS.escape(next.current)}"]`)?.focus()
    next.current = undefined
  })
  const show = (changed: readonly Order[], stop: string) => {
    next.current = stop
    showOrder(changed)
  }
  const move = (at: number, by: 1 | -1, stop: string) => {
    const other = order[at + by]
    const one = order[at]
    if (one && other) show(order.with(at + by, one).with(at, other), stop)
  }
  return (
    <div class="sorting" ref={whole}>
      {order.length === 0 ? (
        <p class="soft">{t('sort.none')}</p>
      ) : (
        <ol aria-label={t('sort.by')}>
          {order.map((one, at) => {
            const { field: name } = one
            const called = labelIn({ fields }, name)
            const now = t(one.order === 'asc' ? 'sort.asc' : 'sort.desc')
            const step = (by: 1 | -1, label: string) => {
              const stop = `${by} ${name}`
              return (
                <button
                  type="button"
                  class="button quiet icon"
                  data-stop={stop}
                  aria-label={label}
                  title={label}
                  aria-disabled={order[at + by] === undefined}
                  onClick={() => move(at, by, stop)}
                >
                  <Icon of={by < 0 ? ChevronUp : ChevronDown} size={16} />
                </button>
              )
            }
            return (
              <li key={name}>
                <bdi title={name}>{called}</bdi>
                <button
                  type="button"
                  class="button quiet"
                  data-stop={name}
                  aria-label={t('sort.reverse', { name: called, now })}
                  onClick={() =>
                    show(order.with(at, { ...one, order: one.order === 'asc' ? 'desc' : 'asc' }), name)
                  }
                >
                  <Icon of={one.order === 'asc' ? ArrowUp : ArrowDown} size={14} />
                  {now}
                </button>
                {step(-1, t('sort.earlier', { name: called }))}
                {step(1, t('sort.later', { name: called }))}
                <button
                  type="button"
                  class="button quiet icon"
                  aria-label={t('sort.remove', { name: called })}
                  title={t('sort.remove', { name: called })}
                  onClick={() => show(order.toSpliced(at, 1), 'add')}
                >
                  <Icon of={X} size={16} />
                </button>
              </li>
            )
          })}
        </ol>
      )}
      {order.some(({ field }) => isByCharacter(fields.find(({ name }) => name === field))) && (
        <p class="small soft">{t('sort.collation')}</p>
      )}
      <Add
        fields={fields.filter(({ name }) => order.every(({ field }) => field !== name))}
        onAdd={field => show([...order, { field, order: 'asc' }], field)}
      />
    </div>
  )
}

/** True for text whose order has accented letters behind all others. */
const isByCharacter = (field: EntityField | undefined) =>
  field?.type === 'text' && field.collation === undefined

function Add({
  fields,
  onAdd,
}: {
  readonly fields: readonly EntityField[]
  readonly onAdd: (name: string) => void
}): JSX.Element | null {
  const [chosen, setChosen] = useState('')
  const name = fields.some(one => one.name === chosen) ? chosen : fields[0]?.name
  if (name === undefined) return null
  return (
    <div class="sorting-add">
      <Field label={t('sort.add')}>
        <select data-stop="add" value={name} onChange={event => setChosen(event.currentTarget.value)}>
          {fields.map(one => (
            <option key={one.name} value={one.name}>
              {labelOf(one)}
            </option>
          ))}
        </select>
      </Field>
      <button type="button" class="button" onClick={() => onAdd(name)}>
        <Icon of={Plus} />
        {t('sort.add.do')}
      </button>
    </div>
  )
}
