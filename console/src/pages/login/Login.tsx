import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { CarrelProblem } from '../../api.ts'
import { t } from '../../i18n/i18n.ts'
import { Field } from '../../parts/Field.tsx'
import { useWork } from '../../parts/load.ts'
import { Page } from '../../parts/Page.tsx'
import { Notice, ProblemNotice } from '../../parts/states.tsx'
import { go, query } from '../../router.ts'
import { login, who } from '../../session.ts'
import './login.css'

/** Back to where they came from, which is a page of the console and nothing else. */
const back = () => {
  const to = query.value.get('back') ?? ''
  return /^[\w]/.test(to) && !to.startsWith('login') ? to : ''
}

function Login(): JSX.Element {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const work = useWork(async () => {
    await login(email, password)
    go(back(), { replace: true })
  })
  const isIn = who.value.kind === 'eperson'
  useEffect(() => {
    if (isIn) go(back(), { replace: true })
  }, [isIn])
  const wrong = work.problem instanceof CarrelProblem && work.problem.status === 401
  return (
    <Page
      narrow
      title={t('login.title')}
      lead={query.value.has('again') ? t('login.again') : t('login.lead')}
    >
      <form
        class="login"
        onSubmit={event => {
          event.preventDefault()
          work.run()
        }}
      >
        <Field label={t('login.email')}>
          <input
            type="email"
            autoComplete="username"
            required
            value={email}
            onInput={event => setEmail(event.currentTarget.value)}
          />
        </Field>
        <Field label={t('login.password')}>
          <input
            type="password"
            autoComplete="current-password"
            required
            value={password}
            onInput={event => setPassword(event.currentTarget.value)}
          />
        </Field>
        {wrong ? <Notice tone="bad">{t('login.wrong')}</Notice> : <ProblemNotice problem={work.problem} />}
        <button type="submit" class="button primary" aria-busy={work.busy}>
          {t('login')}
        </button>
      </form>
    </Page>
  )
}

export default Login
