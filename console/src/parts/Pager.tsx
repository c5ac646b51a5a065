import type { JSX } from 'preact'
import { formatNumber, t } from '../i18n/i18n.ts'
import { ChevronLeft, ChevronRight, ChevronsLeft, ChevronsRight } from '../icons.ts'
import { setQuery } from '../router.ts'
import { Form, IconButton, Input, Select } from './controls.tsx'
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
    <IconButton icon={icon} label={label} aria-disabled={!can} onClick={() => can && onPage(target)} />
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
          <Form onSubmit={jump}>
            <label>
              <span class="sr-only">{t('pages.at')}</span>
              <Input
                inputMode="numeric"
                value={typed}
                onText={setTyped}
                onBlur={jump}
                aria-label={t('pages.at')}
              />
            </label>
          </Form>
          <span class="of number">{t('pages.of', { count: formatNumber(pages) })}</span>
          {step(ChevronRight, t('pages.next'), page + 1, page < pages)}
          {step(ChevronsRight, t('pages.last'), pages, page < pages)}
        </nav>
      )}
      {onSize && (
        <label>
          {t('pages.size')}
          <Select
            value={size}
            onChoose={chosen => onSize(Number(chosen))}
            options={sizes.map(one => [String(one), String(one)])}
          />
        </label>
      )}
    </div>
  )
}

interface AddressParts extends Omit<Parts, 'onPage' | 'onSize'> {
  /** The parameter of the address that holds the page. */
  readonly name?: string
  /** The size that the address leaves out; without it, the size can't be chosen. */
  readonly usual?: number
}

/** A pager whose place is in the address. */
export const AddressPager = ({ name = 'page', usual, ...parts }: AddressParts): JSX.Element => (
  <Pager
    {...parts}
    onPage={next => setQuery({ [name]: next === 1 ? null : String(next) })}
    {...(usual !== undefined && {
      onSize: (next: number) => setQuery({ size: next === usual ? null : String(next), [name]: null }),
    })}
  />
)
