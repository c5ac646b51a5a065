import type { JSX } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { service } from '../../api.ts'
import { type Entity, type EntityField, isSortable, type Json, keyOf, pathOf } from '../../entities.ts'
import { isAmount, readExactly } from '../../exact.ts'
import { formatNumber, t, tOf } from '../../i18n/i18n.ts'
import { ArrowDown, ArrowLeft, ArrowRight, ArrowUp, ChevronDown, EyeOff } from '../../icons.ts'
import { Facts } from '../../parts/Facts.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { useLoad } from '../../parts/load.ts'
import { Loading, ProblemNotice } from '../../parts/states.tsx'
import type { Column } from '../../parts/Table.tsx'
import { Value } from '../../parts/Value.tsx'
import { narrowed } from '../draw/groups.ts'
import { written } from './pql.ts'
import { columnWidth, showColumns, showOrder, type View } from './view.ts'
import './column-head.css'

/** What is asked of a column when its panel is opened. */
interface About {
  readonly empty: number
  readonly distinct: number
  readonly smallest: Json
  readonly largest: Json
  /** Numbers of records by value, the most frequent first, or in equal ranges from the smallest to the largest. */
  readonly bars: readonly Bar[]
}

interface Bar {
  readonly text: string
  readonly count: number
}

/** Maximum number of different numbers whose records are counted one by one, and numbers of bars. */
const [mostValues, ranges, frequent] = [2_000, 24, 5]

async function ask(query: string, limit: number, signal: AbortSignal): Promise<readonly (readonly Json[])[]> {
  const response = await service.value.request('GET', pathOf(), {
    query: { query, timeout: 10, limit },
    signal,
  })
  const rows = readExactly(await response.text()) as readonly Readonly<Record<string, Json>>[]
  // The columns have the order of the query, whatever their names are.
  return rows.map(row => Object.values(row))
}

/** Asks what the records of a view have in a column: one query for its values as a whole, and one for the bars. */
async function loadAbout(
  entity: Entity,
  field: EntityField,
  condition: string,
  signal: AbortSignal,
): Promise<About> {
  const name = written(field.name)
  const where = narrowed(condition, []) ?? ''
  const hasEnds = isSortable(field) && field.type !== 'boolean'
  const functions = ['count()', `count(${name})`, `count_distinct(${name})`]
  if (hasEnds) functions.push(`min(${name})`, `max(${name})`)
  const [values = []] = await ask(`${entity.name}[${functions.join(', ')}] { ${where} }`, 1, signal)
  const [all, filled, distinct] = values.map(Number)
  const [smallest = null, largest = null] = values.slice(3)
  const about = { empty: (all ?? 0) - (filled ?? 0), distinct: distinct ?? 0, smallest, largest }
  const isNumber = field.type === 'integer' || field.type === 'number'
  if (!filled || (isNumber && about.distinct > mostValues)) return { ...about, bars: [] }
  const filledOnly = narrowed(where, [`${name} is not null`])
  const grouped = (by: string, order: string, limit: number) =>
    ask(`${entity.name}[${by}, count()] { ${filledOnly} group by ${by} order by ${order} }`, limit, signal)
  if (isNumber) return { ...about, bars: inRanges(await grouped(name, name, mostValues)) }
  if (field.type === 'date-time') {
    const year = `to_string(${name}, "YYYY")`
    const rows = await grouped(year, year, mostValues)
    return { ...about, bars: inRanges(rows.map(([value, count = null]) => [Number(value), count])) }
  }
  const rows = await grouped(name, 'count() desc', frequent)
  return { ...about, bars: rows.map(([value, count]) => ({ text: textOf(value), count: Number(count) })) }
}

const textOf = (value: Json | undefined) =>
  typeof value === 'string'
    ? value
    : typeof value === 'boolean'
      ? t(value ? 'yes' : 'no')
      : JSON.stringify(value)

/** Puts numbers and how often each occurs into equal ranges, as a histogram. */
function inRanges(rows: readonly (readonly Json[])[]): readonly Bar[] {
  const pairs = rows.flatMap(([value, count]) =>
    value !== undefined && isAmount(value) ? [[Number(value), Number(count)] as const] : [],
  )
  const [first, last] = [pairs[0]?.[0] ?? 0, pairs.at(-1)?.[0] ?? 0]
  const isWhole = pairs.every(([value]) => Number.isInteger(value))
  const width = isWhole ? Math.max(1, Math.ceil((last - first + 1) / ranges)) : (last - first) / ranges || 1
  const counts = new Array<number>(Math.min(ranges, Math.floor((last - first) / width) + 1)).fill(0)
  for (const [value, count] of pairs) {
    const at = Math.min(counts.length - 1, Math.floor((value - first) / width))
    counts[at] = (counts[at] ?? 0) + count
  }
  const short = (value: number) => String(Number(value.toPrecision(6)))
  return counts.map((count, at) => {
    const from = first + at * width
    const to = Math.min(last, isWhole ? from + width - 1 : from + width)
    return { text: from === to ? short(from) : `${short(from)} – ${short(to)}`, count }
  })
}

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
        // What is dragged in the panel, or at the edge of the column, is not the column.
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
  useEffect(() => {
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
        aria-label={t('column.about', { name: field.name })}
        title={t('column.about', { name: field.name })}
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
        aria-label={t('column.about', { name: field.name })}
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

/** What the records of the view have in the column. It is asked for when the panel opens, and no longer when it closes. */
function Contents({ entity, view, field }: Omit<Parts, 'move'>): JSX.Element {
  const { value, problem } = useLoad(
    signal => loadAbout(entity, field, view.condition, signal),
    [field.name, view.condition],
  )
  if (problem) return <ProblemNotice problem={problem} />
  if (!value) return <Loading lines={3} />
  const { empty, distinct, smallest, largest, bars } = value
  const most = Math.max(1, ...bars.map(({ count }) => count))
  const isHistogram = field.type === 'integer' || field.type === 'number' || field.type === 'date-time'
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
      {bars.length > 0 && (
        <ul class={isHistogram ? 'histogram' : 'frequent'} aria-label={t('column.values')}>
          {bars.map(({ text, count }) => (
            <li key={text} title={`${text}: ${formatNumber(count)}`}>
              <span
                class="bar"
                ref={bar => bar?.style.setProperty('--part', String(count / most))}
                aria-hidden="true"
              />
              <bdi class={isHistogram ? 'sr-only' : ''}>{text}</bdi>{' '}
              <span class={isHistogram ? 'sr-only' : 'soft number'}>{formatNumber(count)}</span>
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
    <button type="button" class="menu-item" aria-disabled={isOff} onClick={() => isOff || act()}>
      <Icon of={icon} size={16} />
      {text}
    </button>
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
        <button type="button" class="menu-item" onClick={() => setWidth(undefined)}>
          {t('column.width.usual')}
        </button>
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
