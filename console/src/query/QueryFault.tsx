import type { JSX } from 'preact'
import { t } from '../i18n/i18n.ts'
import { Button } from '../parts/controls.tsx'
import { Notice } from '../parts/states.tsx'
import type { Fault } from './refused.ts'

interface Parts {
  readonly fault: Fault
  readonly onNearest?: ((nearest: string) => void) | undefined
  readonly onInstead?: ((condition: string) => void) | undefined
}

/** A fault in a query: the line with the place underlined, the message, and a correction if there is one. */
export function QueryFault({ fault, onNearest, onInstead }: Parts): JSX.Element {
  const { message, lang, line, column = 0, nearest, instead } = fault
  // A space is marked if something is missing at the end.
  const wrong = fault.word || ' '
  return (
    <Notice tone="bad">
      {line !== undefined && (
        <pre class="place">
          {line.slice(0, column)}
          <mark>{wrong}</mark>
          {line.slice(column + wrong.length)}
        </pre>
      )}
      <p lang={lang}>{message}</p>
      {nearest && onNearest && (
        <Button look="link" label={t('query.use', { value: nearest })} onClick={() => onNearest(nearest)} />
      )}
      {instead && onInstead && (
        <Button look="link" label={t('query.use', { value: instead })} onClick={() => onInstead(instead)} />
      )}
    </Notice>
  )
}
