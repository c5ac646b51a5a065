import type { IncomingMessage } from 'node:http'
import { getHeapStatistics } from 'node:v8'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config/config.ts'
import { openRightTo, outside } from '../../http/access.ts'
import { metricsPath } from '../../http/addresses.ts'
import { contractsIn, routesOf } from '../../http/contract.ts'
import { Problem } from '../../http/problems.ts'
import { countHeader } from '../../http/refuse-malformed.ts'
import { createSameMachine } from '../../http/same-machine.ts'
import { sameText } from '../../lib/hmac.ts'
import type { Tally } from '../../lib/tally.ts'
import type { StoreMetrics } from '../../storage/storage.ts'
import { contentType, expose, familiesOf, type ServiceParts, serviceMetrics } from './service-metrics.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts extends ServiceParts {
  readonly config: ServiceParts['config'] & AccessSettings
  readonly tally: Tally
}

/**
 * `GET /metrics` (D5, docs/decisions/0026): the metrics of the whole service in Prometheus's format, whichever worker
 * answers. They are for the operator's programs: no HEAD, no CORS, no cookie, no event in the audit trail.
 */
export function metricsRoutes(app: FastifyInstance, { tally, ...parts }: Parts): void {
  const { config, metrics } = parts
  const isAllowed = mayScrape(config)
  const sampler = startSampler(tally, metrics)
  app.addHook('onClose', async () => sampler.stop())

  routesOf(app).get(
    metricsPath,
    {
      config: {
        ...route('showMetrics', outside(openRightTo('read the metrics: CARREL_METRICS says who'))).config,
      },
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      if (!isAllowed(request.raw))
        throw new Problem(
          'authentication-required',
          'Metrics can be read without a secret only from the same machine, and only if no proxy is in front. Otherwise send `Authorization: Bearer` with the value of CARREL_METRICS_SECRET.',
          { headers: { 'www-authenticate': 'Bearer realm="metrics"' } },
        )
      sampler.sample()
      const text = expose(familiesOf(tally, await serviceMetrics(parts)))
      return reply.header('cache-control', 'no-store').type(contentType).send(text)
    },
  )
}

type AccessSettings = Pick<Config, 'baseUrl' | 'metricsSecret' | 'trustedProxies'>

/**
 * Decides who may read `GET /metrics` (D5): a client with the secret, from anywhere; or, without the secret,
 * a program on the same machine.
 */
function mayScrape(config: AccessSettings): (request: IncomingMessage) => boolean {
  const { metricsSecret } = config
  const isFromThisMachine = createSameMachine(config)
  return request => {
    const { authorization } = request.headers
    // The header decides, even if it is wrong.
    if (authorization === undefined) return isFromThisMachine(request)
    const given = /^bearer +(\S+)$/i.exec(authorization)?.[1]
    return (
      metricsSecret !== null &&
      given !== undefined &&
      countHeader(request, 'authorization') === 1 &&
      sameText(given, metricsSecret)
    )
  }
}

/** Interval in ms at which the delay of this event loop is measured. */
const interval = 50
/** Number of measurements after which the other metrics are written down: one loop can't ask another that is busy. */
const ticksPerSample = 20

interface Sampler {
  /** Writes this loop's metrics down now. */
  sample(): void
  stop(): void
}

/** Measures what belongs to one event loop: its delay, its memory, its connections. */
function startSampler(tally: Tally, metrics: StoreMetrics): Sampler {
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

  // Figures that are asked for at once have them, too.
  sample()
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
