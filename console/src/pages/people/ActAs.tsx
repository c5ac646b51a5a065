import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { actAs, client } from '../../api.ts'
import { a } from '../../i18n/admin.ts'
import { t } from '../../i18n/i18n.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { Field } from '../../parts/Field.tsx'
import { useWork } from '../../parts/load.ts'
import { ProblemNotice } from '../../parts/states.tsx'
import { go } from '../../router.ts'
import { nameOf, type Person } from './people.ts'

/** Maximum length of a reason in characters, set by the service. */
const longest = 1_000

/** Asks for a reason, then lets the administrator act on behalf of the person. */
export function ActAs({
  person,
  onClose,
}: {
  readonly person: Person
  readonly onClose: () => void
}): JSX.Element {
  const [reason, setReason] = useState('')
  const { uuid } = person
  const name = nameOf(person)
  const work = useWork(async () => {
    // If the service refuses, the dialog reports it once, instead of every page.
    await client.onBehalfOf(uuid, { reason: reason.trim() }).status()
    onClose()
    actAs({ uuid, name, reason: reason.trim() })
    go('')
  })
  return (
    <Dialog
      title={a('act.title', { name })}
      onClose={onClose}
      onSubmit={work.run}
      footer={
        <>
          <button type="button" class="button" onClick={onClose}>
            {t('cancel')}
          </button>
          <button type="submit" class="button primary" aria-busy={work.busy}>
            {a('act.do')}
          </button>
        </>
      }
    >
      <p class="soft">{a('act.help')}</p>
      <Field label={a('act.reason')}>
        <input
          required
          maxLength={longest}
          pattern=".*\S.*"
          value={reason}
          onInput={event => setReason(event.currentTarget.value)}
        />
      </Field>
      <ProblemNotice problem={work.problem} />
    </Dialog>
  )
}
