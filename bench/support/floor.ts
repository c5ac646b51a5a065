import Fastify, { LogController } from 'fastify'

/**
 * The floor of the framework: a server with the options of ours that answers every request with these headers and a
 * body of this size, and does nothing else. `node bench/support/floor.ts <bytes> <headers as JSON>`
 */
const body = 'x'.repeat(Number(process.argv[2]))
const headers = JSON.parse(process.argv[3] ?? '{}') as Record<string, string>

const app = Fastify({
  logController: new LogController({ disableRequestLogging: true }),
  return503OnClosing: false,
  connectionTimeout: 60_000,
  requestTimeout: 60_000,
  http: { requireHostHeader: false },
})
const asIs = (text: string) => text
app.all('/*', (_, reply) => {
  reply.headers(headers).serializer(asIs).send(body)
})
console.log(await app.listen({ host: '127.0.0.1', port: 0 }))
