import type { IconNode } from 'lucide'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { CarrelNetworkError, CarrelProblem } from '../api.ts'
import { language, t, tOf } from '../i18n/i18n.ts'
import { CircleAlert, CircleCheck, CloudOff, Info, Lock, RotateCw, Search, TriangleAlert } from '../icons.ts'
import { href, path, query, withQuery } from '../router.ts'
import { trouble, tryToBegin, who } from '../session.ts'
import { Button, LinkButton } from './controls.tsx'
import { Icon } from './Icon.tsx'
import './states.css'

interface StateParts {
  readonly icon: IconNode
  readonly title: string
  readonly tone?: 'bad' | 'warn'
  readonly help?: ComponentChildren
  /** Actions that may help. */
  readonly children?: ComponentChildren
}

/** A message in place of a page's content. */
export const State = ({ icon, title, tone, help, children }: StateParts): JSX.Element => (
  <section class={`state ${tone ?? ''}`}>
    <span class="picture">
      <Icon of={icon} size={22} />
    </span>
    <h2>{title}</h2>
    {help && <p class="help">{help}</p>}
    {children && <div class="row">{children}</div>}
  </section>
)

export const Empty = (
  parts: Omit<StateParts, 'icon' | 'tone'> & { readonly icon?: IconNode },
): JSX.Element => <State icon={parts.icon ?? Search} {...parts} />

/** A placeholder while content is loaded. */
export const Loading = ({ lines = 8 }: { readonly lines?: number }): JSX.Element => (
  <>
    <Slow />
    <div class="skeleton" role="status" aria-label={t('loading')}>
      {Array.from({ length: lines }, (_, at) => (
        <i key={at} />
      ))}
    </div>
  </>
)

/** Shows that content is being loaded again while the previous content stays. */
export const Progress = ({ busy }: { readonly busy: boolean }): JSX.Element | null =>
  busy ? (
    <>
      <Slow />
      <div class="progress" role="status" aria-label={t('loading')} />
    </>
  ) : null

/** Time in ms after which a note says that loading takes long. */
const patience = 10_000

/** A note that loading takes long. An answer may never come, and no browser says so. */
function Slow(): JSX.Element | null {
  const [isSlow, setSlow] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), patience)
    return () => clearTimeout(timer)
  }, [])
  return isSlow ? (
    <Notice tone="warn">
      {t('slow')} <Button look="link" label={t('reload.do')} onClick={() => location.reload()} />
    </Notice>
  ) : null
}

interface NoticeParts {
  readonly tone?: 'bad' | 'warn' | 'good'
  readonly children: ComponentChildren
}

/** A message in one line inside a page. */
export const Notice = ({ tone, children }: NoticeParts): JSX.Element => {
  const icons = { bad: CircleAlert, warn: TriangleAlert, good: CircleCheck }
  return (
    <div class={`notice ${tone ?? ''}`} role={tone === 'bad' ? 'alert' : 'status'}>
      <Icon of={tone ? icons[tone] : Info} />
      <div>{children}</div>
    </div>
  )
}

export const loginHref = (): string =>
  href(withQuery('login', { back: path.value === 'login' ? query.value.get('back') : here() }))

const here = () => `${path.value}${query.value.size > 0 ? `?${query.value}` : ''}`

/** A message in place of a page that the caller may not read. */
export const Forbidden = (): JSX.Element => (
  <State
    icon={Lock}
    title={t('forbidden')}
    help={who.value.kind === 'eperson' ? t('forbidden.other') : t('forbidden.login')}
  >
    {who.value.kind !== 'eperson' && (
      <LinkButton look="primary" label={t('login')} to={{ href: loginHref() }} />
    )}
  </State>
)

interface OfflineParts {
  readonly retry: (() => void) | undefined
  readonly children?: ComponentChildren
}

/**
 * A message that there is no connection. When the device reports that it is online again, it retries by
 * itself.
 */
export function Offline({ retry, children }: OfflineParts): JSX.Element {
  useLayoutEffect(() => {
    if (!retry) return
    addEventListener('online', retry)
    return () => removeEventListener('online', retry)
  }, [retry])
  return (
    <State icon={CloudOff} tone="warn" title={t('offline')} help={t('offline.help')}>
      {children}
    </State>
  )
}

interface ProblemViewParts {
  readonly problem: unknown
  readonly retry?: () => void
}

/** Explains in place of a page what went wrong and how to go on. */
export function ProblemView({ problem, retry }: ProblemViewParts): JSX.Element {
  const again = retry && <Button icon={RotateCw} label={t('retry')} onClick={retry} />
  if (problem instanceof CarrelNetworkError) return <Offline retry={retry}>{again}</Offline>
  if (problem instanceof CarrelProblem && (problem.status === 401 || problem.status === 403))
    return <Forbidden />
  if (problem instanceof CarrelProblem)
    return (
      <State
        icon={CircleAlert}
        tone="bad"
        title={tOf('problem', problem.code)}
        help={
          problem.status === 404 ? (
            t('missing.help')
          ) : problem.detail === undefined ? null : (
            <span lang="en">{problem.detail}</span>
          )
        }
      >
        {again}
        <details class="small soft">
          <summary>{t('failed.details')}</summary>
          <code>{t('failed.code', { code: problem.code, status: String(problem.status) })}</code>
        </details>
      </State>
    )
  return (
    <State
      icon={CircleAlert}
      tone="bad"
      title={t('failed')}
      help={problem instanceof Error ? problem.message : null}
    >
      {again}
    </State>
  )
}

interface Parts {
  readonly problem: unknown
  readonly retry: () => void
  /** The size of the placeholder. */
  readonly lines?: number
}

/** Stands in place of what is being loaded, or could not be. */
export const Pending = ({ problem, retry, lines = 8 }: Parts): JSX.Element =>
  problem ? <ProblemView problem={problem} retry={retry} /> : <Loading lines={lines} />

/** A problem in one line, for a form or a dialog. */
export const ProblemNotice = ({ problem }: { readonly problem: unknown }): JSX.Element | null => {
  if (problem === undefined) return null
  if (problem instanceof CarrelNetworkError) return <Notice tone="warn">{t('offline.help')}</Notice>
  // The browser's own words for a passkey that was declined are for developers.
  if (problem instanceof DOMException && /^(InvalidState|NotAllowed)Error$/.test(problem.name))
    return (
      <Notice tone="warn">
        {t(problem.name === 'InvalidStateError' ? 'passkey.known' : 'passkey.stopped')}
      </Notice>
    )
  return (
    <Notice tone="bad">
      {problem instanceof CarrelProblem && language.value !== 'en' && (
        <p>
          <strong>{tOf('problem', problem.code)}.</strong>
        </p>
      )}
      {problem instanceof Error ? <span lang="en">{problem.message}</span> : t('failed')}
    </Notice>
  )
}

const beginAgain = () => tryToBegin()

/**
 * A placeholder until it is known whether the caller is logged in, or the reason why that can't be found out.
 */
export const NotYetKnown = (): JSX.Element =>
  trouble.value === undefined ? <Loading /> : <ProblemView problem={trouble.value} retry={beginAgain} />
