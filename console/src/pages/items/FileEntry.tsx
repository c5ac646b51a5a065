import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { formatBytes, t, tOf } from '../../i18n/i18n.ts'
import { Download, Eye, EyeOff, RotateCw } from '../../icons.ts'
import { Button } from '../../parts/controls.tsx'
import { ProblemNotice } from '../../parts/states.tsx'
import { cut } from '../../parts/Value.tsx'
import type { Bitstream } from '../../records/items.ts'
import { type State, Transfer } from './transfer.ts'
import { kindOf, Viewer } from './Viewer.tsx'

interface Parts {
  readonly file: Bitstream
  readonly alone: boolean
}

/**
 * A file with its properties. It can be viewed in place where that is safe, and downloaded with a progress
 * bar.
 */
export function FileEntry({ file, alone }: Parts): JSX.Element {
  const kind = kindOf(file)
  const [open, setOpen] = useState(alone && kind !== undefined)
  const [state, setState] = useState<State>()
  const transfer = useRef<Transfer>(undefined)
  transfer.current ??= new Transfer(file.uuid, setState)
  useEffect(() => () => transfer.current?.stop(), [])
  const start = () => {
    transfer.current?.run().catch(() => {})
  }
  return (
    <li>
      <div class="file-head">
        <div>
          <p>
            <strong>
              <bdi>{cut(file.name, 200)}</bdi>
            </strong>
          </p>
          <p class="small soft row">
            <span>{file.mime_type}</span>
            <span class="number">{formatBytes(file.size)}</span>
            {file.bundle !== 'ORIGINAL' && <span class="tag">{tOf('bundle', file.bundle)}</span>}
            {file.description && <bdi>{cut(file.description, 300)}</bdi>}
          </p>
        </div>
        <div class="row">
          {kind && (
            <Button icon={open ? EyeOff : Eye} aria-expanded={open} onClick={() => setOpen(!open)}>
              {open ? t('files.hide') : t('files.show')}
              <span class="sr-only"> {cut(file.name, 80)}</span>
            </Button>
          )}
          <Button icon={Download} onClick={start} aria-disabled={state?.running ?? false}>
            {t('download')}
            <span class="sr-only"> {cut(file.name, 80)}</span>
          </Button>
        </div>
      </div>
      {state && <Progress state={state} onResume={start} onStop={() => transfer.current?.stop()} />}
      {open && kind && <Viewer file={file} kind={kind} />}
    </li>
  )
}

interface ProgressParts {
  readonly state: State
  readonly onResume: () => void
  readonly onStop: () => void
}

const Progress = ({ state, onResume, onStop }: ProgressParts): JSX.Element => (
  <div class="stack">
    <progress max={state.total || 1} value={state.done} aria-label={t('files.progress')} />
    <div class="row">
      <span class="small number soft">
        {t('files.done', { done: formatBytes(state.done), total: formatBytes(state.total) })}
      </span>
      {!state.running && <Button icon={RotateCw} label={t('files.resume')} onClick={onResume} />}
      <Button look="quiet" label={t('cancel')} onClick={onStop} />
    </div>
    <ProblemNotice problem={state.problem} />
  </div>
)
