import type { FastifyInstance } from 'fastify'

/**
 * `GET /health/live`: the process answers. `GET /health/ready`: so does the store; 503 while it doesn't (D5).
 * @param ping rejects when the store does not answer
 */
export function healthRoutes(app: FastifyInstance, ping: () => Promise<void> | void): void {
  app.get('/health/live', async () => ({ status: 'live' }))
  app.get('/health/ready', async () => {
    await ping()
    return { status: 'ready' }
  })
}
