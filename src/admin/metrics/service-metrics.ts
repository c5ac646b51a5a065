import { readdir } from 'node:fs/promises'
import type { Config } from '../../config/config.ts'
import type { Family, Labels, Tally, Value } from '../../lib/tally.ts'
import { version } from '../../lib/version.ts'
import type { Limits } from '../../model/limits.ts'
import type { Clock, StoreMetrics } from '../../storage/storage.ts'

export interface ServiceParts {
  readonly config: Pick<Config, 'cacheSize' | 'database' | 'eventsSize' | 'keptVersions'>
  readonly limits: Pick<Limits, 'loops' | 'transfers'>
  readonly metrics: StoreMetrics
  readonly clock: Pick<Clock, 'skew'>
}

/** Metrics of the whole service that are known at any time, and need no counting. */
export async function serviceMetrics({
  config,
  limits,
  metrics,
  clock,
}: ServiceParts): Promise<readonly Measured[]> {
  const loops = limits.loops()
  const cache = metrics.cache()
  const sizes = await metrics.sizes()
  const events = metrics.repeatedEvents()
  const held = metrics.heldVersions()
  const skew = clock.skew()
  const { user, system } = process.cpuUsage()
  const build = { version, node: process.versions.node, store: config.database.kind }
  return [
    gauge('carrel_build_info', 'The version that runs; always 1.', [1, build]),
    gauge('carrel_workers_running', 'Event loops that answer requests.', [loops.running]),
    gauge('carrel_workers_wanted', 'Configured number of event loops.', [loops.wanted]),
    counter('carrel_workers_replaced_total', 'Event loops that ended and were replaced.', loops.replaced),
    gauge('carrel_downloads_open', 'Files that are being sent.', [limits.transfers.count()]),
    gauge('carrel_listings_open', 'Long listings of tables that are being sent.', [metrics.listings()]),
    gauge('carrel_cache_bytes', 'Orders and records in memory.', [cache.bytes]),
    gauge('carrel_cache_entries', 'Orders and records in memory.', [cache.entries]),
    gauge('carrel_cache_max_bytes', 'CARREL_CACHE_SIZE.', [config.cacheSize]),
    gauge(
      'carrel_events_bytes',
      'Events of the audit trail that a client may repeat.',
      ...(events === undefined ? [] : [[events] as const]),
    ),
    gauge('carrel_events_max_bytes', 'CARREL_EVENTS_SIZE.', [config.eventsSize]),
    gauge(
      'carrel_held_bytes',
      'Replaced versions of entities that are held for snapshots.',
      ...(held === undefined ? [] : [[held] as const]),
    ),
    gauge('carrel_held_max_bytes', 'CARREL_SNAPSHOT_SIZE.', [config.keptVersions.held.bytes]),
    gauge(
      'carrel_store_bytes',
      'The embedded store on disk. wal: the write-ahead log.',
      ...Object.entries(sizes).map(([part, bytes]) => [bytes, { part }] as const),
    ),
    gauge(
      'carrel_clock_skew_seconds',
      "Time by which this machine's clock is ahead of the database's.",
      ...(skew === null ? [] : [[skew / 1000] as const]),
    ),
    // The names that all Prometheus clients use (https://prometheus.io/docs/instrumenting/writing_clientlibs/).
    counter('process_cpu_seconds_total', 'Processor time.', (user + system) / 1e6),
    gauge('process_resident_memory_bytes', 'Memory in use.', [process.memoryUsage.rss()]),
    gauge('process_start_time_seconds', 'When the process started.', [startTime]),
    gauge('process_open_fds', 'Open files and connections.', ...(await openDescriptors())),
  ]
}

/** Start of the process as Unix time in seconds. */
const startTime = Math.round(Date.now() / 1000 - process.uptime())

type Given = readonly [value: number, labels?: Labels]

const gauge = (name: string, help: string, ...given: readonly Given[]) => ({
  name,
  help,
  type: 'gauge' as const,
  values: given.map(([value, labels = {}]) => ({ labels, value })),
})

const counter = (name: string, help: string, value: number) => ({
  name,
  help,
  type: 'counter' as const,
  values: [{ labels: {}, value }],
})

/** The number of open descriptors, which is known only on Linux. */
const openDescriptors = (): Promise<readonly Given[]> =>
  readdir('/proc/self/fd').then(
    // One descriptor is that of the folder while it is read.
    names => [[names.length - 1]],
    () => [],
  )

type Measured = Family & { readonly values: readonly Value[] }

/**
 * Every metric by its name, with the values of all event loops, which are to be summed.
 * @param whole metrics of the whole service
 */
export function familiesOf(tally: Tally, whole: readonly Measured[]): ReadonlyMap<string, Measured> {
  const families = new Map<string, Measured>()
  const loops = Array.from({ length: tally.loops }, (_, loop) => tally.read(loop))
  for (const family of [...loops, whole].flat()) {
    const known = families.get(family.name)
    families.set(family.name, known ? { ...known, values: [...known.values, ...family.values] } : family)
  }
  return families
}

/** Prometheus's text format (https://prometheus.io/docs/instrumenting/exposition_formats/). */
export const contentType = 'text/plain; version=0.0.4; charset=utf-8'

export const expose = (families: ReadonlyMap<string, Measured>): string =>
  `${[...families.values()].map(printed).join('\n\n')}\n`

function printed({ name, help, type, values }: Measured): string {
  const series = new Map<string, number>()
  for (const { metricName = name, labels, value } of values) {
    const key = metricName + printedLabels(labels)
    series.set(key, (series.get(key) ?? 0) + value)
  }
  const lines = [...series].map(([key, value]) => `${key} ${value}`)
  return [`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${type}`, ...lines].join('\n')
}

function printedLabels(labels: Labels): string {
  const parts = Object.entries(labels).map(
    ([name, value]) => `${name}="${escaped(value).replaceAll('"', '\\"')}"`,
  )
  return parts.length === 0 ? '' : `{${parts.join(',')}}`
}

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
