import Fastify, { LogController } from 'fastify'
import { createLog } from '../../src/http/log.ts'

/**
 * The floor of the framework: a Fastify server that answers every request with the status 200, these headers and
 * a body of this size, and does nothing else. `node bench/support/floor.ts <bytes> <headers as JSON>`
 */
const body = 'x'.repeat(Number(process.argv[2]))
const headers = JSON.parse(process.argv[3] ?? '{}') as Record<string, string>
const log = createLog('error')

const app = Fastify({
  logController: new LogController({ disableRequestLogging: true }),
  childLoggerFactory: () => log,
  return503OnClosing: false,
  requestTimeout: 60_000,
})
const asIs = (text: string) => text
app.all('/*', (_, reply) => {
  reply.headers(headers).serializer(asIs).send(body)
})
console.log(await app.listen({ host: '127.0.0.1', port: 0 }))
