import type { Factor, FactorName } from '@carrel/client'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { CarrelProblem, client } from '../api.ts'
import { formatDuration, t } from '../i18n/i18n.ts'
import { Eye, EyeOff, KeyRound, LogIn } from '../icons.ts'
import { Button, Form, IconButton, Input, Submit } from '../parts/controls.tsx'
import { useFactor } from '../parts/FactorFields.tsx'
import { Field } from '../parts/Field.tsx'
import { Icon } from '../parts/Icon.tsx'
import { Lazy } from '../parts/Lazy.tsx'
import { useLoad, useWork } from '../parts/load.ts'
import { Notice, ProblemNotice } from '../parts/states.tsx'
import { toast } from '../parts/toast.tsx'
import { login } from '../session.ts'
import { type Finished, loadFactors } from './factors.ts'
import './login.css'

interface Parts {
  /** The page to which a single sign-on returns. */
  readonly returnTo: string
  readonly onDone?: () => void
  /** The email address of the person who has to log in again. */
  readonly email?: string
}

/** What a login lacks, although its password was right. The ticket stands for the password. */
type Missing =
  | { readonly kind: 'factor'; readonly ticket: string; readonly factors: readonly FactorName[] }
  | { readonly kind: 'enrolment'; readonly ticket: string }

function missingIn(error: unknown): Missing | undefined {
  if (!(error instanceof CarrelProblem)) return undefined
  const { ticket, factors } = error.members as { ticket?: string; factors?: readonly FactorName[] }
  if (ticket === undefined) return undefined
  return factors ? { kind: 'factor', ticket, factors } : { kind: 'enrolment', ticket }
}

/**
 * A login by password, with a second step if one is enrolled or demanded, by passkey, or at a provider,
 * depending on the service.
 */
export function LoginForm({ returnTo, onDone, email: known = '' }: Parts): JSX.Element {
  const { value: ways } = useLoad(() => client.loginMethods(returnTo), [returnTo])
  const [missing, setMissing] = useState<Missing>()
  const [email, setEmail] = useState(known)
  const [isOver, setOver] = useState(false)
  const [isEnrolled, setEnrolled] = useState(false)
  /** Goes on to what the login lacks. Fails if that was asked for already, or if it lacks nothing. */
  const attempt = async (work: () => Promise<void>) => {
    try {
      await work()
      onDone?.()
    } catch (error) {
      const next = missingIn(error)
      // The ticket of the step has ended.
      const isLost = missing !== undefined && !next && hasStatus(error, 401)
      setOver(isLost)
      if (next || isLost) setMissing(next)
      if (!next || missing) throw error
    }
  }
  if (missing?.kind === 'factor')
    return <SecondStep missing={missing} attempt={attempt} onBack={() => setMissing(undefined)} />
  if (missing)
    return (
      <div class="stack">
        {!isEnrolled && <Notice>{t('login.enrol')}</Notice>}
        <Lazy
          load={loadEnrol}
          with={{
            kinds: canMakePasskeys() ? (['passkey', 'totp'] as const) : (['totp'] as const),
            by: { ticket: missing.ticket },
            onCodes: () => setEnrolled(true),
            onDone: ({ ticket = '' }: Finished) => attempt(() => client.loginByTicket(ticket)),
          }}
        />
      </div>
    )
  const providers = ways?.filter(({ location }) => location !== undefined) ?? []
  const byPassword = ways?.some(({ scheme }) => scheme === 'password') ?? true
  const byPasskey = ways?.some(({ scheme }) => scheme === 'webauthn') && canMakePasskeys()
  return (
    <div class="login">
      {isOver && <Notice tone="warn">{t('login.too-long')}</Notice>}
      {byPassword && <ByPassword email={email} setEmail={setEmail} attempt={attempt} />}
      {byPassword && (providers.length > 0 || byPasskey) && <span class="or">{t('login.or')}</span>}
      {byPasskey && <ByPasskey attempt={attempt} />}
      {providers.map(({ scheme, location }) => (
        <a key={scheme} class={`button ${byPassword ? '' : 'primary'}`} href={location ?? ''} target="_self">
          <Icon of={LogIn} />
          {t('login.with', { name: nameOf(scheme) })}
        </a>
      ))}
    </div>
  )
}

const loadEnrol = async () => (await import('./Enrol.tsx')).default

/** True if this browser has passkeys whose options are JSON, and this address, which needs a name, too. */
const canMakePasskeys = () =>
  'PublicKeyCredential' in globalThis &&
  'parseRequestOptionsFromJSON' in PublicKeyCredential &&
  !/^[\d.]+$|:/.test(location.hostname)

type Attempt = (work: () => Promise<void>) => Promise<void>

interface SecondStepParts {
  readonly missing: Extract<Missing, { kind: 'factor' }>
  readonly attempt: Attempt
  readonly onBack: () => void
}

/** The second step of a login. */
function SecondStep({ missing: { ticket, factors }, attempt, onBack }: SecondStepParts): JSX.Element {
  const { fields, act, answer, why } = useFactor(factors, () => client.passkey({ ticket }))
  const work = useWork(async () => {
    const factor = (await answer()) as Factor
    await attempt(() => client.loginByTicket(ticket, factor))
    if (!('recovery' in factor)) return
    const left = await loadFactors().catch(() => undefined)
    if (left) toast(t('recovery.left', { n: left.recoveryCodes }))
  })
  return (
    <Form class="stack" onSubmit={work.run}>
      <p>{t('login.second')}</p>
      {fields}
      {why(work.problem)}
      <div class="row">
        <Submit label={act} busy={work.busy} />
        <Button look="quiet" label={t('login.start-over')} onClick={onBack} />
      </div>
    </Form>
  )
}

/** Time in ms for which a challenge waits in the field of the name; the service accepts it a little longer. */
const challengeLifetime = 100_000

/** A login with a passkey that stands alone: by a button, or chosen in the field of the email address. */
function ByPasskey({ attempt }: { readonly attempt: Attempt }): JSX.Element {
  const [round, setRound] = useState(0)
  const [refused, setRefused] = useState<unknown>()
  const offered = useRef<AbortController>(null)
  const work = useWork(async () => {
    // A browser asks for one passkey at a time.
    offered.current?.abort()
    setRefused(undefined)
    await attempt(() => client.loginByPasskey())
  })
  useEffect(() => {
    if (work.busy) return
    const controller = new AbortController()
    const { signal } = controller
    offered.current = controller
    const timer = setTimeout(() => setRound(round + 1), challengeLifetime)
    const offer = async () => {
      if (!(await PublicKeyCredential.isConditionalMediationAvailable()) || signal.aborted) return
      await attempt(() => client.loginByPasskey({ mediation: 'conditional', signal }))
    }
    offer().catch(error => error instanceof CarrelProblem && setRefused(error))
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [round, work.busy])
  return (
    <>
      <Button icon={KeyRound} label={t('login.passkey')} aria-busy={work.busy} onClick={work.run} />
      <WhyNot problem={work.problem ?? refused} wrong={t('login.passkey.wrong')} />
    </>
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

interface ByPasswordParts {
  readonly email: string
  readonly setEmail: (email: string) => void
  readonly attempt: Attempt
}

function ByPassword({ email, setEmail, attempt }: ByPasswordParts): JSX.Element {
  const [password, setPassword] = useState('')
  const [shown, setShown] = useState(false)
  const work = useWork(() => attempt(() => login(email, password)))
  return (
    <Form class="stack" onSubmit={work.run}>
      <Field label={t('login.email')}>
        <Input type="email" autoComplete="username webauthn" required value={email} onText={setEmail} />
      </Field>
      <div class="password">
        <Field label={t('login.password')}>
          <Input
            type={(shown ? 'text' : 'password') as 'password'}
            autoComplete="current-password"
            required
            value={password}
            onText={setPassword}
          />
        </Field>
        <IconButton
          icon={shown ? EyeOff : Eye}
          label={t('login.password.show')}
          aria-pressed={shown}
          onClick={() => setShown(!shown)}
        />
      </div>
      <WhyNot problem={work.problem} wrong={t('login.wrong')} />
      <Submit label={t('login')} busy={work.busy} />
    </Form>
  )
}

const hasStatus = (problem: unknown, status: number) =>
  problem instanceof CarrelProblem && problem.status === status

interface WhyNotParts {
  readonly problem: unknown
  /** Explains that what was given is wrong. */
  readonly wrong: string
}

function WhyNot({ problem, wrong }: WhyNotParts): JSX.Element {
  if (problem instanceof CarrelProblem && problem.code === 'too-many-attempts')
    return <Notice tone="bad">{t('login.wait', { time: formatDuration(problem.retryAfter ?? 60) })}</Notice>
  if (hasStatus(problem, 401)) return <Notice tone="bad">{wrong}</Notice>
  return <ProblemNotice problem={problem} />
}
