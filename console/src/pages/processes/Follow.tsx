import { followProcess, getProcess, type Process } from '@carrel/client/processes'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { service } from '../../api.ts'
import { a, aOf } from '../../i18n/admin.ts'
import { formatBytes, formatNumber, formatTime, t } from '../../i18n/i18n.ts'
import { Facts } from '../../parts/Facts.tsx'
import { Loading, Notice, ProblemView } from '../../parts/states.tsx'
import { tones } from './processes.ts'
import './processes.css'

interface Line {
  readonly n: number
  readonly time: string
  readonly text: string
}

/** Lines of the log that are shown; the file has all of them. */
const most = 2_000

interface State {
  readonly process: Process | undefined
  readonly lines: readonly Line[]
  readonly problem: unknown
}

/** How a process goes, as it happens. */
export function Follow({
  id,
  onEnd,
}: {
  readonly id: string
  readonly onEnd?: (process: Process) => void
}): JSX.Element {
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
      {process.fault !== null && <Notice tone="bad">{process.fault}</Notice>}
      <Result of={process.result} />
      <Log lines={lines} />
    </div>
  )
}

export const StateTag = ({ state }: { readonly state: Process['state'] }): JSX.Element => (
  <span class={`tag ${tones[state]}`}>{aOf('state', state)}</span>
)

interface Progress {
  readonly done: number
  readonly total?: number
  readonly unit: string
}

function Status({
  process: { state, progress: given, endTime },
}: {
  readonly process: Process
}): JSX.Element {
  const progress = given as Progress | null
  const write = (value: number) => (progress?.unit === 'bytes' ? formatBytes(value) : formatNumber(value))
  const isRunning = state === 'running'
  return (
    <div class="process-status" role="status">
      <StateTag state={state} />
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

const written = (value: unknown): string =>
  typeof value === 'number'
    ? formatNumber(value)
    : typeof value === 'boolean'
      ? t(value ? 'yes' : 'no')
      : typeof value === 'string'
        ? value
        : JSON.stringify(value, null, 1)

/** Nothing is said by an empty list. */
const isSaid = ([, value]: readonly [string, unknown]) => !Array.isArray(value) || value.length > 0

/** What a process made: its members, as the service calls them. */
function Result({ of }: { readonly of: unknown }): JSX.Element | null {
  if (typeof of !== 'object' || of === null || Object.keys(of).length === 0) return null
  return (
    <Facts
      of={Object.entries(of)
        .filter(isSaid)
        .map(([name, value]) => [aOf('result', name), <bdi>{written(value)}</bdi>])}
    />
  )
}

function Log({ lines }: { readonly lines: readonly Line[] }): JSX.Element | null {
  const frame = useRef<HTMLDivElement>(null)
  // It stays at the end, unless somebody has gone back to read.
  const isAtEnd = useRef(true)
  useEffect(() => {
    const element = frame.current
    if (element && isAtEnd.current) element.scrollTop = element.scrollHeight
  }, [lines])
  if (lines.length === 0) return null
  return (
    <div
      class="log"
      ref={frame}
      role="log"
      aria-label={a('process.log')}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled from the keyboard
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
        isAtEnd.current = scrollTop + clientHeight > scrollHeight - 8
      }}
    >
      <ol>
        {lines.map(({ n, time, text }) => (
          <li key={n}>
            <time dateTime={time}>{time.slice(11, 19)}</time> <bdi>{text}</bdi>
          </li>
        ))}
      </ol>
    </div>
  )
}
