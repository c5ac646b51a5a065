import type { Factor, FactorName, Passkey } from '@carrel/client'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { CarrelProblem } from '../api.ts'
import { formatDuration, t } from '../i18n/i18n.ts'
import { Button } from './controls.tsx'
import { Field } from './Field.tsx'
import { Notice, ProblemNotice } from './states.tsx'

/** What can be asked for. The first of a list that someone has is the one that is asked for at first. */
type Asked = FactorName | 'password'
const inOrder: readonly Asked[] = ['webauthn', 'totp', 'recovery', 'password']

/** An answer; without anything that can be asked for, it is empty. */
type Answer = Factor | { readonly password: string } | Readonly<Record<string, never>>

interface FactorForm {
  readonly fields: JSX.Element
  /** The label of the button that sends the answer. */
  readonly act: string
  /** Returns what was typed, or the answer of a passkey. @throws DOMException if the user declines it */
  answer(): Promise<Answer>
  /** Explains a refusal of the answer. */
  why(problem: unknown): JSX.Element
}

/**
 * Asks for one of several factors.
 *
 * @param passkey asks the browser for a passkey
 */
export function useFactor(kinds: readonly Asked[], passkey: () => Promise<Passkey>): FactorForm {
  const has = inOrder.filter(kind => kinds.includes(kind))
  const [chosen, setChosen] = useState<Asked>()
  const [text, setText] = useState('')
  const kind = chosen !== undefined && has.includes(chosen) ? chosen : has[0]
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const input = place.current?.querySelector('input')
    // The cursor starts in the first field of the form.
    if (input && (chosen !== undefined || input.form?.querySelector('input') === input)) input.focus()
  }, [kind])
  const input = (name: 'totp' | 'recovery' | 'password', more: JSX.IntrinsicElements['input']) => (
    <Field label={t(`factor.${name}`)} hint={name === 'password' ? undefined : t(`factor.${name}.hint`)}>
      <input
        required
        spellcheck={false}
        autoCapitalize="none"
        value={text}
        onInput={event => setText(event.currentTarget.value)}
        {...more}
      />
    </Field>
  )
  const fields = (
    <div class="stack" ref={place}>
      {kind === 'totp' &&
        input('totp', { autoComplete: 'one-time-code', inputMode: 'numeric', maxLength: 9 })}
      {kind === 'recovery' && input('recovery', { autoComplete: 'off', maxLength: 40 })}
      {kind === 'password' && input('password', { type: 'password', autoComplete: 'current-password' })}
      {kind === 'webauthn' && <p>{t('factor.webauthn.hint')}</p>}
      {has.length > 1 && (
        <p class="row small">
          {kinds
            .filter((one): one is FactorName => one !== kind && one !== 'password')
            .map(one => (
              <Button
                look="link"
                key={one}
                label={t(`factor.use.${one}`)}
                onClick={() => {
                  setChosen(one)
                  setText('')
                }}
              />
            ))}
        </p>
      )}
    </div>
  )
  return {
    fields,
    act: t(`factor.do.${kind ?? 'password'}`),
    answer: async () => {
      if (kind === undefined) return {}
      if (kind === 'webauthn') return passkey()
      if (kind === 'password') return { password: text }
      // A code is of no use a second time.
      setText('')
      return kind === 'totp' ? { totp: text } : { recovery: text }
    },
    why: problem => <WhyRefused problem={problem} kind={kind} />,
  }
}

/** Codes of the service that mean a wrong factor. */
const refusals = ['second-factor-required', 'proof-refused']

function WhyRefused({ problem, kind }: { readonly problem: unknown; readonly kind: Asked | undefined }) {
  if (!(problem instanceof CarrelProblem)) return <ProblemNotice problem={problem} />
  if (problem.code === 'too-many-attempts')
    return <Notice tone="bad">{t('factor.wait', { time: formatDuration(problem.retryAfter ?? 60) })}</Notice>
  if (refusals.includes(problem.code))
    return <Notice tone="bad">{t(`factor.wrong.${kind ?? 'recent'}`)}</Notice>
  return <ProblemNotice problem={problem} />
}
