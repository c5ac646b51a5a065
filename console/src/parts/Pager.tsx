import type { JSX } from 'preact'
import { formatNumber, t } from '../i18n/i18n.ts'
import { ChevronLeft, ChevronRight, ChevronsLeft, ChevronsRight } from '../icons.ts'
import { Icon } from './Icon.tsx'
import { useTyped } from './typed.ts'
import './table.css'

interface Parts {
  /** The current page, counted from 1. */
  readonly page: number
  readonly size: number
  readonly total: number
  readonly onPage: (page: number) => void
  readonly sizes?: readonly number[]
  readonly onSize?: (size: number) => void
}

/** Shows the position in a long list, and controls to move in it. */
export function Pager({ page, size, total, onPage, sizes = [25, 50, 100, 500], onSize }: Parts): JSX.Element {
  const pages = Math.max(1, Math.ceil(total / size))
  const [typed, setTyped] = useTyped(String(page))
  const jump = () => {
    const wanted = Math.min(pages, Math.max(1, Math.trunc(Number(typed)) || page))
    setTyped(String(wanted))
    if (wanted !== page) onPage(wanted)
  }
  const from = Math.min(total, (page - 1) * size + 1)
  const to = Math.min(total, page * size)
  const step = (icon: typeof ChevronLeft, label: string, target: number, can: boolean) => (
    <button
      type="button"
      class="button quiet icon"
      aria-label={label}
      title={label}
      aria-disabled={!can}
      onClick={() => can && onPage(target)}
    >
      <Icon of={icon} />
    </button>
  )
  return (
    <div class="pager">
      <span class="number" role="status">
        {t('pages.range', { from, to, total })}
      </span>
      {pages > 1 && (
        <nav aria-label={t('pages')}>
          {step(ChevronsLeft, t('pages.first'), 1, page > 1)}
          {step(ChevronLeft, t('pages.previous'), page - 1, page > 1)}
          <form
            onSubmit={event => {
              event.preventDefault()
              jump()
            }}
          >
            <label>
              <span class="sr-only">{t('pages.at')}</span>
              <input
                inputMode="numeric"
                value={typed}
                onInput={event => setTyped(event.currentTarget.value)}
                onBlur={jump}
                aria-label={t('pages.at')}
              />
            </label>
          </form>
          <span class="of number">{t('pages.of', { count: formatNumber(pages) })}</span>
          {step(ChevronRight, t('pages.next'), page + 1, page < pages)}
          {step(ChevronsRight, t('pages.last'), pages, page < pages)}
        </nav>
      )}
      {onSize && (
        <label>
          {t('pages.size')}
          <select value={size} onChange={event => onSize(Number(event.currentTarget.value))}>
            {sizes.map(one => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
      )}
    </div>
  )
}
