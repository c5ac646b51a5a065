import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { client, loginAsked } from '../api.ts'
import { formatDuration, t } from '../i18n/i18n.ts'
import { Clock } from '../icons.ts'
import { Button } from '../parts/controls.tsx'
import { Dialog } from '../parts/Dialog.tsx'
import { Icon } from '../parts/Icon.tsx'
import { useWork } from '../parts/load.ts'
import { ProblemNotice } from '../parts/states.tsx'
import { LoginForm } from '../people/LoginForm.tsx'
import { href, path, query, withQuery } from '../router.ts'
import { ends, eperson, useTimeLeft } from '../session.ts'

/**
 * Time in seconds before the end of the session at which the warning appears: enough to come back from the
 * kettle.
 */
const warning = 120

/**
 * Warns before the session ends. After the end, it asks for a login over the page, so that no input is lost.
 */
export function SessionEnd(): JSX.Element | null {
  const left = useTimeLeft()
  const [dismissed, setDismissed] = useState<number>()
  const stay = useWork(() => client.refresh())
  if (loginAsked.value) return <LoginAgain />
  const end = ends.value
  if (end === undefined || left === undefined || left > warning || dismissed === end) return null
  if (left <= 0) return null
  return (
    <div class="session-end" role="alertdialog" aria-label={t('session.ends')}>
      <Icon of={Clock} />
      <p>
        <strong>{t('session.ends')}</strong>{' '}
        <span class="number" aria-hidden="true">
          {t('session.left', { time: formatDuration(left) })}
        </span>
      </p>
      <ProblemNotice problem={stay.problem} />
      <div class="row">
        <Button look="primary" label={t('session.stay')} onClick={stay.run} aria-busy={stay.busy} />
        <Button look="quiet" label={t('close')} onClick={() => setDismissed(end)} />
      </div>
    </div>
  )
}

function LoginAgain(): JSX.Element {
  const done = loginAsked.value ?? (() => {})
  const here = withQuery(path.value, { ...Object.fromEntries(query.value), 'signed-on': '1' })
  return (
    <Dialog title={t('session.over')} onClose={done}>
      <p class="soft">{t('login.again')}</p>
      <LoginForm
        returnTo={new URL(href(here), location.origin).href}
        email={eperson.value?.email ?? ''}
        onDone={done}
      />
    </Dialog>
  )
}
