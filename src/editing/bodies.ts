import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '../http/problems.ts'
import { readUuid } from '../lib/uuids.ts'

/** Bodies of changes. Bytes of one: an item has much metadata. */
export const bodyLimit = 1024 * 1024
export const patchBounds = { operations: 1_000, bytes: bodyLimit }

type Members = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** @throws Problem 415 for another type than JSON, 400 for what is no JSON object */
export function readObject(request: FastifyRequest): Members {
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new Problem('unsupported-media-type', 'The body must be application/json.')
  return parseObject(Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0), 'The body')
}

/** @param what it is, for the message @throws Problem 400 */
export function parseObject(text: Uint8Array, what: string): Members {
  let value: unknown
  try {
    // Fatal: repairing invalid UTF-8 would store something else than was sent.
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(text))
  } catch {
    // The parser's own message would quote the body.
    throw new Problem('bad-request', `${what} is not well-formed JSON in UTF-8.`)
  }
  if (!isObject(value)) throw new Problem('bad-request', `${what} must be a JSON object.`)
  return value
}

/** Lets the routes of this scope take `text/uri-list`. */
export function takeUriLists(app: FastifyInstance): void {
  if (!app.hasContentTypeParser('text/uri-list'))
    app.addContentTypeParser('text/uri-list', { parseAs: 'buffer' }, (_request, body, done) =>
      done(null, body),
    )
}

/**
 * The one address in a body of type `text/uri-list` (RFC 2483 §5), without what comes before the last part.
 * @param path below which it must be, such as `/core/bitstreams/`
 * @throws Problem 415 or 422
 */
export function readAddress(request: FastifyRequest, path: string): string {
  if (!/^text\/uri-list\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new Problem('unsupported-media-type', 'The body must be text/uri-list.')
  const body = Buffer.isBuffer(request.body) ? request.body.toString() : ''
  const lines = body.split(/\r?\n/, 100).filter(line => line.trim() !== '' && !line.startsWith('#'))
  const [address = ''] = lines
  const at = address.lastIndexOf(path)
  const last = at < 0 ? '' : address.slice(at + path.length).trim()
  if (lines.length !== 1 || last === '' || last.includes('/'))
    throw new Problem('change-refused', `The body must be one address, such as …${path}….`)
  return last
}

/** The same of an object with a UUID. @throws Problem 415 or 422 */
export function readAddressedUuid(request: FastifyRequest, path: string): string {
  const uuid = readUuid(readAddress(request, path))
  if (uuid === undefined)
    throw new Problem('change-refused', `The address must end with a UUID: …${path}<uuid>.`)
  return uuid
}
