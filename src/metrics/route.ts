import type { FastifyInstance } from 'fastify'
import { metricsPath } from '../http/addresses.ts'
import { contractsIn } from '../http/contract.ts'
import { Problem } from '../http/problems.ts'
import type { Tally } from '../lib/tally.ts'
import { type AccessSettings, mayScrape } from './access.ts'
import { contentType, expose, familiesOf } from './exposition.ts'
import { startSampler } from './sampler.ts'
import { type ServiceParts, serviceMetrics } from './service-metrics.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts extends ServiceParts {
  readonly config: ServiceParts['config'] & AccessSettings
  readonly tally: Tally
}

/**
 * `GET /metrics` (D5, docs/decisions/0026): the metrics of the whole service in Prometheus's format, whichever worker
 * answers. For programs of the operator: no HEAD, no CORS, no cookie, no event in the audit trail.
 */
export function metricsRoutes(app: FastifyInstance, { tally, ...parts }: Parts): void {
  const { config, metrics } = parts
  const isAllowed = mayScrape(config)
  const sampler = startSampler(tally, metrics)
  app.addHook('onClose', async () => sampler.stop())

  app.get(
    metricsPath,
    { config: { ...route('showMetrics').config, ignoresCaller: true }, exposeHeadRoute: false },
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
