import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { FilesFull, FilesUnavailable, PlanRefused, StoreUnavailable } from '../lib/errors.ts'
import { Overloaded } from '../lib/fair-queue.ts'
import { STATUS_CODES } from '../lib/node-http.ts'
import { isOutOfDescriptors } from '../lib/system-errors.ts'
import { hideAccessTokens } from '../model/access-tokens.ts'
import type { Caller } from '../model/caller.ts'
import { type Addresses, pathOf } from './addresses.ts'
import { mayBeSlow } from './body-pieces.ts'
import { newRequestId, requestIdHeader, responseOn } from './connection.ts'
import { tooManyConnections } from './connections.ts'
import { escapeHtml, sendPage, sentenceHtml, wantsPage } from './html-page.ts'
import { Problem, type ProblemCode, problems } from './problems.ts'
import { lacksFactor } from './require-caller.ts'

interface Parts {
  readonly addresses: Addresses
  /** The value of WWW-Authenticate on every 401 that states no other (L4). */
  readonly challenge: () => string
}

/** Asks for the second factor if it would give the caller the missing right (L17). */
function asked(problem: Problem, { caller }: { readonly caller?: Caller }): Problem {
  return problem.code === 'access-denied' && caller?.lacks ? lacksFactor(caller.lacks) : problem
}

/** The one place where an error becomes a response: `application/problem+json` (RFC 9457, contract E1). */
export function answerProblems({ addresses, challenge }: Parts) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const problem = asked(error instanceof Problem ? error : translate(error), request)
    const path = pathOf(request.originalUrl)
    const { members } = problem
    // An error after the client has disconnected is not a fault of the service.
    if (isToBeLogged(problem) && !request.raw.socket.destroyed) {
      const shown = hideAccessTokens(path)
      const fault = problem.cause === undefined ? {} : { fault: describeFault(problem.cause) }
      request.log.error({ path: shown, ...fault }, problem.message)
    }
    if (problem.status === 401) reply.header('www-authenticate', challenge())
    reply.code(problem.status).headers(problem.headers)
    if (request.is404) reply.header('vary', 'Origin, Accept, Sec-Fetch-Mode')
    if (wantsPage(request)) {
      const links = request.is404 ? { ...members, home: addresses.home } : members
      sendPage(reply, problems[problem.code].title, pageOf(problem, links, request.id))
      return
    }
    reply
      .type(mediaType)
      // Sent as bytes, so that the framework adds no charset to the media type.
      .send(
        Buffer.from(
          JSON.stringify({ ...bodyOf(problem, addresses), path, requestId: request.id, ...members }),
        ),
      )
  }
}

/** Problems that are not logged as faults: they pass by themselves, or the code that threw them has logged them. */
const notOurFault: ReadonlySet<string> = new Set<ProblemCode>([
  'busy',
  'query-timeout',
  'directory-unavailable',
  'files-full',
  'no-room',
  'provider-unavailable',
])

/** Interval in ms at which a lack of descriptors is logged. It hits many requests alike. */
const logAgainAfter = 60_000
let lackLogged = Number.NEGATIVE_INFINITY

function isToBeLogged({ status, code, cause }: Problem): boolean {
  if (!isOutOfDescriptors(cause)) {
    const isFault = !notOurFault.has(code) || cause instanceof FilesFull
    return status >= 500 && isFault
  }
  const now = performance.now()
  if (now - lackLogged < logAgainAfter) return false
  lackLogged = now
  return true
}

/** The body of an error page for a browser: what happened, and links that lead on. */
function pageOf({ code, message }: Problem, { begin, back, home }: Problem['members'], id: string): string {
  const link = (url: unknown, text: string) =>
    typeof url === 'string' ? `<li><a class="choice" href="${escapeHtml(url)}">${text}</a></li>` : ''
  const links =
    link(begin, 'Try again') + link(back, 'Back to where you came from') + link(home, 'Open this service')
  return `<p>${sentenceHtml(message)}</p><ul>${links}</ul><p><code>${code}</code> <small>${escapeHtml(id)}</small></p>`
}

/** Describes an error for the log: what failed and where. It has no stack, whose lines may quote data (E2). */
export function describeFault(cause: unknown) {
  if (!(cause instanceof Error)) return { message: String(cause) }
  const at = cause.stack?.split('\n').find(line => /\/(src|dist)\//.test(line))
  const root = cause.cause instanceof Error ? { cause: cause.cause.message } : {}
  return {
    name: cause.name,
    message: cause.message.split('\n')[0],
    at: at?.replace(/^.*\/(src|dist)\//, '$1/'),
    ...root,
  }
}

const mediaType = 'application/problem+json'

const bodyOf = ({ code, message }: Problem, addresses: Addresses) => ({
  type: addresses.problem(code),
  title: problems[code].title,
  status: problems[code].status,
  code,
  detail: message,
  message,
})

/**
 * Time in ms that a client has to read such an answer. Without a limit, a client that keeps sending would
 * never close the connection.
 */
const linger = 1_000

interface ClientErrorParts {
  readonly addresses: Addresses
  readonly headers: Readonly<Record<string, string>>
  /** Seconds. */
  readonly requestTimeout: number
}

/**
 * Answers what Node's parser can't read as a request, for which Node hands over the bare connection. The
 * problem has the same shape as any other; its path is empty, because none could be read. If another response
 * is being sent, the connection is reset.
 */
export function answerClientErrors({ addresses, headers, requestTimeout }: ClientErrorParts) {
  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && mayBeSlow(socket)) return
    const current = responseOn(socket)
    if (current?.headersSent && !current.writableEnded) {
      // The answer would become a part of the response that is being sent.
      socket.resetAndDestroy()
      return
    }
    const problem = clientProblem(error.code, requestTimeout)
    const id = newRequestId()
    const body = JSON.stringify({ ...bodyOf(problem, addresses), path: '', requestId: id })
    const lines = Object.entries({
      ...headers,
      ...problem.headers,
      [requestIdHeader]: id,
      'content-type': mediaType,
      'content-length': Buffer.byteLength(body),
      connection: 'close',
    })
    // Closing early would reset the connection, and the client might not see the answer.
    const closing = setTimeout(() => socket.destroy(), linger).unref()
    socket.once('close', () => clearTimeout(closing))
    socket.end(
      `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`,
    )
  }
}

function clientProblem(code: string | undefined, requestTimeout: number): Problem {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new Problem('request-timeout', `The request did not arrive within ${requestTimeout} s.`)
  if (code === 'HPE_HEADER_OVERFLOW')
    return new Problem('headers-too-large', 'The headers are larger than 64 kB.')
  if (code === tooManyConnections)
    return new Problem('busy', 'Too many connections are open. Retry in a moment.', {
      headers: { 'retry-after': '5' },
    })
  return new Problem('bad-request', 'The request is not well-formed HTTP.')
}

/** Translates errors of the framework and of the store into problems. */
function translate(error: unknown): Problem {
  if (isOutOfDescriptors(error))
    return new Problem('busy', 'Too many files are open. Retry in a moment.', {
      headers: { 'retry-after': '5' },
      cause: error,
    })
  if (error instanceof Overloaded)
    return new Problem('busy', error.message, { headers: { 'retry-after': '5' } })
  if (error instanceof FilesFull)
    return new Problem('files-full', 'The place of files is full. Ask the operator for more room.', {
      cause: error,
    })
  if (error instanceof FilesUnavailable)
    return new Problem('files-unavailable', 'The files can’t be reached. Try again later.', {
      headers: { 'retry-after': '5' },
      cause: error,
    })
  if (error instanceof StoreUnavailable)
    return new Problem('store-unavailable', 'The store does not answer. Try again later.', {
      headers: { 'retry-after': '5' },
      cause: error,
    })
  if (error instanceof PlanRefused)
    return new Problem('bad-parameter', error.message, { members: { parameter: 'query', ...error.members } })
  const status = error instanceof Error ? (error as Partial<FastifyError>).statusCode : undefined
  if (status === 413)
    return new Problem('body-too-large', 'The body is larger than the maximum for this address.')
  if (status === 415)
    return new Problem('unsupported-media-type', 'This endpoint does not accept this Content-Type.')
  if (status !== undefined && status >= 400 && status < 500)
    return new Problem(
      'bad-request',
      'The request is not well-formed HTTP, or its address has bad percent-encoding.',
    )
  return new Problem(
    'internal-error',
    'The service failed. Its log has the details under the id of this request.',
    { cause: error },
  )
}
