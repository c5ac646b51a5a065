import type { FastifyInstance } from 'fastify'

import type { Limits } from '../model/limits.ts'

interface Parts {
  /** Rejects when the store does not answer. */
  readonly ping: () => Promise<void> | void
  readonly loops: Limits['loops']
}

/**
 * `GET /health/live`: the process answers. `GET /health/ready`: so does the store; 503 while it doesn't (D5). It says how
 * many workers run while one is being replaced.
 */
export function healthRoutes(app: FastifyInstance, { ping, loops }: Parts): void {
  app.get('/health/live', async () => ({ status: 'live' }))
  app.get('/health/ready', async () => {
    await ping()
    const { running, wanted } = loops()
    return running < wanted ? { status: 'ready', workers: { running, wanted } } : { status: 'ready' }
  })
}
