import type { JSX } from 'preact'
import { formatNumber } from '../i18n/i18n.ts'
import './bars.css'

type Parts = JSX.IntrinsicElements['ul'] & {
  readonly bars: readonly { readonly text: string; readonly count: number; readonly isFar?: boolean }[]
  /** False for a bar outside of the chosen range. */
  readonly isInside?: (at: number) => boolean
}

/** Returns a reference that gives a bar its length: the share of a number in the highest of all. */
export const shareOf =
  (count: number, all: readonly { readonly count: number }[]) =>
  (bar: HTMLElement | null): void =>
    bar?.style.setProperty('--share', String(count / Math.max(1, ...all.map(one => one.count))))

/** A histogram: numbers of records, as bars side by side. */
export const Bars = ({ bars, isInside = () => true, ...rest }: Parts): JSX.Element => (
  <ul class="histogram" {...rest}>
    {bars.map(({ text, count, isFar = false }, at) => (
      <li
        key={text}
        ref={shareOf(count, bars)}
        class={`${isInside(at) ? '' : 'outside'} ${isFar ? 'far' : ''}`}
        title={`${text}: ${formatNumber(count)}`}
      >
        <bdi class="sr-only">{text}</bdi> <span class="sr-only">{formatNumber(count)}</span>
      </li>
    ))}
  </ul>
)
