import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { a, aOf } from '../../i18n/admin.ts'
import { formatAgo, formatBytes, formatNumber, formatTime, tOf } from '../../i18n/i18n.ts'
import { Pause, Play } from '../../icons.ts'
import { Facts } from '../../parts/Facts.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { Loading, ProblemView } from '../../parts/states.tsx'
import { LinePlot, type Series } from './LinePlot.tsx'
import { SystemPage } from './SystemPage.tsx'
import { type Duration, type FiguresNow, loadFigures } from './system.ts'

/** Interval between two measurements in ms, and maximum number of them kept: ten minutes. */
const interval = 3_000
const most = 200

/** Live figures of the service since the page was opened. */
function Figures(): JSX.Element {
  const [taken, setTaken] = useState<readonly FiguresNow[]>([])
  const [problem, setProblem] = useState<unknown>()
  const [paused, setPaused] = useState(false)
  useEffect(() => {
    if (paused) return
    const controller = new AbortController()
    const { signal } = controller
    let timer: ReturnType<typeof setTimeout> | undefined
    const take = async () => {
      try {
        // A tab in the background is not seen and makes no requests.
        if (document.visibilityState === 'visible' || taken.length === 0) {
          const now = await loadFigures(signal)
          setTaken(before => [...before.slice(1 - most), now])
          setProblem(undefined)
        }
      } catch (error) {
        if (signal.aborted) return
        setProblem(error)
      }
      if (!signal.aborted) timer = setTimeout(take, interval)
    }
    void take()
    return () => {
      controller.abort()
      clearTimeout(timer)
    }
  }, [paused])
  const last = taken.at(-1)
  return (
    <SystemPage
      title={a('figures.tab')}
      lead={a('figures.lead')}
      actions={
        <button type="button" class="button" aria-pressed={paused} onClick={() => setPaused(!paused)}>
          <Icon of={paused ? Play : Pause} />
          {paused ? a('figures.go-on') : a('figures.pause')}
        </button>
      }
    >
      {problem ? (
        <ProblemView problem={problem} retry={() => setPaused(false)} />
      ) : last ? (
        <>
          <Now figures={last} />
          <Plots taken={taken} />
        </>
      ) : (
        <Loading />
      )}
    </SystemPage>
  )
}

function Now({ figures }: { readonly figures: FiguresNow }): JSX.Element {
  const { version, node, store, started, workers, memory, storeBytes, openFiles } = figures
  const bytes = Object.values(storeBytes).reduce((one, other) => one + other, 0)
  return (
    <Facts
      of={[
        [a('figures.version'), `Carrel ${version ?? '?'}, Node ${node ?? '?'}, ${store ?? '?'}`],
        [a('figures.started'), `${formatTime(started)} (${formatAgo(started)})`],
        [a('figures.workers'), a('figures.workers.of', { n: workers.running, wanted: workers.wanted })],
        [a('figures.store'), formatBytes(bytes)],
        [a('figures.cache'), formatBytes(memory.cacheBytes)],
        [a('figures.files'), formatNumber(openFiles)],
      ]}
    />
  )
}

function Plots({ taken }: { readonly taken: readonly FiguresNow[] }): JSX.Element {
  const times = taken.map(({ time }) => new Date(time))
  const series = (name: string, values: readonly (number | null)[]): Series => ({ name, values })
  const answered = [...new Set(taken.flatMap(({ requests }) => Object.keys(requests.answered)))].toSorted()
  const queues = [...new Set(taken.flatMap(one => one.queues.map(({ queue = '' }) => queue)))].toSorted()
  const busy = (figures: FiguresNow, name: string) => {
    const found = figures.queues.find(({ queue }) => queue === name)
    return found ? found.running + found.waiting : 0
  }
  const logins = (figures: FiguresNow, outcome: 'success' | 'failure') =>
    figures.logins.reduce((sum, one) => sum + (one[outcome] ?? 0), 0)
  const seconds = (figures: FiguresNow) => figures.requests.duration
  const delays = (figures: FiguresNow) => ({
    count: figures.workers.loops.reduce((sum, { delay }) => sum + delay.count, 0),
    sum: figures.workers.loops.reduce((sum, { delay }) => sum + delay.sum, 0),
  })
  return (
    <div class="plots">
      <LinePlot
        title={a('plot.requests')}
        unit={a('plot.per-second')}
        times={times}
        series={answered.map(status =>
          series(
            status,
            since(taken, figures => figures.requests.answered[status] ?? 0),
          ),
        )}
      />
      <LinePlot
        title={a('plot.durations')}
        unit="ms"
        times={times}
        series={[
          series(a('plot.mean'), since.mean(taken, seconds)),
          series(a('plot.delay'), since.mean(taken, delays)),
        ]}
      />
      <LinePlot
        title={a('plot.logins')}
        unit={a('plot.per-minute')}
        times={times}
        series={[
          series(
            tOf('outcome', 'success'),
            since(taken, figures => logins(figures, 'success'), 60),
          ),
          series(
            tOf('outcome', 'failure'),
            since(taken, figures => logins(figures, 'failure'), 60),
          ),
        ]}
      />
      <LinePlot
        title={a('plot.memory')}
        unit="MB"
        times={times}
        series={[
          series(
            a('plot.resident'),
            taken.map(({ memory }) => memory.residentBytes / 1e6),
          ),
          series(
            a('plot.heap'),
            taken.map(
              ({ workers }) => workers.loops.reduce((sum, { heapBytes }) => sum + heapBytes, 0) / 1e6,
            ),
          ),
        ]}
      />
      <LinePlot
        title={a('plot.processor')}
        unit="%"
        times={times}
        series={[
          series(
            a('plot.processor'),
            since(taken, ({ processor }) => processor.seconds, 100),
          ),
        ]}
      />
      <LinePlot
        title={a('plot.queues')}
        unit={a('plot.requests-unit')}
        times={times}
        series={[
          series(
            a('plot.open'),
            taken.map(({ requests }) => requests.open),
          ),
          ...queues.map(name =>
            series(
              aOf('queue', name),
              taken.map(figures => busy(figures, name)),
            ),
          ),
        ]}
      />
    </div>
  )
}

export default Figures

type Taken = readonly FiguresNow[]

/**
 * Returns the rate of a counter between successive measurements; null after a restart, when it began at zero
 * again.
 */
const rates = (taken: Taken, count: (figures: FiguresNow) => number, per = 1): readonly (number | null)[] =>
  taken.map((now, at) => {
    const before = taken[at - 1]
    if (!before) return null
    const seconds = (Date.parse(now.time) - Date.parse(before.time)) / 1000
    const rise = count(now) - count(before)
    return rise < 0 || seconds <= 0 ? null : (rise * per) / seconds
  })

/** Returns the mean in ms of the durations between successive measurements; null if there were none. */
const mean = (taken: Taken, of: (figures: FiguresNow) => Duration): readonly (number | null)[] =>
  taken.map((now, at) => {
    const before = taken[at - 1]
    if (!before) return null
    const [one, other] = [of(before), of(now)]
    const count = other.count - one.count
    return count <= 0 ? null : ((other.sum - one.sum) * 1000) / count
  })

const since: typeof rates & { readonly mean: typeof mean } = Object.assign(rates, { mean })
