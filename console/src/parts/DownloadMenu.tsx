import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { service } from '../api.ts'
import { formatBytes, t } from '../i18n/i18n.ts'
import { Download } from '../icons.ts'
import { Button } from './controls.tsx'
import { Dialog } from './Dialog.tsx'
import { Menu, MenuEntries } from './Menu.tsx'
import { collect, save } from './save.ts'
import { ProblemNotice } from './states.tsx'
import { toast } from './toast.tsx'

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

interface Asked {
  readonly path: string
  readonly parameters: Readonly<Record<string, string | undefined>>
}

/** A selection of columns for the file. */
interface Choice {
  /** The name of the selection, needed if there are several. */
  readonly label?: string
  readonly asked: (signal: AbortSignal) => Asked | Promise<Asked>
}

/** Loads answers as files, one at a time. */
function useDownload(name: string) {
  const [running, setRunning] = useState<Running>()
  const start = async (asked: Choice['asked'], extension: string, type: string) => {
    const controller = new AbortController()
    const { signal } = controller
    const file = `${name}.${extension}`
    const stop = () => {
      controller.abort()
      setRunning(undefined)
    }
    setRunning({ name: file, bytes: 0, stop })
    try {
      const { path, parameters } = await asked(signal)
      const response = await service.value.request('GET', path, {
        query: parameters,
        headers: { accept: type },
        signal,
      })
      if (!response.body) return
      const content = await collect(response.body, type, bytes => setRunning({ name: file, bytes, stop }))
      setRunning(undefined)
      save(content, file)
      toast(t('download.done', { name: file }))
    } catch (problem) {
      if (!signal.aborted) setRunning({ name: file, bytes: 0, problem, stop })
    }
  }
  return { running, start }
}

interface Parts {
  /** The name of the file without its extension. */
  readonly name: string
  readonly choices: readonly Choice[]
}

/** A menu that downloads all records of a query as a file. */
export function DownloadMenu({ name, choices }: Parts): JSX.Element {
  const { running, start } = useDownload(name)
  return (
    <>
      <Menu icon={Download} arrow={15} button={t('download')}>
        {close => (
          <>
            <p class="menu-title">{t('download.all')}</p>
            {choices.map(({ label, asked }) => (
              // biome-ignore lint/a11y/useSemanticElements: a fieldset's legend can't stand in a line
              <div key={label} role="group" aria-label={label ?? t('download.all')}>
                {label && <p class="menu-title">{label}</p>}
                <MenuEntries
                  close={close}
                  of={formats.map(([extension, format, type]) => [
                    format,
                    () => start(asked, extension, type).catch(() => {}),
                  ])}
                />
              </div>
            ))}
          </>
        )}
      </Menu>
      {running && (
        <Dialog
          title={t('download.running', { name: running.name })}
          onClose={running.stop}
          footer={<Button label={t('cancel')} onClick={running.stop} />}
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
