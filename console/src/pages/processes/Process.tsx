import { cancelProcess, getProcess, type Process } from '@carrel/client/processes'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { service } from '../../api.ts'
import { a, aOf } from '../../i18n/admin.ts'
import { formatTime, t } from '../../i18n/i18n.ts'
import { Ban, Play, Trash2 } from '../../icons.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { Facts } from '../../parts/Facts.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { useLoad, useWork } from '../../parts/load.ts'
import { Page } from '../../parts/Page.tsx'
import { Loading, ProblemNotice, ProblemView } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import { go, href } from '../../router.ts'
import { who } from '../../session.ts'
import { adminPath } from '../entities-admin/declared.ts'
import { loadPerson, nameOf, personPath } from '../people/people.ts'
import { entityOf, parametersOf } from './details.ts'
import { Follow } from './Follow.tsx'
import { isUnderWay, processPath, removeProcess, resume } from './processes.ts'

function ProcessPage({
  parameters: { id = '' },
}: {
  readonly parameters: { readonly id?: string }
}): JSX.Element {
  const { value, problem, reload } = useLoad(() => getProcess(service.value, id), [id, who.value])
  const crumbs = [[a('processes.title'), href('admin/processes')]] as const
  if (problem || !value)
    return (
      <Page title={a('process.title', { id })} crumbs={crumbs}>
        {problem ? <ProblemView problem={problem} retry={reload} /> : <Loading />}
      </Page>
    )
  return (
    <Page
      title={`${aOf('script', value.scriptName)} ${value.processId}`}
      crumbs={crumbs}
      actions={<Actions process={value} onChange={reload} />}
    >
      <Follow key={id} id={id} onEnd={reload} />
      <section class="section">
        <h2>{a('process.about')}</h2>
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
      </section>
    </Page>
  )
}

/** True for a process that has replaced the records of an entity, which a restore takes back (D15). */
const canBeRestored = ({ scriptName, state, parameters }: Process): boolean =>
  scriptName === 'import' && state === 'completed' && !parameters.some(({ name }) => name === 'preview')

/** The eperson who started the process, by name once it is loaded. */
function Beginner({ uuid }: { readonly uuid: string }): JSX.Element {
  const { value } = useLoad(signal => loadPerson(uuid, signal), [uuid])
  return (
    <a href={href(personPath(uuid))}>
      <bdi>{value ? nameOf(value) : uuid}</bdi>
    </a>
  )
}

function Actions({
  process,
  onChange,
}: {
  readonly process: Process
  readonly onChange: () => void
}): JSX.Element {
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
        <button type="button" class="button danger" onClick={cancel.run} aria-busy={cancel.busy}>
          <Icon of={Ban} />
          {a('process.cancel')}
        </button>
        <ProblemNotice problem={cancel.problem} />
      </>
    )
  return (
    <>
      {state !== 'completed' && (
        <button type="button" class="button" onClick={again.run} aria-busy={again.busy}>
          <Icon of={Play} />
          {a('process.resume')}
        </button>
      )}
      <button type="button" class="button" onClick={() => setDeleting(true)}>
        <Icon of={Trash2} />
        {t('remove')}
      </button>
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
        >
          <p>{a('process.remove.help')}</p>
        </Confirm>
      )}
    </>
  )
}

export default ProcessPage
