import type { FastifyInstance } from 'fastify'
import type { Storage } from '../storage/storage.ts'

/** `GET /health/live`: the process answers. `GET /health/ready`: so does the store; 503 while it doesn't (D5). */
export function healthRoutes(app: FastifyInstance, { ping }: Pick<Storage, 'ping'>): void {
  app.get('/health/live', async () => ({ status: 'live' }))
  app.get('/health/ready', async () => {
    await ping()
    return { status: 'ready' }
  })
}
