import { getHeapStatistics } from 'node:v8'
import type { Tally } from '../lib/tally.ts'
import type { StoreMetrics } from '../storage/metrics.ts'

/** How often the delay of this event loop is measured, in ms. */
const interval = 50
/** After so many measurements, the other metrics are written down: one loop can't ask another that is busy. */
const ticksPerSample = 20

export interface Sampler {
  /** Writes this loop's metrics down now. */
  sample(): void
  stop(): void
}

/** Measures what belongs to one event loop: its delay, its memory, its connections. */
export function startSampler(tally: Tally, metrics: StoreMetrics): Sampler {
  const byLoop = { byLoop: true }
  const delay = tally
    .histogram('carrel_event_loop_delay_seconds', 'How late a timer of an event loop is.', byLoop)
    .with({})
  const heap = tally.gauge('carrel_worker_heap_bytes', 'JavaScript memory of a worker.', byLoop).with({})
  const connections = tally.gauge('carrel_database_connections', 'Connections to PostgreSQL in pools.')
  const max = tally.gauge('carrel_database_connections_max', 'CARREL_DATABASE_POOL_SIZE.')
  const waiting = tally.gauge('carrel_database_waiting', 'Requests that wait for a connection of a pool.')
  const pools = metrics.pools().map(({ name: pool }) => ({
    used: connections.with({ pool, state: 'used' }),
    idle: connections.with({ pool, state: 'idle' }),
    max: max.with({ pool }),
    waiting: waiting.with({ pool }),
  }))

  function sample(): void {
    heap.set(getHeapStatistics().used_heap_size)
    for (const [at, now] of metrics.pools().entries()) {
      pools[at]?.used.set(now.used)
      pools[at]?.idle.set(now.idle)
      pools[at]?.max.set(now.max)
      pools[at]?.waiting.set(now.waiting)
    }
  }

  let last = performance.now()
  let ticks = 0
  const timer = setInterval(() => {
    const now = performance.now()
    delay.observe(Math.max(0, now - last - interval) / 1000)
    last = now
    if (ticks++ % ticksPerSample === 0) sample()
  }, interval)
  timer.unref()
  return { sample, stop: () => clearInterval(timer) }
}
