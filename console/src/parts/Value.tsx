import type { JSX } from 'preact'
import type { Json as Data } from '../entities.ts'
import { printExactly } from '../exact.ts'
import { formatTime, t } from '../i18n/i18n.ts'

/** As much of a long text as a line shows, or some. */
const longest = 240

/** One value in a line: of a cell, or of a list. Whatever it is, it is text and never markup. */
export function Value({
  value,
  type,
  plain,
}: {
  readonly value: Data | undefined
  readonly type?: string
  /** It stands in a link of its own: addresses are none. */
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

/** True for the address of a page: nothing else becomes a link, whatever it calls itself. */
export const isAddress = (text: string): boolean =>
  text.length <= 2_000 && /^https?:\/\/[^\s<>"]+$/i.test(text) && URL.canParse(text)

/** Not through the middle of a character. */
export const cut = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '')}…`
