import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config/config.ts'
import { reads } from '../../http/access.ts'
import { contractsIn, routesOf } from '../../http/contract.ts'
import { type Query, singleParameters } from '../../http/parameters.ts'
import type { Tally } from '../../lib/tally.ts'
import type { Processes } from '../../storage/processes.ts'
import { listBackups } from '../backup/manifest.ts'
import { figures } from '../metrics/figures.ts'
import type { ServiceParts } from '../metrics/service-metrics.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts extends Omit<ServiceParts, 'config'> {
  readonly config: ServiceParts['config'] & Pick<Config, 'backups'>
  readonly processes: Pick<Processes, 'find'>
  readonly tally: Tally
}

/** The state of the service and of its backups (OP3, OP4). */
export function stateRoutes(app: FastifyInstance, parts: Parts): void {
  const { config, processes, tally } = parts
  routesOf(app).get(
    '/figures',
    route('showFigures', reads('administrator', 'administration', { to: 'administer the service' })),
    async ({ query }, reply) => {
      singleParameters(query as Query, [])
      return reply.header('cache-control', 'no-store').send(await figures(tally, parts))
    },
  )

  routesOf(app).get(
    '/backups',
    route('listBackups', reads('administrator', 'administration', { to: 'administer the service' })),
    async ({ query }) => {
      singleParameters(query as Query, [])
      const { rows } = await processes.find(
        { kind: 'backup', states: ['scheduled', 'running'], order: { by: 'id', falling: true } },
        { offset: 0, limit: 1 },
      )
      return {
        configured: config.backups !== null,
        process: rows[0]?.id ?? null,
        backups: config.backups === null ? [] : await listBackups(config.backups),
      }
    },
  )
}
