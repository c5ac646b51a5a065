import type { ComponentChildren, JSX } from 'preact'
import { t } from '../i18n/i18n.ts'
import { ArrowDown, ArrowUp, ArrowUpDown } from '../icons.ts'
import { go } from '../router.ts'
import { Icon } from './Icon.tsx'
import './table.css'

export interface Column<Row> {
  readonly id: string
  readonly label: ComponentChildren
  readonly cell: (row: Row) => ComponentChildren
  /** Right-aligns the column, with digits of equal width. */
  readonly numeric?: boolean
  /** True for long text that may take several lines. */
  readonly wrap?: boolean
  readonly sortable?: boolean
  /**
   * Keeps the column in place while the table is scrolled sideways; for the first column, which identifies a
   * row.
   */
  readonly pinned?: boolean
  /** Width in pixels of a page with 16 px per rem; as wide as its values by default. */
  readonly width?: number | undefined
  /** Controls of the column beside its name, and attributes of its head. */
  readonly controls?: ComponentChildren
  readonly head?: JSX.IntrinsicElements['th']
}

export interface Order {
  readonly field: string
  readonly order: 'asc' | 'desc'
}

interface Parts<Row> {
  /** The name of the table for screen readers. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly idOf: (row: Row) => string
  readonly order?: readonly Order[]
  readonly onOrder?: (order: readonly Order[]) => void
  /**
   * Returns the page of a row, opened by a click on the row. For keyboards, the first cell should contain the
   * link, too.
   */
  readonly pathOf?: (row: Row) => string | undefined
  /** Makes the table as high as its rows, without a scroll bar of its own. */
  readonly whole?: boolean
  /** Returns further attributes of a cell, such as its place in the order of the keyboard. */
  readonly cellProps?: (row: Row, column: string) => JSX.IntrinsicElements['td']
}

export function Table<Row>(parts: Parts<Row>): JSX.Element {
  const { label, columns, rows, idOf, order = [], onOrder, pathOf, whole, cellProps } = parts
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled from the keyboard
    <section class={`table-frame ${whole ? 'whole' : ''}`} aria-label={label} tabIndex={0}>
      <table class="table">
        <caption class="sr-only">{label}</caption>
        <thead>
          <tr>
            {columns.map(column => (
              <Head key={column.id} column={column} order={order} onOrder={onOrder} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(row => {
            const path = pathOf?.(row)
            return (
              <tr
                key={idOf(row)}
                class={path === undefined ? '' : 'opens'}
                onClick={event => path !== undefined && opensRow(event) && go(path)}
              >
                {columns.map(({ id, cell, numeric, wrap, pinned, width }) => (
                  <td
                    key={id}
                    {...cellProps?.(row, id)}
                    style={widthOf(width)}
                    class={`${numeric ? 'numeric' : ''} ${wrap ? 'wrap' : ''} ${pinned ? 'pinned' : ''}`}
                  >
                    {cell(row)}
                  </td>
                ))}
              </tr>
            )
          })}
        </tbody>
      </table>
    </section>
  )
}

/** Both bounds, because a table makes its columns as wide as their content otherwise. */
const widthOf = (width: number | undefined) =>
  width === undefined ? undefined : { minWidth: `${width / 16}rem`, maxWidth: `${width / 16}rem` }

/** True if a click opens the row: not if it was on a control of the row, or selected text. */
const opensRow = (event: MouseEvent) =>
  !event.defaultPrevented &&
  !(event.target as Element).closest('a, button, input, select, summary, label') &&
  (getSelection()?.toString() ?? '') === ''

interface HeadParts<Row> {
  readonly column: Column<Row>
  readonly order: readonly Order[]
  readonly onOrder: Parts<Row>['onOrder']
}

function Head<Row>({ column, order, onOrder }: HeadParts<Row>): JSX.Element {
  const { id, label, numeric, sortable, pinned, width, controls, head } = column
  const style = `${numeric ? 'numeric' : ''} ${pinned ? 'pinned' : ''} ${controls ? 'controlled' : ''}`
  if (!sortable || !onOrder)
    return (
      <th scope="col" class={style} style={widthOf(width)} {...head}>
        {label}
        {controls}
      </th>
    )
  const at = order.findIndex(one => one.field === id)
  const now = order[at]?.order
  const icons = { asc: ArrowUp, desc: ArrowDown }
  return (
    <th
      scope="col"
      class={style}
      style={widthOf(width)}
      {...head}
      {...(now ? { 'aria-sort': now === 'asc' ? 'ascending' : 'descending' } : {})}
    >
      <button
        type="button"
        class="sort"
        title={t('table.sort')}
        onClick={event => onOrder(nextOrder(order, id, event.shiftKey))}
      >
        {label}
        <Icon of={now ? icons[now] : ArrowUpDown} size={14} />
        {now && order.length > 1 && <sup>{at + 1}</sup>}
      </button>
      {controls}
    </th>
  )
}

/**
 * Cycles a field through ascending, descending and unsorted. With `add`, as Shift does, the order by other
 * fields is kept.
 */
function nextOrder(order: readonly Order[], field: string, add: boolean): readonly Order[] {
  const now = order.find(one => one.field === field)
  const next: readonly Order[] =
    now === undefined ? [{ field, order: 'asc' }] : now.order === 'asc' ? [{ field, order: 'desc' }] : []
  if (!add) return next
  return now ? order.flatMap(one => (one === now ? next : [one])) : [...order, ...next]
}
