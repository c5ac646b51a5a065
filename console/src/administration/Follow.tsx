import { followProcess, getProcess, type Process } from '@carrel/client/processes'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { service } from '../api.ts'
import { a, aOf } from '../i18n/admin.ts'
import { formatBytes, formatClock, formatNumber, formatTime, zone } from '../i18n/i18n.ts'
import { Facts } from '../parts/Facts.tsx'
import { Loading, Notice, ProblemView } from '../parts/states.tsx'
import { misfitsIn } from './declared.ts'
import { entityOf, hasFailures, resultOf } from './details.ts'
import { Misfits } from './Misfits.tsx'
import { tones } from './processes.ts'
import './processes.css'

interface Line {
  readonly n: number
  readonly time: string
  readonly text: string
}

/** Maximum number of log lines shown; the file has all of them. */
const most = 2_000

interface State {
  readonly process: Process | undefined
  readonly lines: readonly Line[]
  readonly problem: unknown
}

interface Parts {
  readonly id: string
  readonly onEnd?: (process: Process) => void
}

/** Shows the progress and the log of a process while it runs. */
export function Follow({ id, onEnd }: Parts): JSX.Element {
  const [{ process, lines, problem }, setState] = useState<State>({
    process: undefined,
    lines: [],
    problem: undefined,
  })
  const [round, setRound] = useState(0)
  const told = useRef(onEnd)
  told.current = onEnd
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    const change = (next: (state: State) => State) => signal.aborted || setState(next)
    const look = async () => {
      const found = await getProcess(service.value, id)
      change(state => ({ ...state, process: found }))
      return found
    }
    const follow = async () => {
      setState({ process: undefined, lines: [], problem: undefined })
      await look()
      for await (const event of followProcess(service.value, id, { signal }))
        if (event.event === 'log')
          change(state => ({ ...state, lines: [...state.lines.slice(1 - most), event] }))
        else if (event.event === 'progress')
          change(state => ({
            ...state,
            process: state.process && { ...state.process, state: event.state, progress: event.progress },
          }))
      const ended = await look()
      if (!signal.aborted) told.current?.(ended)
    }
    follow().catch(error => change(state => ({ ...state, problem: error })))
    return () => controller.abort()
  }, [id, round])
  if (problem) return <ProblemView problem={problem} retry={() => setRound(round + 1)} />
  if (!process) return <Loading lines={4} />
  return (
    <div class="stack">
      <Status process={process} />
      {process.fault !== null && (
        <Notice tone="bad">
          <span lang="en">{process.fault}</span>
        </Notice>
      )}
      <Result of={process} />
      <Log lines={lines} />
    </div>
  )
}

export function StateTag({ process }: { readonly process: Process }): JSX.Element {
  const { state } = process
  if (state === 'completed' && hasFailures(process))
    return <span class="tag warn">{aOf('state', 'with-failures')}</span>
  return <span class={`tag ${tones[state]}`}>{aOf('state', state)}</span>
}

interface Progress {
  readonly done: number
  readonly total?: number
  readonly unit: string
}

function Status({ process }: { readonly process: Process }): JSX.Element {
  const { state, progress: given, endTime } = process
  const progress = given as Progress | null
  const write = (value: number) => (progress?.unit === 'bytes' ? formatBytes(value) : formatNumber(value))
  const isRunning = state === 'running'
  return (
    <div class="process-status" role="status">
      <StateTag process={process} />
      {isRunning && (
        <progress
          aria-label={a('process.progress')}
          {...(progress?.total ? { value: progress.done, max: progress.total } : {})}
        />
      )}
      {isRunning && progress && (
        <span class="number soft">
          {progress.unit === '%' || progress.unit === 'percent'
            ? `${write(progress.done)} %`
            : `${write(progress.done)}${progress.total ? ` / ${write(progress.total)}` : ''} ${progress.unit === 'bytes' ? '' : aOf('unit', progress.unit)}`}
        </span>
      )}
      {endTime !== null && <span class="soft">{formatTime(endTime)}</span>}
    </div>
  )
}

/** The result of a process. */
function Result({ of }: { readonly of: Process }): JSX.Element | null {
  const said = resultOf(of)
  const misfits = misfitsIn(of.result)
  return (
    <>
      {said.length > 0 && <Facts of={said.map(([name, value]) => [name, <bdi>{value}</bdi>])} />}
      {misfits.length > 0 && <Misfits entity={entityOf(of) ?? ''} misfits={misfits} />}
    </>
  )
}

function Log({ lines }: { readonly lines: readonly Line[] }): JSX.Element | null {
  const frame = useRef<HTMLDivElement>(null)
  // The log follows its end unless the user has scrolled back.
  const isAtEnd = useRef(true)
  useEffect(() => {
    const element = frame.current
    if (element && isAtEnd.current) element.scrollTop = element.scrollHeight
  }, [lines])
  if (lines.length === 0) return null
  const label = a('process.log', { zone })
  return (
    <div class="log-frame">
      <p class="label">{label}</p>
      <div
        class="log"
        ref={frame}
        role="log"
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled from the keyboard
        tabIndex={0}
        onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
          isAtEnd.current = scrollTop + clientHeight > scrollHeight - 8
        }}
      >
        <ol>
          {lines.map(({ n, time, text }) => (
            <li key={n}>
              <time dateTime={time}>{formatClock(time)}</time> <bdi lang="en">{text}</bdi>
            </li>
          ))}
        </ol>
      </div>
    </div>
  )
}
