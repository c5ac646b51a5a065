import type { FastifyInstance } from 'fastify'
import { clientOf, signalOf } from '../http/client.ts'
import type { QueueMeasures } from '../lib/tally.ts'
import { createLoopQueue, type Limits } from '../model/limits.ts'

/**
 * Number of requests of a node that may have a large body at the same time. With everything made of it, it
 * takes a few MB.
 */
const maxBodies = 32
/** Maximum size of a body that needs no place, in bytes. */
const small = 16 * 1024

interface Parts {
  readonly loops: Limits['loops']
  readonly measures: QueueMeasures
}

/**
 * Makes requests with large bodies wait for a place before these are read (Q18). A network may have a quarter
 * of the places.
 */
export function limitLargeBodies(app: FastifyInstance, { loops, measures }: Parts): void {
  const of = loops().wanted
  const max = Math.ceil(maxBodies / of)
  const queue = createLoopQueue(of, max, { maxOfOne: Math.ceil(max / 4), measures })
  app.addHook('onRequest', (request, reply, done) => {
    const { headers } = request
    const isSmall =
      headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) <= small
    if (isSmall) return done()
    queue.enter(clientOf(request)).then(leave => {
      const gone = signalOf(request)
      if (gone.aborted) {
        leave()
        return done(gone.reason)
      }
      const end = () => {
        reply.raw.off('close', end)
        gone.removeEventListener('abort', end)
        leave()
      }
      // The response doesn't tell that the connection has closed while it waits for its turn, but the signal
      // does.
      reply.raw.once('close', end)
      gone.addEventListener('abort', end)
      done()
    }, done)
  })
}
