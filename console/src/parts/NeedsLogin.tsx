import type { ComponentChildren, JSX } from 'preact'
import { t } from '../i18n/i18n.ts'
import { Lock } from '../icons.ts'
import { type Eperson, who } from '../session.ts'
import { LinkButton } from './controls.tsx'
import { loginHref, NotYetKnown, State } from './states.tsx'

/** Shows its content to an eperson who is logged in, and a login form to others. */
export function NeedsLogin({
  children,
}: {
  readonly children: (eperson: Eperson) => ComponentChildren
}): JSX.Element {
  const now = who.value
  if (now.kind === 'unknown') return <NotYetKnown />
  if (now.kind === 'eperson') return <>{children(now.eperson)}</>
  return (
    <State icon={Lock} title={t('forbidden')} help={t('forbidden.login')}>
      <LinkButton look="primary" label={t('login')} to={{ href: loginHref() }} />
    </State>
  )
}
