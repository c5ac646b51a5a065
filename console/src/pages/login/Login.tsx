import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { t } from '../../i18n/i18n.ts'
import { Page } from '../../parts/Page.tsx'
import { go, href, query, withQuery } from '../../router.ts'
import { who } from '../../session.ts'
import { LoginForm } from './LoginForm.tsx'

/** Returns the page to go back to. Only paths of the console are accepted. */
const back = () => {
  const to = query.value.get('back') ?? ''
  return /^\w/.test(to) && !/^login\b/.test(to) ? to : ''
}

function Login(): JSX.Element {
  const isIn = who.value.kind === 'eperson'
  useEffect(() => {
    if (isIn) go(back(), { replace: true })
  }, [isIn])
  const returnTo = new URL(href(withQuery('login', { back: back(), 'signed-on': '1' })), location.origin).href
  return (
    <Page narrow title={t('login.title')} lead={t('login.lead')}>
      <LoginForm returnTo={returnTo} />
    </Page>
  )
}

export default Login
