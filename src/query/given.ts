import type { FastifyInstance, FastifyReply, FastifyRequest, preParsingHookHandler } from 'fastify'
import { type Access, acceptsShortLived, type Body, changes, openRightTo, reads } from '../http/access.ts'
import { clientOf, signalOf } from '../http/connection.ts'
import { routesOf } from '../http/contract.ts'
import { isForm } from '../http/form.ts'
import type { Query } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import type { Awaitable } from '../lib/awaitable.ts'
import type { QueueMeasures } from '../lib/tally.ts'
import { createLoopQueue, type Limits } from '../model/limits.ts'
import type { Parameters } from './bodies.ts'
import type { LongTexts } from './long-texts.ts'

type Bodies = Pick<LongTexts, 'members' | 'fields'>

/** Maximum size of a body with a query, in bytes. */
const maxQueryBody = 1024 * 1024

/**
 * Reads the parameters of a request to a query endpoint, in the address and in the body (Q15). A `GET` may
 * have a form, which is what `curl -X GET --data-urlencode` sends; the body of a `POST` is JSON or a form.
 * @throws Problem 400 for a malformed body, 413 for a large one, 415 for another type
 */
export async function givenBy(request: FastifyRequest, texts: Bodies): Promise<Query> {
  const { values } = request.query as Query
  const body = await (request.method === 'POST' ? ofPost(request, texts) : ofGet(request, texts))
  if (body.size === 0) return request.query as Query
  const all = new Map(values)
  for (const [name, more] of body) all.set(name, [...(all.get(name) ?? []), ...more])
  return { values: all, text: '', malformed: null }
}

const none: Parameters = new Map()

/** True if all parameters are in the address, as they nearly always are. */
export const isAllInAddress = (request: FastifyRequest): boolean =>
  request.method !== 'POST' && (request.headers['content-type'] === undefined || !isForm(request))

/**
 * A hook that reads the form of a `GET` or `HEAD`, which the framework leaves alone, as it reads the body of
 * a `POST`.
 */
export const readForm: preParsingHookHandler = (request, _reply, _payload, done) => {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (!isRead || isAllInAddress(request)) return done()
  readGetBody(request, maxQueryBody).then(body => {
    request.body = body
    done()
  }, done)
}

async function ofGet(request: FastifyRequest, texts: Bodies): Promise<Parameters> {
  // Any other body of a GET has no meaning (RFC 9110 §9.3.1).
  if (!isForm(request)) return none
  return texts.fields(request.body as Buffer, clientOf(request))
}

function ofPost(request: FastifyRequest, texts: Bodies): Awaitable<Parameters> {
  const body = request.body as Buffer | undefined
  if (body === undefined || body.length === 0) return none
  if (isForm(request)) {
    // `curl -d` calls every body a form.
    if (body[0] === 0x7b)
      throw new Problem(
        'unsupported-media-type',
        'The body is JSON, but its Content-Type says that it is a form. Send application/json; curl does with --json.',
      )
    return texts.fields(body, clientOf(request))
  }
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? 'application/json'))
    throw new Problem(
      'unsupported-media-type',
      'The body of a query must be application/json or application/x-www-form-urlencoded.',
    )
  return texts.members(body, clientOf(request))
}

const form: Body = {
  types: ['application/json', 'application/x-www-form-urlencoded'],
  limit: maxQueryBody,
  optional: true,
}

/** Why requests below the query base need no proof that they come from a page of Carrel. */
export const noCookies = { not: 'No cookie authenticates requests below the query base.' }

/** Access to an address for queries. A POST only reads, and no cookie authenticates it (C8). */
export function accessOf(method: 'GET' | 'POST'): Access {
  const who = openRightTo('read the entity')
  if (method === 'GET') return reads(who, 'query')
  return { ...acceptsShortLived(changes(who, 'query', form, { csrf: noCookies })), does: 'ask' }
}

/**
 * Registers an address for queries by GET and by POST (Q15). These are two routes, so that metrics tell them
 * apart (D5).
 */
export function queryRoute(
  app: FastifyInstance,
  url: string,
  optionsFor: (method: 'GET' | 'POST') => { readonly config: { readonly access: Access } },
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
): void {
  for (const method of ['GET', 'POST'] as const)
    routesOf(app).route({ method, url, ...optionsFor(method), handler })
}

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

/**
 * Reads the body of a `GET`, which the framework leaves alone.
 * @param max size in bytes
 * @throws Problem 413 if the body is larger
 */
async function readGetBody({ raw }: FastifyRequest, max: number): Promise<Buffer> {
  const tooLarge = () =>
    new Problem('body-too-large', `The body of the request is larger than ${max.toLocaleString('en')} bytes.`)
  if (Number(raw.headers['content-length'] ?? 0) > max) throw tooLarge()
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of raw.iterator({ destroyOnReturn: false })) {
    size += (piece as Buffer).length
    if (size > max) throw tooLarge()
    pieces.push(piece as Buffer)
  }
  return Buffer.concat(pieces)
}
