import type { JSX } from 'preact'
import type { Json as Data } from '../entities.ts'
import { printExactly } from '../exact.ts'
import { formatTime, t } from '../i18n/i18n.ts'

/** Maximum number of characters shown of a value in a line. */
const longest = 240

/** One value in a line, of a cell or of a list. It is always shown as text, never as markup. */
export function Value({
  value,
  type,
  plain,
}: {
  readonly value: Data | undefined
  readonly type?: string
  /** True inside a link, where an address must not become a link of its own. */
  readonly plain?: boolean
}): JSX.Element {
  if (value === null || value === undefined)
    return (
      <span class="null" title={t('null')}>
        –<span class="sr-only">{t('null')}</span>
      </span>
    )
  if (typeof value === 'boolean') return <span>{value ? t('yes') : t('no')}</span>
  if (typeof value === 'number' || typeof value === 'bigint')
    return <span class="number">{String(value)}</span>
  if (typeof value === 'string') {
    if (type === 'date-time') return <time dateTime={value}>{formatTime(value)}</time>
    const shown = <bdi title={value.length > 40 ? cut(value, 1_000) : undefined}>{cut(value, longest)}</bdi>
    return !plain && isAddress(value) ? (
      <a href={value} target="_blank" rel="noopener noreferrer">
        {shown}
      </a>
    ) : (
      shown
    )
  }
  if (Array.isArray(value) && value.every(one => ['string', 'number', 'bigint'].includes(typeof one))) {
    if (value.length === 0) return <span class="null">{t('none')}</span>
    return <bdi>{cut(value.join(', '), longest)}</bdi>
  }
  return <bdi class="json">{cut(printExactly(value), longest)}</bdi>
}

/** True for a web address. Any other text, whatever its scheme, never becomes a link. */
export const isAddress = (text: string): boolean =>
  text.length <= 2_000 && /^https?:\/\/[^\s<>"]+$/i.test(text) && URL.canParse(text)

/** Shortens a text without splitting a character. */
export const cut = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '')}…`
