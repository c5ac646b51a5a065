import { bounds, type Labels, type Tally, type Value } from '../../lib/tally.ts'
import { familiesOf, type ServiceParts, serviceMetrics } from './service-metrics.ts'

/** The figures of `GET /metrics` as JSON for a console: the same counters, summed over all event loops (D5). */
export async function figures(tally: Tally, parts: ServiceParts) {
  const families = familiesOf(tally, await serviceMetrics(parts))
  const valuesOf = (name: string) => families.get(name)?.values ?? []
  const of = (name: string) => valuesOf(`carrel_${name}`)
  const one = (name: string) => sum(valuesOf(name))
  const [build] = of('build_info')
  const requests = of('http_requests_total')
  const durations = of('http_request_duration_seconds')
  const open = of('http_requests_open')
  return {
    time: new Date().toISOString(),
    started: new Date(one('process_start_time_seconds') * 1000).toISOString(),
    ...build?.labels,
    workers: {
      running: sum(of('workers_running')),
      wanted: sum(of('workers_wanted')),
      replaced: sum(of('workers_replaced_total')),
      loops: grouped(of('worker_heap_bytes'), ['worker']).map(([labels, values]) => ({
        worker: Number(labels.worker),
        heapBytes: sum(values),
        delay: durationOf(of('event_loop_delay_seconds').filter(has(labels))),
      })),
    },
    processor: { seconds: one('process_cpu_seconds_total') },
    memory: {
      residentBytes: one('process_resident_memory_bytes'),
      cacheBytes: sum(of('cache_bytes')),
      cacheEntries: sum(of('cache_entries')),
      cacheMaxBytes: sum(of('cache_max_bytes')),
    },
    openFiles: one('process_open_fds'),
    storeBytes: totals(of('store_bytes'), 'part'),
    eventsBytes: sum(of('events_bytes')),
    eventsMaxBytes: sum(of('events_max_bytes')),
    logins: grouped(of('logins_total'), ['method']).map(([labels, values]) => ({
      ...labels,
      ...totals(values, 'outcome'),
      throttled: sum(of('logins_throttled_total').filter(has(labels))),
    })),
    tokensRefused: grouped(of('tokens_refused_total'), ['kind']).map(([labels, values]) => ({
      ...labels,
      reasons: totals(values, 'reason'),
    })),
    requests: {
      open: sum(open),
      answered: totals(requests, 'status'),
      duration: durationOf(durations),
      routes: grouped(requests, ['route', 'method']).map(([labels, values]) => ({
        ...labels,
        open: sum(open.filter(has(labels))),
        answered: totals(values, 'status'),
        duration: durationOf(durations.filter(has(labels))),
      })),
    },
    downloadsOpen: sum(of('downloads_open')),
    listingsOpen: sum(of('listings_open')),
    queues: grouped(of('queue_running'), ['queue']).map(([labels, values]) => ({
      ...labels,
      running: sum(values),
      waiting: sum(of('queue_waiting').filter(has(labels))),
      refused: sum(of('queue_refused_total').filter(has(labels))),
      waited: durationOf(of('queue_wait_seconds').filter(has(labels))),
    })),
    connections: grouped(of('database_connections_max'), ['pool']).map(([labels, values]) => ({
      ...labels,
      max: sum(values),
      ...totals(of('database_connections').filter(has(labels)), 'state'),
      waiting: sum(of('database_waiting').filter(has(labels))),
    })),
  }
}

const sum = (values: readonly Value[]): number => values.reduce((total, { value }) => total + value, 0)

const has =
  (wanted: Labels) =>
  ({ labels }: Value): boolean =>
    Object.entries(wanted).every(([name, value]) => labels[name] === value)

function grouped(values: readonly Value[], names: readonly string[]): readonly [Labels, readonly Value[]][] {
  const found = new Map<string, [Labels, Value[]]>()
  for (const value of values) {
    const labels = Object.fromEntries(names.map(name => [name, value.labels[name] ?? '']))
    const key = JSON.stringify(labels)
    const [, group] = found.get(key) ?? [labels, []]
    found.set(key, [labels, [...group, value]])
  }
  return [...found.values()]
}

const totals = (values: readonly Value[], name: string): Readonly<Record<string, number>> =>
  Object.fromEntries(grouped(values, [name]).map(([labels, group]) => [labels[name] ?? '', sum(group)]))

/**
 * Summarizes a histogram, in seconds. A quantile is the upper bound of its bucket; null if it is above the
 * last bucket, or nothing was measured.
 */
function durationOf(values: readonly Value[]) {
  const part = (suffix: string) => values.filter(({ metricName = '' }) => metricName.endsWith(suffix))
  const count = sum(part('_count'))
  const buckets = part('_bucket')
  const upTo = bounds.map(bound => [bound, sum(buckets.filter(has({ le: String(bound) })))] as const)
  const quantile = (share: number) =>
    count === 0 ? null : (upTo.find(([, there]) => there >= count * share)?.[0] ?? null)
  return { count, sum: sum(part('_sum')), p50: quantile(0.5), p90: quantile(0.9), p99: quantile(0.99) }
}
