import { readdir } from 'node:fs/promises'
import type { Config } from '../../config/config.ts'
import type { Labels } from '../../lib/tally.ts'
import { version } from '../../lib/version.ts'
import type { Limits } from '../../model/limits.ts'
import type { StoreMetrics } from '../../storage/storage.ts'
import type { Measured } from './exposition.ts'

export interface ServiceParts {
  readonly config: Pick<Config, 'cacheSize' | 'database'>
  readonly limits: Pick<Limits, 'loops' | 'transfers'>
  readonly metrics: StoreMetrics
}

/** Metrics of the whole service that are known at any time, and need no counting. */
export async function serviceMetrics({
  config,
  limits,
  metrics,
}: ServiceParts): Promise<readonly Measured[]> {
  const loops = limits.loops()
  const cache = metrics.cache()
  const sizes = await metrics.sizes()
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
      'carrel_store_bytes',
      'The embedded store on disk. wal: the write-ahead log.',
      ...Object.entries(sizes).map(([part, bytes]) => [bytes, { part }] as const),
    ),
    // The names that all Prometheus clients use
    // (https://prometheus.io/docs/instrumenting/writing_clientlibs/).
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
