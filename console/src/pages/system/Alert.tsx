import type { JSX } from 'preact'
import { lookForAlert } from '../../alert.ts'
import { a } from '../../i18n/admin.ts'
import { zone } from '../../i18n/i18n.ts'
import { Check, Input, Select, TextArea } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { ChangeForm } from '../../parts/forms.tsx'
import { useLoad, useWork } from '../../parts/load.ts'
import { Loading, ProblemView } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import { useTyped } from '../../parts/typed.ts'
import { who } from '../../session.ts'
import { SystemPage } from './SystemPage.tsx'
import { type AlertBody, loadAlert, writeAlert } from './system.ts'

/** A form for a message that everyone sees on every page. */
export default function Alert(): JSX.Element {
  const { value, problem, reload } = useLoad(loadAlert, [who.value])
  return (
    <SystemPage title={a('alert.tab')} lead={a('alert.lead')}>
      {problem ? (
        <ProblemView problem={problem} retry={reload} />
      ) : value === undefined ? (
        <Loading lines={4} />
      ) : (
        <AlertForm alert={value} onChange={reload} />
      )}
    </SystemPage>
  )
}

/** The format of the browser's date and time field: to the minute, in UTC, without a time zone. */
const inField = (text: string | null): string =>
  text === null ? '' : new Date(text).toISOString().slice(0, 16)

const allowed = ['all', 'current', 'admin'] as const

function AlertForm({
  alert,
  onChange,
}: {
  readonly alert: AlertBody | null
  readonly onChange: () => void
}): JSX.Element {
  const start = {
    message: alert?.message ?? '',
    active: alert?.active ?? false,
    sessions: alert?.allowSessions ?? 'all',
    until: inField(alert?.countdownTo ?? null),
  }
  const [values, setValues] = useTyped(start)
  const isSame = alert !== null && JSON.stringify(values) === JSON.stringify(start)
  const work = useWork(async () => {
    await writeAlert(alert?.alertId, {
      message: values.message.trim(),
      active: values.active,
      countdownTo: values.until === '' ? null : new Date(`${values.until}Z`).toISOString(),
      allowSessions: values.sessions,
    })
    toast(values.active ? a('alert.shown') : a('alert.hidden'))
    onChange()
    await lookForAlert()
  })
  return (
    <ChangeForm isSame={isSame} work={work}>
      <Field label={a('alert.message')}>
        <TextArea
          required
          rows={3}
          maxLength={2_000}
          value={values.message}
          onText={text => setValues({ ...values, message: text })}
        />
      </Field>
      <Field label={a('alert.until', { zone })} hint={a('alert.until.hint')}>
        <Input
          type="datetime-local"
          value={values.until}
          onText={text => setValues({ ...values, until: text })}
        />
      </Field>
      <Field label={a('alert.sessions')}>
        <Select
          value={values.sessions}
          onChoose={chosen => {
            const sessions = allowed.find(one => one === chosen) ?? 'all'
            setValues({ ...values, sessions })
          }}
          options={allowed.map(one => [one, a(`alert.sessions.${one}`)])}
        />
      </Field>
      <Check
        label={a('alert.active')}
        checked={values.active}
        onChange={isChecked => setValues({ ...values, active: isChecked })}
      />
    </ChangeForm>
  )
}
