import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { restoreVersion, type Version, versionsAddress } from '../../administration/declared.ts'
import { service } from '../../api.ts'
import { loadEntities } from '../../entities.ts'
import { a } from '../../i18n/admin.ts'
import { formatBytes, formatNumber, formatTime, tOf } from '../../i18n/i18n.ts'
import { Button } from '../../parts/controls.tsx'
import { HalTable } from '../../parts/HalTable.tsx'
import { useLoad, useWork } from '../../parts/load.ts'
import { Section } from '../../parts/Page.tsx'
import { Notice, ProblemNotice } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'

interface VersionsParts {
  readonly name: string
  readonly onRestore: () => void
}

/** The versions of an entity that imports have replaced. One click restores one, and can be undone. */
export function Versions({ name, onRestore }: VersionsParts): JSX.Element {
  const chosen = useRef<Version | undefined>(undefined)
  const restoring = useWork(async () => {
    if (!chosen.current) return
    await restore(name, chosen.current)
    onRestore()
  })
  return (
    <Section title={a('versions.title')} help={a('versions.help')}>
      <ProblemNotice problem={restoring.problem} />
      <HalTable<Version>
        label={a('versions.title')}
        path={versionsAddress(name)}
        name="versions"
        idOf={({ id }) => String(id)}
        empty={<p>{a('versions.none')}</p>}
        columns={[
          { id: 'replaced', label: a('version.replaced'), cell: ({ replaced }) => formatTime(replaced) },
          {
            id: 'by',
            label: a('version.by'),
            cell: ({ replacedBy }) =>
              replacedBy === 'entity.change' ? a('version.by.fields') : tOf('event', replacedBy),
          },
          { id: 'records', label: a('entity.records'), cell: ({ records }) => formatNumber(records) },
          { id: 'fields', label: a('entity.fields'), cell: ({ fields }) => formatNumber(fields) },
          { id: 'bytes', label: a('entity.bytes'), cell: ({ bytes }) => formatBytes(bytes) },
          { id: 'until', label: a('version.until'), cell: ({ until }) => formatTime(until) },
          {
            id: 'restore',
            label: a('version.restore'),
            cell: version => (
              <Button
                look="link"
                label={a('version.restore')}
                of={formatTime(version.replaced)}
                aria-busy={restoring.busy && chosen.current?.id === version.id}
                onClick={() => {
                  if (!restoring.busy) chosen.current = version
                  restoring.run()
                }}
              />
            ),
          },
        ]}
      />
    </Section>
  )
}

interface Parts {
  readonly name: string
  readonly records: number
  readonly onRestore: () => void
}

/** Says that fields are changed, and until when the version before can be restored. */
export function FieldsChanged({ name, records, onRestore }: Parts): JSX.Element {
  const { value } = useLoad(
    signal => service.value.list<Version>(versionsAddress(name)).page(0, 1, signal),
    [name],
  )
  const [version] = value?.items ?? []
  const [isRestored, setRestored] = useState(false)
  const restoring = useWork(async () => {
    if (!version) return
    await restore(name, version)
    setRestored(true)
    onRestore()
  })
  return (
    <>
      <Notice tone="good">
        {a(isRestored ? 'fields.undone' : 'fields.done', { n: records })}{' '}
        {version && !isRestored && (
          <>
            {a('fields.done.until', { time: formatTime(version.until) })}{' '}
            <Button look="link" label={a('fields.undo')} aria-busy={restoring.busy} onClick={restoring.run} />
          </>
        )}
      </Notice>
      <ProblemNotice problem={restoring.problem} />
    </>
  )
}

async function restore(name: string, { id, records }: Version): Promise<void> {
  await restoreVersion(name, id)
  toast(a('version.restored', { name, n: records }))
  await loadEntities().catch(() => {})
}
