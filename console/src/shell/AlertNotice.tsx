import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { formatTime } from '../i18n/i18n.ts'
import { Megaphone } from '../icons.ts'
import { Icon } from '../parts/Icon.tsx'
import { alert, lookForAlert } from './alert.ts'

/** Time in ms between two checks, since a page may stay open for days. */
const interval = 300_000

/** The operator's message to everyone, over every page. */
export function AlertNotice(): JSX.Element | null {
  useEffect(() => {
    void lookForAlert()
    const timer = setInterval(lookForAlert, interval)
    return () => clearInterval(timer)
  }, [])
  const told = alert.value
  if (!told) return null
  return (
    <div class="alert" role="status">
      <Icon of={Megaphone} />
      <p>
        <bdi>{told.message}</bdi>
        {told.countdownTo && (
          <>
            {' '}
            <time dateTime={told.countdownTo}>{formatTime(told.countdownTo)}</time>
          </>
        )}
      </p>
    </div>
  )
}
