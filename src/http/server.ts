import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, {
  type FastifyHttpOptions,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import type { Config } from '../config/config.ts'
import { clientAddress } from '../lib/addresses.ts'
import { hideAccessTokens } from '../model/access-tokens.ts'
import type { Limits } from '../model/limits.ts'
import type { Measures, RouteMeasures } from '../model/measures.ts'
import { smallBody, takenBody } from './access.ts'
import { type Addresses, pathOf, withoutPrefix } from './addresses.ts'
import { createAdmission } from './admission.ts'
import { answerClientErrors, answerProblems } from './answer-problems.ts'
import { endIdle, requestIdHeader, requestIdOf } from './connection.ts'
import { boundConnections, type Connections } from './connections.ts'
import type { Csrf } from './csrf.ts'
import { createLog, logOf } from './log.ts'
import { refuseUnrouted } from './method-not-allowed.ts'
import { parseQuery } from './parameters.ts'
import { Problem } from './problems.ts'

/**
 * Maximum sizes in bytes of a request's body (L7) and of all its headers: an over-long token still gets its
 * response (T8).
 */
const bodyLimit = smallBody
const headerLimit = 64 * 1024
/**
 * Interval at which Node looks for requests that take too long to arrive, as a share of their time. Node's
 * default is 30 s.
 */
const timeoutChecks = 1 / 30

const noCompiler = () => () => {
  throw new Error('no route has a schema')
}

interface Parts {
  readonly config: Config
  readonly addresses: Addresses
  /** The value of WWW-Authenticate on every 401 (L4). */
  readonly challenge: () => string
  readonly csrf: Csrf
  readonly measures: Measures
  readonly limits: Pick<Limits, 'connections' | 'phase' | 'requests'>
  /** True for the addresses of trusted proxies. */
  readonly isProxy: (address: string) => boolean
}

/**
 * Creates a server without routes: its limits, the checks that every request passes first, body parsing, and
 * error responses.
 */
export function createServer({
  config,
  addresses,
  challenge,
  csrf,
  measures,
  limits,
  isProxy,
}: Parts): FastifyInstance {
  const answer = answerProblems({ addresses, challenge })
  const headers = securityHeaders(config)
  const admit = createAdmission({ config, csrf, headers })

  const answerBare = answerClientErrors({ addresses, headers, requestTimeout: config.requestTimeout })
  const log = createLog(config.logLevel)
  const app = Fastify({
    ...bounded(config),
    // The framework would log whole addresses; the hook below logs the path.
    logController: new LogController({ disableRequestLogging: true }),
    clientErrorHandler: answerBare,
    genReqId: requestIdOf,
    // While the service stops, requests on open connections are still answered (D4).
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => {
      begin(request, reply)
      try {
        if (admit(request, reply) === 'go on') answer(error, request, reply)
      } catch (problem) {
        answer(problem, request, reply)
      }
    },
  })
  // The framework would say of each event loop where it listens; `serve` says it once (D4).
  app.log = { ...log, info: () => {} }
  app.server.on('timeout', endIdle)
  const refuse = refuseUnrouted(app, addresses)
  const connections = boundConnections(app.server, {
    max: limits.connections,
    isProxy,
    answer: answerBare,
    measures: measures.connections,
  })
  const report = config.logLevel === 'info' ? createReport() : () => {}
  const count = countRequests(app, { measures, connections, all: limits.requests, report })
  /** The framework would check a logger that it is given for each request. */
  const begin = (request: FastifyRequest, reply: FastifyReply) => {
    const own = logOf(log, request.id)
    request.log = own
    reply.log = own
    reply.header(requestIdHeader, request.id)
    // Otherwise a client might send its next request just as the port closes (D4).
    if (limits.phase() === 'stopping') reply.raw.setHeader('connection', 'close')
    count(request, reply)
  }
  emptyHeads(app)
  // Node would answer any expectation but 100-continue with an empty 417.
  app.server.on('checkExpectation', app.routing)
  // `null` only reserves the property; authentication sets it before anything reads it.
  app.decorateRequest('caller', null as never)

  app.addHook('onRequest', (request, reply, next) => {
    begin(request, reply)
    if (admit(request, reply) === 'answered') return
    refuse(request)
    next()
  })

  takeBodies(app)
  app.setErrorHandler(answer)
  return app
}

/** The bounds of requests, and how their addresses are read. */
function bounded(config: Config): FastifyHttpOptions<Server> {
  const patience = config.requestTimeout * 1000
  const connectionsCheckingInterval = Math.ceil(patience * timeoutChecks)
  const requestTimeout = patience - connectionsCheckingInterval
  return {
    bodyLimit,
    // Time in ms after which an idle connection is ended. A request that arrives too slowly gets its 408 before that.
    connectionTimeout: Math.max(config.listingPatience, patience),
    requestTimeout,
    http: {
      maxHeaderSize: headerLimit,
      // Node would answer a request without Host with an empty 400; ours says why.
      requireHostHeader: false,
      // Node compares the next one with its own default, 300 s, unless both are here.
      requestTimeout,
      // Node swaps the two if this one is longer, as its default is, and the body would get that time.
      headersTimeout: requestTimeout,
      connectionsCheckingInterval,
    },
    forceCloseConnections: 'idle',
    trustProxy: config.trustedProxies.length > 0 ? [...config.trustedProxies] : false,
    rewriteUrl: request => withoutPrefix(config.basePath, request.url ?? '/'),
    routerOptions: {
      querystringParser: text => ({ ...parseQuery(text) }),
      ignoreTrailingSlash: true,
      maxParamLength: headerLimit,
    },
    // No route has a schema. The framework's own compilers would take 3 MB of each worker.
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
  }
}

/** Bodies stay bytes; each handler that reads one checks its media type. */
function takeBodies(app: FastifyInstance): void {
  app.addHook('onRoute', route => {
    const { access } = route.config ?? {}
    const limit = access && takenBody(access)?.limit
    if (typeof limit === 'number') route.bodyLimit = limit
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    ['application/x-www-form-urlencoded', 'application/json', 'application/json-patch+json'],
    { parseAs: 'buffer' },
    (_request, body, done) => done(null, body),
  )
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) =>
    body.length === 0
      ? done(null, body)
      : done(new Problem('unsupported-media-type', 'This service reads no bodies of this Content-Type.')),
  )
}

declare module 'fastify' {
  interface FastifyContextConfig {
    measures?: () => RouteMeasures
  }
}

interface Counted {
  readonly measures: Measures
  readonly connections: Connections
  readonly all: Limits['requests']
  readonly report: Report
}

/**
 * Counts requests by the pattern of their route (D5). The framework's `onResponse` would cost several times
 * as much, and isn't called for a client that has disconnected.
 * @returns a function to call when a request begins
 */
function countRequests(
  app: FastifyInstance,
  { measures, connections, all, report }: Counted,
): (request: FastifyRequest, reply: FastifyReply) => void {
  app.addHook('onRoute', route => {
    route.config = { ...route.config, measures: measures.route(route.url, String(route.method)) }
  })
  return (request, reply) => {
    const { raw } = reply
    const { open, duration, answered } =
      request.routeOptions.config?.measures?.() ?? measures.unrouted(request.method)
    const begin = performance.now()
    const { socket } = request.raw
    open.change(1)
    all.add(Number.POSITIVE_INFINITY)
    connections.begin(socket)
    raw.on('close', () => {
      open.change(-1)
      all.remove()
      connections.end(socket)
      const ms = performance.now() - begin
      duration.observe(ms / 1000)
      report(request, reply, ms)
      const status = raw.headersSent ? raw.statusCode : 0
      answered[Math.floor(status / 100)]?.add()
    })
  }
}

/**
 * Corrects the framework's HEAD routes, which send `Content-Length: 0` where GET sends no content. A 204 must
 * not have the header, and in a 304 it would be the length of the 200 (RFC 9110 §8.6).
 */
function emptyHeads(app: FastifyInstance): void {
  app.addHook('onRoute', route => {
    if (route.method !== 'HEAD') return
    // Runs after the framework's own hook, which sets the header.
    route.onSend = [
      ...[route.onSend ?? []].flat(),
      (_request, reply, payload, done) => {
        if (reply.statusCode === 204 || reply.statusCode === 304) reply.removeHeader('content-length')
        done(null, payload)
      },
    ]
  })
}

/**
 * Headers of every response, errors included (W2). Nothing may be cached: responses depend on the caller, and
 * most carry a token, a cookie or personal data. `no-referrer` also keeps `?authentication-token=` out of
 * other servers' logs (T10).
 */
const securityHeaders = ({ baseUrl }: Pick<Config, 'baseUrl'>): Readonly<Record<string, string>> => ({
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cache-control': 'private, no-store',
  ...(baseUrl.startsWith('https:') ? { 'strict-transport-security': 'max-age=31536000' } : {}),
})

/** Writes the line of a request that is over. @param ms from its headers to the end of its answer */
type Report = (request: FastifyRequest, reply: FastifyReply, ms: number) => void

/** Creates the report of requests in the log (`CARREL_LOG_LEVEL=info`). */
function createReport(): Report {
  /** Bytes of each connection that earlier answers took. Answers come one after the other, also of pipelined requests. */
  const before = new WeakMap<Socket, number>()
  return (request, { raw }, ms) => {
    const { caller, method, originalUrl } = request
    const { socket } = request.raw
    const bytes = socket.bytesWritten
    const eperson = caller && caller.kind !== 'anonymous' ? caller.session.eperson.uuid : null
    request.log.info(
      {
        method,
        // The log has only the path: a query may hold a token (T10).
        path: hideAccessTokens(pathOf(originalUrl)),
        // null: the client left before it.
        status: raw.headersSent ? raw.statusCode : null,
        ms: Math.round(ms),
        bytes: bytes - (before.get(socket) ?? 0),
        client: clientAddress(request.ip),
        eperson,
        ...(caller?.kind === 'acting' && { actor: caller.actor.eperson.uuid }),
      },
      'request',
    )
    before.set(socket, bytes)
  }
}
