import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { encode } from 'uqr'
import { CarrelProblem } from '../api.ts'
import { t } from '../i18n/i18n.ts'
import { Copy, KeyRound } from '../icons.ts'
import { Button, Check, Form, LinkButton, Submit } from '../parts/controls.tsx'
import { copy } from '../parts/copy.ts'
import { useFactor } from '../parts/FactorFields.tsx'
import { Field } from '../parts/Field.tsx'
import { useWork, type Work } from '../parts/load.ts'
import { Notice, ProblemNotice } from '../parts/states.tsx'
import {
  type Begun,
  begin,
  type Enrolled,
  type Finished,
  type Finishing,
  finish,
  makePasskey,
  type ProofName,
} from './factors.ts'
import { provePasskey } from './ProofDialog.tsx'
import { RecoveryCodes } from './RecoveryCodes.tsx'
import './account.css'

interface Parts {
  /** The kinds to choose from. */
  readonly kinds: readonly Enrolled['kind'][]
  /** What callers can prove themselves with, or the ticket of a login that demands a factor. */
  readonly by: readonly ProofName[] | { readonly ticket: string }
  /** Called when the recovery codes of the first factor are shown, which are about more than that factor. */
  readonly onCodes: () => void
  /** Called when the factor is enrolled and its recovery codes were shown. */
  readonly onDone: (finished: Finished) => unknown
}

/** Adds a factor: its name and a proof, then its first use, then the recovery codes of the first factor. */
export default function Enrol({ onCodes, onDone, ...parts }: Parts): JSX.Element {
  const [begun, setBegun] = useState<Begun>()
  const [endOthers, setEndOthers] = useState(false)
  const [done, setDone] = useState<Finished>()
  const going = useWork(async () => done && onDone(done))
  if (done?.recoveryCodes)
    return (
      <Step work={going} act={t('recovery.kept')}>
        <RecoveryCodes codes={done.recoveryCodes} />
      </Step>
    )
  if (!begun) return <Begin {...parts} endOthers={endOthers} onEndOthers={setEndOthers} onBegun={setBegun} />
  const more = {
    by: 'ticket' in parts.by ? ({ anonymous: true } as const) : { endOtherSessions: endOthers },
    onFinished: (finished: Finished) => {
      if (!finished.recoveryCodes) return onDone(finished)
      onCodes()
      return setDone(finished)
    },
  }
  return begun.kind === 'totp' ? (
    <FirstCode begun={begun} {...more} />
  ) : (
    <NewPasskey begun={begun} {...more} />
  )
}

interface StepParts {
  readonly work: Work
  readonly act: string
  readonly children: ComponentChildren
  readonly why?: JSX.Element
}

/** A form with one button. */
const Step = ({ work, act, children, why }: StepParts): JSX.Element => (
  <Form class="stack" onSubmit={work.run}>
    {children}
    {why ?? <ProblemNotice problem={work.problem} />}
    <div class="row">
      <Submit label={act} busy={work.busy} />
    </div>
  </Form>
)

interface BeginParts extends Pick<Parts, 'kinds' | 'by'> {
  readonly endOthers: boolean
  readonly onEndOthers: (endOthers: boolean) => void
  readonly onBegun: (begun: Begun) => void
}

function Begin({ kinds, by, endOthers, onEndOthers, onBegun }: BeginParts): JSX.Element {
  const [kind, setKind] = useState(kinds[0] ?? 'totp')
  const [name, setName] = useState('')
  const [alone, setAlone] = useState(false)
  const byTicket = 'ticket' in by
  const { fields, answer, why } = useFactor(byTicket ? [] : by, provePasskey)
  const first = useRef<HTMLInputElement>(null)
  useEffect(() => first.current?.focus(), [])
  const work = useWork(async () => {
    const wanted = { kind, name: name.trim(), ...(kind === 'passkey' ? { alone } : {}) }
    onBegun(await begin(wanted, byTicket ? by : { proof: await answer() }))
  })
  return (
    <Step work={work} act={t('continue')} why={why(work.problem)}>
      {kinds.length > 1 && (
        <fieldset class="plain">
          <legend>{t('factor.which')}</legend>
          {kinds.map(one => (
            <label key={one} class="check">
              <input type="radio" name="kind" checked={one === kind} onChange={() => setKind(one)} />
              <span>
                {t(`factor.kind.${one}`)} <span class="soft">{t(`factor.kind.${one}.what`)}</span>
              </span>
            </label>
          ))}
        </fieldset>
      )}
      <Field label={t('factor.name')} hint={t(`factor.name.hint.${kind}`)}>
        <input
          ref={first}
          required
          maxLength={100}
          value={name}
          onInput={event => setName(event.currentTarget.value)}
        />
      </Field>
      {kind === 'passkey' && <Check label={t('factor.alone.do')} checked={alone} onChange={setAlone} />}
      {!byTicket && <Check label={t('sessions.end.others')} checked={endOthers} onChange={onEndOthers} />}
      {fields}
    </Step>
  )
}

interface FirstUse<Kind> {
  readonly begun: Extract<Begun, { readonly kind: Kind }>
  readonly by: Finishing
  readonly onFinished: (finished: Finished) => void
}

/** Shows the secret to an authenticator app, and asks for its first code. */
function FirstCode({ begun, by, onFinished }: FirstUse<'totp'>): JSX.Element {
  const { fields, answer, why } = useFactor(['totp'], provePasskey)
  const work = useWork(async () =>
    onFinished(await finish(begun, (await answer()) as { readonly totp: string }, by)),
  )
  return (
    <Step
      work={work}
      act={t('factor.add')}
      why={isRefused(work.problem) ? <Notice tone="bad">{t('totp.wrong')}</Notice> : why(work.problem)}
    >
      <p>{t('totp.scan')}</p>
      <QrCode text={begun.uri} label={t('totp.picture')} />
      <p>
        {t('totp.secret')} <code class="totp-secret">{begun.secret.replaceAll(/.{4}(?=.)/g, '$& ')}</code>
      </p>
      <div class="row">
        <Button icon={Copy} label={t('totp.copy')} onClick={() => copy(begun.secret)} />
        <LinkButton icon={KeyRound} label={t('totp.open')} to={{ href: begun.uri }} />
      </div>
      {fields}
    </Step>
  )
}

const isRefused = (problem: unknown) => problem instanceof CarrelProblem && problem.code === 'factor-refused'

/** Lets the browser make a passkey, at first by itself and then by the button. */
function NewPasskey({ begun, by, onFinished }: FirstUse<'passkey'>): JSX.Element {
  const work = useWork(async () =>
    onFinished(await finish(begun, { webauthn: await makePasskey(begun.publicKey) }, by)),
  )
  useEffect(() => work.run(), [])
  return (
    <Step work={work} act={t('retry')}>
      <p role="status">{t('passkey.making')}</p>
    </Step>
  )
}

/** Blank modules around the code, which readers need (ISO/IEC 18004). */
const border = 4

/** A QR code. It is black on white in every theme, because many cameras read no other. */
function QrCode({ text, label }: { readonly text: string; readonly label: string }): JSX.Element {
  const { size, data } = encode(text, { border })
  const dark = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ''))).join('')
  return (
    <svg
      class="qr"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${size} ${size}`}
      shape-rendering="crispEdges"
    >
      <path d={`M0 0h${size}v${size}h-${size}z`} fill="#fff" />
      <path d={dark} fill="#000" />
    </svg>
  )
}
