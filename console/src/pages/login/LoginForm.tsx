import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { CarrelProblem, client } from '../../api.ts'
import { formatDuration, t } from '../../i18n/i18n.ts'
import { Eye, EyeOff, LogIn } from '../../icons.ts'
import { Field } from '../../parts/Field.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { useLoad, useWork } from '../../parts/load.ts'
import { Notice, ProblemNotice } from '../../parts/states.tsx'
import { login } from '../../session.ts'
import './login.css'

interface Parts {
  /** The page to which a single sign-on returns. */
  readonly returnTo: string
  readonly onDone?: () => void
  /** The email address of the person who has to log in again. */
  readonly email?: string
}

/** A login by password or at a provider, depending on the service. */
export function LoginForm({ returnTo, onDone, email: known = '' }: Parts): JSX.Element {
  const { value: ways } = useLoad(() => client.loginMethods(returnTo), [returnTo])
  const providers = ways?.filter(({ location }) => location !== undefined) ?? []
  const byPassword = ways?.some(({ scheme }) => scheme === 'password') ?? true
  return (
    <div class="login">
      {byPassword && <ByPassword known={known} onDone={onDone} />}
      {byPassword && providers.length > 0 && <span class="or">{t('login.or')}</span>}
      {providers.map(({ scheme, location }) => (
        <a key={scheme} class={`button ${byPassword ? '' : 'primary'}`} href={location ?? ''} target="_self">
          <Icon of={LogIn} />
          {t('login.with', { name: nameOf(scheme) })}
        </a>
      ))}
    </div>
  )
}

/** The names of the providers by scheme, taken from the page. */
const names = JSON.parse(
  document.querySelector<HTMLMetaElement>('meta[name="carrel"]')?.dataset.providers ?? '{}',
) as Readonly<Record<string, readonly string[] | undefined>>

/** Returns the label for a scheme. If it has several providers, one is chosen on the next page. */
function nameOf(scheme: string): string {
  const [first, ...more] = names[scheme] ?? []
  if (first === undefined) return scheme
  return more.length === 0 ? first : more.length === 1 ? `${first} / ${more[0]}` : t('login.elsewhere')
}

function ByPassword({
  known,
  onDone,
}: {
  readonly known: string
  readonly onDone: (() => void) | undefined
}): JSX.Element {
  const [email, setEmail] = useState(known)
  const [password, setPassword] = useState('')
  const [shown, setShown] = useState(false)
  const work = useWork(async () => {
    await login(email, password)
    onDone?.()
  })
  return (
    <form
      class="stack"
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
      <div class="password">
        <Field label={t('login.password')}>
          <input
            type={(shown ? 'text' : 'password') as 'password'}
            autoComplete="current-password"
            required
            value={password}
            onInput={event => setPassword(event.currentTarget.value)}
          />
        </Field>
        <button
          type="button"
          class="button quiet icon"
          aria-pressed={shown}
          aria-label={t('login.password.show')}
          title={t('login.password.show')}
          onClick={() => setShown(!shown)}
        >
          <Icon of={shown ? EyeOff : Eye} />
        </button>
      </div>
      <WhyNot problem={work.problem} />
      <button type="submit" class="button primary" aria-busy={work.busy}>
        {t('login')}
      </button>
    </form>
  )
}

function WhyNot({ problem }: { readonly problem: unknown }): JSX.Element {
  if (problem instanceof CarrelProblem && problem.code === 'too-many-attempts')
    return <Notice tone="bad">{t('login.wait', { time: formatDuration(problem.retryAfter ?? 60) })}</Notice>
  if (problem instanceof CarrelProblem && problem.status === 401)
    return <Notice tone="bad">{t('login.wrong')}</Notice>
  return <ProblemNotice problem={problem} />
}
