import type { FastifyInstance } from 'fastify'
import type { Limits } from '../model/limits.ts'
import { outside } from './access.ts'
import { contractsIn, routesOf } from './contract.ts'
import { Problem } from './problems.ts'

interface Parts {
  /** Rejects when the store does not answer. */
  readonly ping: () => Promise<void> | void
  /** Rejects when the folder of files is lost. */
  readonly requireFolder: () => Promise<void>
  readonly loops: Limits['loops']
}

const route = contractsIn(() => import('./start-contracts.ts'))

/**
 * `GET /health/live`: the process answers. `GET /health/ready`: the store answers, has the files that it
 * opened, and the folder of files is there; otherwise 503 (D5). While a worker is being replaced, the answer
 * says how many run.
 */
export function healthRoutes(app: FastifyInstance, { ping, requireFolder, loops }: Parts): void {
  routesOf(app).get('/health/live', route('showLiveness', outside()), async () => ({
    status: 'live',
  }))
  routesOf(app).get('/health/ready', route('showReadiness', outside()), async () => {
    await ping()
    await requireFolder().catch(cause => {
      throw new Problem('store-unavailable', 'The folder of files is missing or empty. The log says where.', {
        headers: { 'retry-after': '5' },
        cause,
      })
    })
    const { running, wanted } = loops()
    return running < wanted ? { status: 'ready', workers: { running, wanted } } : { status: 'ready' }
  })
}
