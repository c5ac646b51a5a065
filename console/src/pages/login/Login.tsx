import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { client } from '../../api.ts'
import { t } from '../../i18n/i18n.ts'
import { useLoad } from '../../parts/load.ts'
import { Page } from '../../parts/Page.tsx'
import { Notice } from '../../parts/states.tsx'
import { LoginForm } from '../../people/LoginForm.tsx'
import { go, href, query, withQuery } from '../../router.ts'
import { who } from '../../session.ts'
import { repositoryName } from '../../settings.ts'

/** Returns the page to go back to. Only paths of the console are accepted. */
const back = () => {
  const to = query.value.get('back') ?? ''
  return /^\w/.test(to) && !/^login\b/.test(to) ? to : ''
}

/**
 * Returns the secret of a login link (L11). It leaves the address and the history at once, so that nothing goes
 * on showing it.
 */
function takeLink(): string | undefined {
  const [, link] = /^#link=([\w-]+)$/.exec(location.hash) ?? []
  if (link) history.replaceState(history.state, '', location.pathname + location.search)
  return link
}

export default function Login(): JSX.Element {
  const isIn = who.value.kind === 'eperson'
  useEffect(() => {
    if (isIn) go(back(), { replace: true })
  }, [isIn])
  const [link, setLink] = useState(takeLink)
  useEffect(() => {
    const onHash = () => setLink(takeLink())
    addEventListener('hashchange', onHash)
    return () => removeEventListener('hashchange', onHash)
  }, [])
  const linked = useLoad(async () => link && client.openLink(link), [link])
  const returnTo = new URL(href(withQuery('login', { back: back(), 'signed-on': '1' })), location.origin).href
  return (
    <Page narrow title={t('login.title')} lead={t('login.lead', { name: repositoryName })}>
      {linked.problem !== undefined && <Notice tone="bad">{t('login.link-used')}</Notice>}
      <LoginForm returnTo={returnTo} />
    </Page>
  )
}
