import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { gunzipSync } from 'node:zlib'
import type { FastifyInstance, FastifyRequest } from 'fastify'

/**
 * An answer of a service, recorded to be compared with its contracts. This module is loaded into every
 * service and doesn't know the contracts.
 */
export interface Answered {
  readonly method: string
  /** The path of the request, without the query. */
  readonly path: string
  /** The pattern of the route; undefined if no route took the request. */
  readonly route: string | undefined
  readonly isPreflight: boolean
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** undefined if it was cut off, or is longer than `maxBody`. */
  readonly body: string | undefined
}

/**
 * Maximum number of bytes recorded. Longer bodies are pages of records, which have the same shape as shorter
 * ones.
 */
const maxBody = 256 * 1024

const found = new WeakMap<IncomingMessage, FastifyRequest>()

/**
 * @param begun called with each service before it has routes @returns a function to be called with its
 * answers
 */
export function recordAnswers(begun: (app: FastifyInstance) => (answered: Answered) => void): void {
  subscribe('fastify.initialization', message => {
    const { fastify: app } = message as { readonly fastify: FastifyInstance }
    const tell = begun(app)
    app.addHook('onRequest', (request, _reply, next) => {
      found.set(request.raw, request)
      next()
    })
    app.server.prependListener('request', (raw: IncomingMessage, response: ServerResponse) =>
      listen(raw, response, tell),
    )
  })
}

const unpacked = (body: Buffer, headers: Answered['headers']): Buffer =>
  body.length > 0 && headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body

function listen(raw: IncomingMessage, response: ServerResponse, tell: (answered: Answered) => void): void {
  const pieces: Buffer[] = []
  let length = 0
  let written: Readonly<Record<string, unknown>> = {}
  const take = (piece: unknown) => {
    if (typeof piece !== 'string' && !(piece instanceof Uint8Array)) return
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
    length += bytes.length
    // Copied, because the service reuses the buffer.
    if (length <= maxBody) pieces.push(Buffer.from(bytes))
  }
  const { write, end, writeHead } = response
  response.write = ((...given: Parameters<typeof write>) => {
    take(given[0])
    return write.apply(response, given)
  }) as typeof write
  response.end = ((...given: Parameters<typeof end>) => {
    take(given[0])
    return end.apply(response, given)
  }) as typeof end
  response.writeHead = ((...given: readonly unknown[]) => {
    const headers = given.at(-1)
    if (typeof headers === 'object' && headers !== null && !Array.isArray(headers))
      written = headers as typeof written
    return (writeHead as (...all: unknown[]) => ServerResponse).apply(response, [...given])
  }) as typeof writeHead
  response.on('close', () => {
    if (!response.headersSent) return
    const request = found.get(raw)
    const headers: Answered['headers'] = Object.fromEntries(
      Object.entries({ ...response.getHeaders(), ...written }).map(([name, value]) => [
        name.toLowerCase(),
        String(value),
      ]),
    )
    tell({
      method: raw.method ?? '',
      path: (raw.url ?? '').split(/[?#]/, 1)[0] ?? '',
      route: request?.is404 === false ? request.routeOptions.url : undefined,
      isPreflight: raw.method === 'OPTIONS' && 'access-control-request-method' in raw.headers,
      status: response.statusCode,
      headers,
      body:
        response.writableFinished && length <= maxBody
          ? unpacked(Buffer.concat(pieces), headers).toString('latin1')
          : undefined,
    })
  })
}
