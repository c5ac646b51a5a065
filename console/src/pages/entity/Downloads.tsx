import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { service } from '../../api.ts'
import type { Entity } from '../../entities.ts'
import { formatBytes, t } from '../../i18n/i18n.ts'
import { ChevronDown, Download } from '../../icons.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { Menu } from '../../parts/Menu.tsx'
import { collect, save } from '../../parts/save.ts'
import { ProblemNotice } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import { askedBy, viewOf } from './view.ts'

const formats = [
  ['csv', 'CSV', 'text/csv'],
  ['ndjson', 'NDJSON', 'application/x-ndjson'],
  ['json', 'JSON', 'application/json'],
] as const

interface Running {
  readonly name: string
  readonly bytes: number
  readonly problem?: unknown
  readonly stop: () => void
}

/** All records that the page asks for, in its order: not only those of this page. */
export function Downloads({ entity }: { readonly entity: Entity }): JSX.Element {
  const [running, setRunning] = useState<Running>()
  const start = async (extension: string, type: string) => {
    const controller = new AbortController()
    const { signal } = controller
    const name = `${entity.name}.${extension}`
    const stop = () => {
      controller.abort()
      setRunning(undefined)
    }
    setRunning({ name, bytes: 0, stop })
    try {
      const { path, parameters } = askedBy(entity, viewOf(entity))
      const response = await service.value.request('GET', path, {
        query: parameters,
        headers: { accept: type },
        signal,
      })
      if (!response.body) return
      const content = await collect(response.body, type, bytes => setRunning({ name, bytes, stop }))
      setRunning(undefined)
      save(content, name)
      toast(t('download.done', { name }))
    } catch (problem) {
      if (!signal.aborted) setRunning({ name, bytes: 0, problem, stop })
    }
  }
  return (
    <>
      <Menu
        button={
          <>
            <Icon of={Download} />
            {t('download')}
            <Icon of={ChevronDown} size={15} />
          </>
        }
      >
        {close => (
          <>
            <p class="menu-title">{t('download.all')}</p>
            {formats.map(([extension, label, type]) => (
              <button
                key={extension}
                type="button"
                class="menu-item"
                onClick={() => {
                  close()
                  start(extension, type).catch(() => {})
                }}
              >
                {label}
              </button>
            ))}
          </>
        )}
      </Menu>
      {running && (
        <Dialog
          title={t('download.running', { name: running.name })}
          onClose={running.stop}
          footer={
            <button type="button" class="button" onClick={running.stop}>
              {t('cancel')}
            </button>
          }
        >
          {running.problem ? (
            <ProblemNotice problem={running.problem} />
          ) : (
            <>
              <progress aria-label={t('download.running', { name: running.name })} />
              <p class="number soft">{formatBytes(running.bytes)}</p>
            </>
          )}
        </Dialog>
      )}
    </>
  )
}
