import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { processPath } from '../../administration/processes.ts'
import { StartScript } from '../../administration/StartScript.tsx'
import { a } from '../../i18n/admin.ts'
import { formatBytes, formatNumber, formatTime } from '../../i18n/i18n.ts'
import { Archive, Play, ShieldCheck } from '../../icons.ts'
import { Icon } from '../../parts/Icon.tsx'
import { useLoad } from '../../parts/load.ts'
import { Empty, Loading, Notice, ProblemView } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/Table.tsx'
import { href } from '../../router.ts'
import { who } from '../../session.ts'
import { SystemPage } from './SystemPage.tsx'
import { type Backup, loadBackups } from './system.ts'

const columns = (): readonly Column<Backup>[] => [
  { id: 'name', label: a('backup.name'), cell: ({ name }) => <bdi>{name}</bdi> },
  { id: 'made', label: a('backup.made'), cell: ({ made }) => (made === null ? '–' : formatTime(made)) },
  {
    id: 'state',
    label: a('backup.state'),
    wrap: true,
    cell: ({ complete, fault, lost }) =>
      !complete ? (
        <>
          <span class="tag bad">{a('backup.damaged')}</span> <bdi class="soft">{fault}</bdi>
        </>
      ) : (lost ?? 0) > 0 ? (
        <span class="tag warn">{a('backup.lost', { n: lost ?? 0 })}</span>
      ) : (
        <span class="tag good">{a('backup.whole')}</span>
      ),
  },
  {
    id: 'bytes',
    label: a('backup.bytes'),
    numeric: true,
    cell: ({ bytes }) => (bytes === null ? '–' : formatBytes(bytes)),
  },
  {
    id: 'contents',
    label: a('backup.contents'),
    numeric: true,
    cell: ({ contents }) => (contents === null ? '–' : formatNumber(contents)),
  },
  { id: 'carrel', label: a('backup.version'), cell: ({ carrel }) => carrel ?? '–' },
]

function Backups(): JSX.Element {
  const { value, problem, reload } = useLoad(loadBackups, [who.value])
  const [starting, setStarting] = useState<'backup' | 'verify-backups'>()
  return (
    <SystemPage
      title={a('backups.tab')}
      lead={a('backups.lead')}
      actions={
        value?.configured && (
          <>
            <button type="button" class="button" onClick={() => setStarting('verify-backups')}>
              <Icon of={ShieldCheck} />
              {a('backups.verify')}
            </button>
            <button type="button" class="button primary" onClick={() => setStarting('backup')}>
              <Icon of={Play} />
              {a('backups.make')}
            </button>
          </>
        )
      }
    >
      {problem ? (
        <ProblemView problem={problem} retry={reload} />
      ) : !value ? (
        <Loading />
      ) : !value.configured ? (
        <Empty icon={Archive} title={a('backups.off')} help={a('backups.off.help')} />
      ) : (
        <>
          {value.process !== null && (
            <Notice>
              <a href={href(processPath(String(value.process)))}>{a('backups.running')}</a>
            </Notice>
          )}
          {value.backups.length === 0 ? (
            <Empty icon={Archive} title={a('backups.none')} help={a('backups.none.help')} />
          ) : (
            <Table
              label={a('backups.tab')}
              columns={columns()}
              rows={value.backups}
              idOf={({ name }) => name}
              whole
            />
          )}
        </>
      )}
      {starting && <StartScript only={starting} onClose={() => setStarting(undefined)} />}
    </SystemPage>
  )
}

export default Backups
