import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Json } from '../entities.ts'
import { printExactly } from '../exact.ts'
import { formatNumber, t } from '../i18n/i18n.ts'
import { cut, isAddress, Value } from './Value.tsx'

/** Number of characters shown of a text until more are asked for. */
const first = 2_000

/** A single value, shown in full. */
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
  if (typeof value === 'object' && value !== null) return <Folded text={printExactly(value, 2)} />
  if (typeof value === 'string')
    return (
      <span>
        <Value value={value} type={type} /> <span class="soft small">{value}</span>
      </span>
    )
  return <Value value={value} type={type} />
}

/** Maximum number of lines shown unfolded. */
const mostLines = 20

function Folded({ text }: { readonly text: string }): JSX.Element {
  const lines = text.split('\n').length
  if (lines <= mostLines) return <Long text={text} code />
  return (
    <details>
      <summary>
        {t('value.json', { n: lines })}{' '}
        <code class="soft small">{cut(text.replaceAll(/\s+/g, ' '), 80)}</code>
      </summary>
      <Long text={text} code />
    </details>
  )
}

function Long({ text, code }: { readonly text: string; readonly code?: boolean }): JSX.Element {
  const [all, setAll] = useState(false)
  const shown = all ? text : cut(text, first)
  return (
    <>
      {code ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled from the keyboard
        <pre tabIndex={0}>{shown}</pre>
      ) : isAddress(text) ? (
        <Value value={text} />
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
