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
  /** Right-aligned, with digits of equal width. */
  readonly numeric?: boolean
  /** Long text that may take several lines. */
  readonly wrap?: boolean
  readonly sortable?: boolean
  /** It stays when the table is scrolled sideways: the first column, which says what a row is. */
  readonly pinned?: boolean
}

export interface Order {
  readonly field: string
  readonly order: 'asc' | 'desc'
}

interface Parts<Row> {
  /** What the table is, for screen readers. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly idOf: (row: Row) => string
  readonly order?: readonly Order[]
  readonly onOrder?: (order: readonly Order[]) => void
  /** The page of a row: its first cell should have the link, too. */
  readonly pathOf?: (row: Row) => string | undefined
  /** As high as its rows, instead of scrolling in itself. */
  readonly whole?: boolean
}

export function Table<Row>(parts: Parts<Row>): JSX.Element {
  const { label, columns, rows, idOf, order = [], onOrder, pathOf, whole } = parts
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
                {columns.map(({ id, cell, numeric, wrap, pinned }) => (
                  <td
                    key={id}
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

/** Not if something in the row was clicked, or text selected. */
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
  const { id, label, numeric, sortable, pinned } = column
  const style = `${numeric ? 'numeric' : ''} ${pinned ? 'pinned' : ''}`
  if (!sortable || !onOrder)
    return (
      <th scope="col" class={style}>
        {label}
      </th>
    )
  const at = order.findIndex(one => one.field === id)
  const now = order[at]?.order
  const icons = { asc: ArrowUp, desc: ArrowDown }
  return (
    <th
      scope="col"
      class={style}
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
    </th>
  )
}

/** Ascending, descending, not at all. With Shift, it is added to the order that is there. */
export function nextOrder(order: readonly Order[], field: string, add: boolean): readonly Order[] {
  const now = order.find(one => one.field === field)
  const next: readonly Order[] =
    now === undefined ? [{ field, order: 'asc' }] : now.order === 'asc' ? [{ field, order: 'desc' }] : []
  if (!add) return next
  return now ? order.flatMap(one => (one === now ? next : [one])) : [...order, ...next]
}
