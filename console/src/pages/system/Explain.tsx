import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { a, aOf } from '../../i18n/admin.ts'
import { t } from '../../i18n/i18n.ts'
import { Facts } from '../../parts/Facts.tsx'
import { Field } from '../../parts/Field.tsx'
import { useLoad, useWork } from '../../parts/load.ts'
import { Notice, ProblemNotice } from '../../parts/states.tsx'
import { loadProviders } from '../../people/logins.ts'
import { ProviderSelect } from '../../people/ProviderSelect.tsx'
import { personPath } from '../../people/people.ts'
import { href } from '../../router.ts'
import { type Explained, explain } from './system.ts'

/**
 * Returns the attributes if the text is a JSON object. Any other text is taken for an assertion from a
 * provider.
 */
function attributesIn(text: string): Record<string, unknown> | undefined {
  if (!/^\s*\{/.test(text)) return undefined
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return undefined
  }
}

/**
 * Explains which eperson a login with an assertion would yield, and why. The input is not kept, not even as a
 * draft.
 */
export function Explain(): JSX.Element {
  const [text, setText] = useState('')
  const [provider, setProvider] = useState('')
  const [entityId, setEntityId] = useState('')
  const [found, setFound] = useState<Explained>()
  const { value: providers = [] } = useLoad(loadProviders, [])
  const [first] = providers
  const chosen = providers.find(({ id }) => id === provider) ?? first
  const work = useWork(async () => {
    setFound(undefined)
    const attributes = attributesIn(text)
    setFound(
      await explain({
        ...(chosen && { provider: chosen.id }),
        ...(chosen?.federation && entityId.trim() && { entityId: entityId.trim() }),
        ...(attributes ? { attributes } : { assertion: text.trim() }),
      }),
    )
  })
  return (
    <form
      class="stack form"
      onSubmit={event => {
        event.preventDefault()
        work.run()
      }}
    >
      <Field label={a('explain.assertion')} hint={a('explain.assertion.hint')}>
        <textarea
          required
          class="code-input"
          rows={7}
          spellcheck={false}
          autoComplete="off"
          value={text}
          onInput={event => setText(event.currentTarget.value)}
        />
      </Field>
      <div class="fields">
        {providers.length > 1 && (
          <Field label={a('explain.provider')}>
            <ProviderSelect providers={providers} value={chosen?.id ?? ''} onChoose={setProvider} />
          </Field>
        )}
        {chosen?.federation && (
          <Field label={a('explain.entity-id')} hint={a('explain.entity-id.hint')}>
            <input
              value={entityId}
              spellcheck={false}
              onInput={event => setEntityId(event.currentTarget.value)}
            />
          </Field>
        )}
      </div>
      <div>
        <button type="submit" class="button primary" aria-busy={work.busy}>
          {a('explain.do')}
        </button>
      </div>
      <ProblemNotice problem={work.problem} />
      {found && <Answer found={found} />}
    </form>
  )
}

function Answer({ found }: { readonly found: Explained }): JSX.Element {
  const { outcome, why, provider, signature, subject, email, emailIgnored, eperson, specialGroups } = found
  const isRefused = outcome === 'refused'
  const signatureIsBad = signature !== null && signature !== 'valid' && signature !== 'not checked'
  return (
    <section class="stack" aria-label={a('explain.answer')}>
      <Notice tone={isRefused ? 'bad' : 'good'}>
        <strong>{aOf('explained', outcome)}</strong>
        {why !== null && (
          <p>
            <bdi>{why}</bdi>
          </p>
        )}
      </Notice>
      {signatureIsBad && (
        <Notice tone="bad">
          {a('explain.signature')}: <bdi>{signature}</bdi>
        </Notice>
      )}
      <Facts
        of={[
          [a('explain.provider'), <bdi>{provider}</bdi>],
          signature !== null && [a('explain.signature'), aOf('signature', signature)],
          [a('explain.subject'), <bdi>{subject ?? t('none')}</bdi>],
          [a('person.email'), <bdi>{email ?? t('none')}</bdi>],
          emailIgnored !== null && [a('explain.email-ignored'), <bdi>{emailIgnored}</bdi>],
          eperson !== null && [
            a('person.title'),
            <a href={href(personPath(eperson.uuid))}>
              <bdi>{eperson.email}</bdi>
            </a>,
          ],
          [a('explain.groups'), <bdi>{specialGroups.length > 0 ? specialGroups.join(', ') : t('none')}</bdi>],
        ]}
      />
    </section>
  )
}
