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
}: {
  readonly value: Data | undefined
  readonly type?: string
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
    return <bdi title={value.length > 40 ? cut(value, 1_000) : undefined}>{cut(value, longest)}</bdi>
  }
  if (Array.isArray(value) && value.every(one => ['string', 'number', 'bigint'].includes(typeof one))) {
    if (value.length === 0) return <span class="null">{t('none')}</span>
    return <bdi>{cut(value.join(', '), longest)}</bdi>
  }
  return <bdi class="json">{cut(printExactly(value), longest)}</bdi>
}

/** Not through the middle of a character. */
export const cut = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '')}…`
