import type { JSX } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { type Entity, type EntityField, isSortable, keyOf, labelOf } from '../../entities.ts'
import { formatNumber, t, tOf } from '../../i18n/i18n.ts'
import { ArrowDown, ArrowLeft, ArrowRight, ArrowUp, ChevronDown, EyeOff } from '../../icons.ts'
import { Bars, shareOf } from '../../parts/Bars.tsx'
import { Button } from '../../parts/controls.tsx'
import { Facts } from '../../parts/Facts.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { useLoad } from '../../parts/load.ts'
import { Loading, ProblemNotice } from '../../parts/states.tsx'
import type { Column } from '../../parts/Table.tsx'
import { Value } from '../../parts/Value.tsx'
import { columnWidth, showColumns, showOrder, type View } from '../../records/view.ts'
import { loadAbout } from './about.ts'
import './column-head.css'

/** The head of a column: its panel, a handle for its width, and its place among the others. */
export function headOf(entity: Entity, view: View, field: EntityField): Partial<Column<never>> {
  const { columns, widths } = view
  const names = columns.map(({ name }) => name)
  const { name } = field
  const move = (moved: string, to: number) => {
    const others = names.filter(one => one !== moved)
    showColumns(entity, others.toSpliced(to, 0, moved))
  }
  const kind = 'application/x-carrel-column'
  return {
    width: widths.get(name),
    controls: <Controls key={name} entity={entity} view={view} field={field} move={to => move(name, to)} />,
    head: {
      draggable: true,
      onDragStart: event => {
        // A drag inside the panel, or at the edge of the column, doesn't move the column.
        if ((event.target as Element).tagName !== 'TH') return
        event.dataTransfer?.setData(kind, name)
      },
      onDragOver: event => {
        if (event.dataTransfer?.types.includes(kind)) event.preventDefault()
      },
      onDrop: event => {
        const moved = event.dataTransfer?.getData(kind)
        if (!moved || moved === name || !names.includes(moved)) return
        event.preventDefault()
        move(moved, names.indexOf(name))
      },
    },
  }
}

interface Parts {
  readonly entity: Entity
  readonly view: View
  readonly field: EntityField
  readonly move: (to: number) => void
}

function Controls({ entity, view, field, move }: Parts): JSX.Element {
  const [isOpen, setOpen] = useState(false)
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const panel = useRef<HTMLDivElement>(null)
  const names = view.columns.map(({ name }) => name)
  const setWidth = (width: number | undefined) => {
    const widths = new Map(view.widths)
    if (width === undefined) widths.delete(field.name)
    else widths.set(field.name, Math.round(width))
    showColumns(entity, names, widths)
  }
  useLayoutEffect(() => {
    const { current: shown } = panel
    const place = button.current?.getBoundingClientRect()
    if (!isOpen || !shown || !place) return
    const { clientWidth } = document.documentElement
    const left = Math.max(8, Math.min(place.left, clientWidth - shown.offsetWidth - 8))
    shown.style.setProperty('left', `${left}px`)
    shown.style.setProperty('top', `${place.bottom + 4}px`)
    shown.style.setProperty('max-height', `calc(100dvh - ${place.bottom + 12}px)`)
  }, [isOpen])
  return (
    <>
      <button
        ref={button}
        type="button"
        class="about-column"
        aria-label={t('column.about', { name: labelOf(field) })}
        title={t('column.about', { name: labelOf(field) })}
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => panel.current?.togglePopover()}
      >
        <Icon of={ChevronDown} size={14} />
      </button>
      <section
        id={id}
        ref={panel}
        popover="auto"
        class="column-panel"
        aria-label={t('column.about', { name: labelOf(field) })}
        onToggle={event => setOpen(event.newState === 'open')}
      >
        {isOpen && (
          <>
            <Facts of={[[t('column.type'), tOf('type', field.type)]]} />
            <Contents entity={entity} view={view} field={field} />
            <Actions
              entity={entity}
              view={view}
              field={field}
              move={move}
              setWidth={setWidth}
              widthNow={() => button.current?.closest('th')?.offsetWidth ?? columnWidth.min}
            />
          </>
        )}
      </section>
      <Handle setWidth={setWidth} />
    </>
  )
}

/** Statistics of a column over the records of the view. They are requested while the panel is open. */
function Contents({ entity, view, field }: Omit<Parts, 'move'>): JSX.Element {
  const { value, problem } = useLoad(
    signal => loadAbout(entity, field, view.condition, signal),
    [field.name, view.condition],
  )
  if (problem) return <ProblemNotice problem={problem} />
  if (!value) return <Loading lines={3} />
  const { empty, distinct, smallest, largest, steps, frequent } = value
  return (
    <>
      <Facts
        of={[
          [t('column.empty'), formatNumber(empty)],
          [t('column.distinct'), formatNumber(distinct)],
          ...(smallest === null
            ? []
            : ([
                [t('column.smallest'), <Value key="smallest" value={smallest} type={field.type} plain />],
                [t('column.largest'), <Value key="largest" value={largest} type={field.type} plain />],
              ] as const)),
        ]}
      />
      {steps && <Bars bars={steps} aria-label={t('column.values')} />}
      {frequent.length > 0 && (
        <ul class="shares" aria-label={t('column.values')}>
          {frequent.map(({ value: one, shown, count }) => (
            <li key={one} ref={shareOf(count, frequent)}>
              <Value value={shown} field={field} plain />
              <span class="soft number">{formatNumber(count)}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

function Actions({
  entity,
  view,
  field,
  move,
  setWidth,
  widthNow,
}: Parts & {
  readonly setWidth: (width: number | undefined) => void
  readonly widthNow: () => number
}): JSX.Element {
  const names = view.columns.map(({ name }) => name)
  const at = names.indexOf(field.name)
  // The key is always the first column, so it can't be moved.
  const isKey = keyOf(entity).includes(field.name)
  const width = view.widths.get(field.name)
  const [start] = useState(() => Math.max(columnWidth.min, Math.min(columnWidth.max, widthNow())))
  const entry = (icon: typeof ArrowUp, text: string, act: () => void, isOff = false) => (
    <Button
      look="menu"
      icon={icon}
      size={16}
      label={text}
      aria-disabled={isOff}
      onClick={() => isOff || act()}
    />
  )
  return (
    <div class="column-actions">
      {isSortable(field) && (
        <>
          {entry(ArrowUp, t('column.asc'), () => showOrder([{ field: field.name, order: 'asc' }]))}
          {entry(ArrowDown, t('column.desc'), () => showOrder([{ field: field.name, order: 'desc' }]))}
        </>
      )}
      {!isKey && (
        <>
          {entry(ArrowLeft, t('column.left'), () => move(at - 1), at <= 0)}
          {entry(ArrowRight, t('column.right'), () => move(at + 1), at === names.length - 1)}
        </>
      )}
      {entry(EyeOff, t('column.hide'), () => showColumns(entity, names.toSpliced(at, 1)), names.length === 1)}
      <label class="column-width">
        <span>{t('column.width')}</span>
        <input
          type="range"
          {...columnWidth}
          value={width ?? start}
          onChange={event => setWidth(Number(event.currentTarget.value))}
        />
      </label>
      {width !== undefined && (
        <Button look="menu" label={t('column.width.usual')} onClick={() => setWidth(undefined)} />
      )}
    </div>
  )
}

/** The edge of a column, which can be dragged. From the keyboard, the panel changes the width. */
function Handle({ setWidth }: { readonly setWidth: (width: number) => void }): JSX.Element {
  const onPointerDown = (event: PointerEvent) => {
    const handle = event.currentTarget as HTMLElement
    const head = handle.closest('th')
    if (!head || event.button !== 0) return
    event.preventDefault()
    handle.setPointerCapture(event.pointerId)
    const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 16
    const [from, start] = [event.clientX, head.offsetWidth / rem]
    let width = start
    const onMove = (moved: PointerEvent) => {
      const wanted = start + (moved.clientX - from) / rem
      width = Math.max(columnWidth.min, Math.min(columnWidth.max, wanted))
      head.style.setProperty('min-width', `${width / 16}rem`)
    }
    const onUp = () => {
      handle.removeEventListener('pointermove', onMove)
      if (width !== start) setWidth(width)
    }
    handle.addEventListener('pointermove', onMove)
    handle.addEventListener('lostpointercapture', onUp, { once: true })
  }
  return (
    <span
      class="column-edge"
      aria-hidden="true"
      draggable
      onDragStart={event => {
        event.preventDefault()
        event.stopPropagation()
      }}
      onPointerDown={onPointerDown}
    />
  )
}
