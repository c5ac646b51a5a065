import type { JSX } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { type Entity, type EntityField, isSortable, labelIn, labelOf } from '../../entities.ts'
import { formatNumber, t } from '../../i18n/i18n.ts'
import { ArrowDown, ArrowDownNarrowWide, ArrowUp, ChevronDown, ChevronUp, Plus, X } from '../../icons.ts'
import { Button, IconButton, Select } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { Menu } from '../../parts/Menu.tsx'
import type { Order } from '../../parts/Table.tsx'
import { showOrder } from '../../records/view.ts'

interface SortingParts {
  readonly entity: Entity
  readonly order: readonly Order[]
}

/** The sort order as a list, most significant column first, for users without a Shift key. */
export const Sorting = ({ entity, order }: SortingParts): JSX.Element => (
  <Menu
    side="left"
    icon={ArrowDownNarrowWide}
    button={
      <>
        {t('sort')}
        {order.length > 0 && <span class="soft number small">{formatNumber(order.length)}</span>}
      </>
    }
  >
    <Orders fields={entity.fields.filter(isSortable)} order={order} />
  </Menu>
)

interface OrdersParts {
  readonly fields: readonly EntityField[]
  readonly order: readonly Order[]
}

function Orders({ fields, order }: OrdersParts): JSX.Element {
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
  return (
    <div class="sorting" ref={whole}>
      {order.length === 0 ? (
        <p class="soft">{t('sort.none')}</p>
      ) : (
        <ol aria-label={t('sort.by')}>
          {order.map((one, at) => (
            <Entry
              key={one.field}
              called={labelIn({ fields }, one.field)}
              order={order}
              at={at}
              show={show}
            />
          ))}
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

interface Parts {
  readonly called: string
  readonly order: readonly Order[]
  readonly at: number
  /** @param stop the control that gets the focus */
  readonly show: (order: readonly Order[], stop: string) => void
}

/** One column of the order, which can be reversed, moved and removed. */
function Entry({ called, order, at, show }: Parts): JSX.Element | null {
  const one = order[at]
  if (!one) return null
  const { field: name } = one
  const now = t(one.order === 'asc' ? 'sort.asc' : 'sort.desc')
  const step = (by: 1 | -1, label: string) => {
    const other = order[at + by]
    const stop = `${by} ${name}`
    return (
      <IconButton
        icon={by < 0 ? ChevronUp : ChevronDown}
        size={16}
        label={label}
        data-stop={stop}
        aria-disabled={other === undefined}
        onClick={() => other && show(order.with(at + by, one).with(at, other), stop)}
      />
    )
  }
  return (
    <li>
      <bdi title={name}>{called}</bdi>
      <Button
        look="quiet"
        icon={one.order === 'asc' ? ArrowUp : ArrowDown}
        size={14}
        label={now}
        data-stop={name}
        aria-label={t('sort.reverse', { name: called, now })}
        onClick={() => show(order.with(at, { ...one, order: one.order === 'asc' ? 'desc' : 'asc' }), name)}
      />
      {step(-1, t('sort.earlier', { name: called }))}
      {step(1, t('sort.later', { name: called }))}
      <IconButton
        icon={X}
        size={16}
        label={t('sort.remove', { name: called })}
        onClick={() => show(order.toSpliced(at, 1), 'add')}
      />
    </li>
  )
}

/** True for text whose order has accented letters behind all others. */
const isByCharacter = (field: EntityField | undefined) =>
  field?.type === 'text' && field.collation === undefined

interface AddParts {
  readonly fields: readonly EntityField[]
  readonly onAdd: (name: string) => void
}

function Add({ fields, onAdd }: AddParts): JSX.Element | null {
  const [chosen, setChosen] = useState('')
  const name = fields.some(one => one.name === chosen) ? chosen : fields[0]?.name
  if (name === undefined) return null
  return (
    <div class="sorting-add">
      <Field label={t('sort.add')}>
        <Select
          data-stop="add"
          value={name}
          onChoose={setChosen}
          options={fields.map(one => [one.name, labelOf(one)])}
        />
      </Field>
      <Button icon={Plus} label={t('sort.add.do')} onClick={() => onAdd(name)} />
    </div>
  )
}
