import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Json } from '../entities.ts'
import { printExactly } from '../exact.ts'
import { formatNumber, t } from '../i18n/i18n.ts'
import { cut, Value } from './Value.tsx'

/** So much of a text is shown until somebody wants more. */
const first = 2_000

/** A value by itself, all of it. */
export function Whole({
  value,
  type,
}: {
  readonly value: Json | undefined
  readonly type: string
}): JSX.Element {
  const isList = Array.isArray(value) && value.every(one => typeof one !== 'object' || one === null)
  if (isList && value.length > 0)
    return (
      <ul>
        {value.slice(0, 500).map((one, at) => (
          <li key={at}>
            <Whole value={one} type="text" />
          </li>
        ))}
      </ul>
    )
  if (typeof value === 'string' && type !== 'date-time') return <Long text={value} />
  if (typeof value === 'object' && value !== null) return <Long text={printExactly(value, 2)} code />
  if (typeof value === 'string')
    return (
      <span>
        <Value value={value} type={type} /> <span class="soft small">{value}</span>
      </span>
    )
  return <Value value={value} type={type} />
}

function Long({ text, code }: { readonly text: string; readonly code?: boolean }): JSX.Element {
  const [all, setAll] = useState(false)
  const shown = all ? text : cut(text, first)
  return (
    <>
      {code ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled from the keyboard
        <pre tabIndex={0}>{shown}</pre>
      ) : (
        <bdi class="text">{shown}</bdi>
      )}
      {text.length > first && (
        <p>
          <button type="button" class="link-button small" onClick={() => setAll(!all)}>
            {all ? t('less') : t('value.all', { count: formatNumber(text.length) })}
          </button>
        </p>
      )}
    </>
  )
}
