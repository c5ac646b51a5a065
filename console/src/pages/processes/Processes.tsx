import type { Process } from '@carrel/client/processes'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { inOneLine } from '../../administration/details.ts'
import { StateTag } from '../../administration/Follow.tsx'
import { processes, processPath } from '../../administration/processes.ts'
import { StartScript } from '../../administration/StartScript.tsx'
import { a, aOf } from '../../i18n/admin.ts'
import { formatDuration, formatTime } from '../../i18n/i18n.ts'
import { ListChecks, Play, RotateCw } from '../../icons.ts'
import { Button, Select } from '../../parts/controls.tsx'
import { HalTable } from '../../parts/HalTable.tsx'
import { Page } from '../../parts/Page.tsx'
import { Empty } from '../../parts/states.tsx'
import type { Column } from '../../parts/Table.tsx'
import { href, query, setQuery } from '../../router.ts'

const statuses = ['SCHEDULED', 'RUNNING', 'COMPLETED', 'FAILED'] as const

const columns = (): readonly Column<Process>[] => [
  {
    id: 'id',
    label: a('process.number'),
    cell: ({ processId }) => <a href={href(processPath(processId))}>{processId}</a>,
  },
  { id: 'script', label: a('process.kind'), cell: ({ scriptName }) => aOf('script', scriptName) },
  { id: 'state', label: a('process.state'), cell: process => <StateTag process={process} /> },
  { id: 'begun', label: a('process.begun'), cell: ({ creationTime }) => formatTime(creationTime) },
  { id: 'took', label: a('process.took'), numeric: true, cell: tookOf },
  {
    id: 'what',
    label: a('process.what'),
    wrap: true,
    cell: process => <bdi>{inOneLine(process)}</bdi>,
  },
]

const tookOf = ({ startTime, endTime }: Process) =>
  startTime === null || endTime === null
    ? '–'
    : formatDuration((new Date(endTime).getTime() - new Date(startTime).getTime()) / 1000)

export default function Processes(): JSX.Element {
  const [starting, setStarting] = useState(false)
  const [version, setVersion] = useState(0)
  const asked = query.value.get('status') ?? ''
  const status = statuses.find(one => one === asked)
  return (
    <Page
      title={a('processes.title')}
      lead={a('processes.lead')}
      actions={
        <Button look="primary" icon={Play} label={a('processes.start')} onClick={() => setStarting(true)} />
      }
    >
      <div class="toolbar">
        <label class="row">
          {a('process.state')}
          <Select
            value={status ?? ''}
            onChoose={chosen => setQuery({ status: chosen, page: null })}
            none={a('all')}
            options={statuses.map(one => [one, aOf('status', one)])}
          />
        </label>
        <Button icon={RotateCw} label={a('reload')} onClick={() => setVersion(version + 1)} />
      </div>
      <HalTable<Process>
        label={a('processes.title')}
        path={status ? `${processes}/search/byProperty` : processes}
        parameters={{ sort: 'startTime,desc', processStatus: status }}
        version={version}
        columns={columns()}
        idOf={({ processId }) => processId}
        pathOf={({ processId }) => processPath(processId)}
        empty={<Empty icon={ListChecks} title={a('processes.none')} help={a('processes.none.help')} />}
      />
      {starting && <StartScript onClose={() => setStarting(false)} />}
    </Page>
  )
}
