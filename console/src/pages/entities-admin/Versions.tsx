import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import { loadEntities } from '../../entities.ts'
import { a } from '../../i18n/admin.ts'
import { formatBytes, formatNumber, formatTime, tOf } from '../../i18n/i18n.ts'
import { HalTable } from '../../parts/HalTable.tsx'
import { useWork } from '../../parts/load.ts'
import { ProblemNotice } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import { restoreVersion, type Version, versionsAddress } from './declared.ts'

/** The versions of an entity that imports have replaced. One click restores one, and can be undone. */
export function Versions({
  name,
  onRestore,
}: {
  readonly name: string
  readonly onRestore: () => void
}): JSX.Element {
  const chosen = useRef<Version | undefined>(undefined)
  const restoring = useWork(async () => {
    if (!chosen.current) return
    const { id, records } = chosen.current
    await restoreVersion(name, id)
    toast(a('version.restored', { name, n: records }))
    await loadEntities().catch(() => {})
    onRestore()
  })
  return (
    <section class="section">
      <h2>{a('versions.title')}</h2>
      <p class="soft">{a('versions.help')}</p>
      <ProblemNotice problem={restoring.problem} />
      <HalTable<Version>
        label={a('versions.title')}
        path={versionsAddress(name)}
        name="versions"
        idOf={({ id }) => String(id)}
        empty={<p>{a('versions.none')}</p>}
        columns={[
          { id: 'replaced', label: a('version.replaced'), cell: ({ replaced }) => formatTime(replaced) },
          { id: 'by', label: a('version.by'), cell: ({ replacedBy }) => tOf('event', replacedBy) },
          { id: 'records', label: a('entity.records'), cell: ({ records }) => formatNumber(records) },
          { id: 'fields', label: a('entity.fields'), cell: ({ fields }) => formatNumber(fields) },
          { id: 'bytes', label: a('entity.bytes'), cell: ({ bytes }) => formatBytes(bytes) },
          { id: 'until', label: a('version.until'), cell: ({ until }) => formatTime(until) },
          {
            id: 'restore',
            label: a('version.restore'),
            cell: version => (
              <button
                type="button"
                class="link-button"
                aria-label={`${a('version.restore')}: ${formatTime(version.replaced)}`}
                aria-busy={restoring.busy && chosen.current?.id === version.id}
                onClick={() => {
                  if (!restoring.busy) chosen.current = version
                  restoring.run()
                }}
              >
                {a('version.restore')}
              </button>
            ),
          },
        ]}
      />
    </section>
  )
}
