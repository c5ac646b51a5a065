import { cancelProcess, getProcess, type Process } from '@carrel/client/processes'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { adminPath } from '../../administration/declared.ts'
import { entityOf, parametersOf } from '../../administration/details.ts'
import { Follow } from '../../administration/Follow.tsx'
import { isUnderWay, processPath, removeProcess, resume } from '../../administration/processes.ts'
import { service } from '../../api.ts'
import { a, aOf } from '../../i18n/admin.ts'
import { formatTime, t } from '../../i18n/i18n.ts'
import { Ban, Play, Trash2 } from '../../icons.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { Button, NameLink } from '../../parts/controls.tsx'
import { Facts } from '../../parts/Facts.tsx'
import { useLoad, useWork } from '../../parts/load.ts'
import { type At, LoadingPage, Page, Section } from '../../parts/Page.tsx'
import { ProblemNotice } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import { loadPerson, nameOf, personPath } from '../../people/people.ts'
import { go, href } from '../../router.ts'
import { who } from '../../session.ts'

export default function ProcessPage({ parameters: { id = '' } }: At<'id'>): JSX.Element {
  const { value, problem, reload } = useLoad(() => getProcess(service.value, id), [id, who.value])
  const crumbs = [[a('processes.title'), href('admin/processes')]] as const
  if (problem || !value)
    return <LoadingPage title={a('process.title', { id })} crumbs={crumbs} problem={problem} retry={reload} />
  return (
    <Page
      title={`${aOf('script', value.scriptName)} ${value.processId}`}
      crumbs={crumbs}
      actions={<Actions process={value} onChange={reload} />}
    >
      <Follow key={id} id={id} onEnd={reload} />
      <Section title={a('process.about')}>
        <Facts
          of={[
            [a('process.begun'), formatTime(value.creationTime)],
            [a('process.by'), value.userId === null ? a('command-line') : <Beginner uuid={value.userId} />],
            ...parametersOf(value).map(([name, text]) => [name, <bdi>{text}</bdi>] as const),
            canBeRestored(value) && [
              a('fields.kept'),
              <a href={href(adminPath(entityOf(value) ?? ''))}>{a('fields.kept.show')}</a>,
            ],
          ]}
        />
      </Section>
    </Page>
  )
}

/** True for a process that has replaced the records of an entity, which a restore takes back (D15). */
const canBeRestored = ({ scriptName, state, parameters }: Process): boolean =>
  scriptName === 'import' && state === 'completed' && !parameters.some(({ name }) => name === 'preview')

/** The eperson who started the process, by name once it is loaded. */
function Beginner({ uuid }: { readonly uuid: string }): JSX.Element {
  const { value } = useLoad(signal => loadPerson(uuid, signal), [uuid])
  return <NameLink to={personPath(uuid)} name={value ? nameOf(value) : uuid} />
}

interface Parts {
  readonly process: Process
  readonly onChange: () => void
}

function Actions({ process, onChange }: Parts): JSX.Element {
  const { processId, state } = process
  const [deleting, setDeleting] = useState(false)
  const cancel = useWork(async () => {
    await cancelProcess(service.value, processId)
    toast(a('process.cancelling'))
    onChange()
  })
  const again = useWork(async () => {
    const next = await resume(processId)
    go(processPath(next.processId))
  })
  if (isUnderWay(state))
    return (
      <>
        <Button
          look="danger"
          icon={Ban}
          label={a('process.cancel')}
          onClick={cancel.run}
          aria-busy={cancel.busy}
        />
        <ProblemNotice problem={cancel.problem} />
      </>
    )
  return (
    <>
      {state !== 'completed' && (
        <Button icon={Play} label={a('process.resume')} onClick={again.run} aria-busy={again.busy} />
      )}
      <Button icon={Trash2} label={t('remove')} onClick={() => setDeleting(true)} />
      <ProblemNotice problem={again.problem} />
      {deleting && (
        <Confirm
          title={a('process.remove.title')}
          act={t('remove')}
          onClose={() => setDeleting(false)}
          work={async () => {
            await removeProcess(processId)
            go('admin/processes')
          }}
          help={a('process.remove.help')}
        />
      )}
    </>
  )
}
