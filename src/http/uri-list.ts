import type { FastifyInstance, FastifyRequest } from 'fastify'
import { mediaTypeOf } from '../lib/media-type.ts'
import { readUuid } from '../lib/uuids.ts'
import { Problem } from './problems.ts'

/**
 * Bodies of type `text/uri-list` (RFC 2483 §5). The host doesn't matter: a client may know the service by another name.
 */
const uriList = 'text/uri-list'
/** Maximum number of addresses in a list, all of which are one change. */
const maxUris = 100

/** Lets the routes of this scope take such bodies. */
export function takeUriLists(app: FastifyInstance): void {
  if (!app.hasContentTypeParser(uriList))
    app.addContentTypeParser(uriList, { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
}

/**
 * Reads the UUIDs at the ends of the addresses in a request's list, each once.
 * @param kind what must come before the UUID in the path, such as `/eperson/groups/`
 * @throws Problem 415 for another media type, 422 for an address of something else
 */
export function uuidsOf(request: FastifyRequest, kind: string): readonly string[] {
  const lines = linesOf(request, ': one address on each line')
  if (lines.length === 0)
    throw new Problem('change-refused', `The body names nothing; it must have an address …${kind}{uuid}.`)
  if (lines.length > maxUris)
    throw new Problem('change-refused', `The body may have at most ${maxUris} addresses.`)
  const uuids = lines.map((line, at) => {
    const uuid = readUuid(behind(line, kind).replace(/\/$/, ''))
    if (uuid === undefined)
      throw new Problem('change-refused', `Line ${at + 1} of the body is not an address …${kind}{uuid}.`)
    return uuid
  })
  return [...new Set(uuids)]
}

/**
 * Reads the one address in a request's list.
 * @param path what must come before the last part, such as `/core/bitstreams/`
 * @returns the last part of the address
 * @throws Problem 415 or 422
 */
export function readAddress(request: FastifyRequest, path: string): string {
  const lines = linesOf(request)
  const last = behind(lines[0] ?? '', path)
  if (lines.length !== 1 || last === '' || last.includes('/'))
    throw new Problem('change-refused', `The body must be one address, such as …${path}….`)
  return last
}

/** Reads the UUID at the end of the one address in a request's list. @throws Problem 415 or 422 */
export function readAddressedUuid(request: FastifyRequest, path: string): string {
  const uuid = readUuid(readAddress(request, path))
  if (uuid === undefined)
    throw new Problem('change-refused', `The address must end with a UUID: …${path}<uuid>.`)
  return uuid
}

function linesOf({ headers, body }: FastifyRequest, more = ''): readonly string[] {
  if (mediaTypeOf(headers['content-type'] ?? '') !== uriList)
    throw new Problem('unsupported-media-type', `The body must be ${uriList}${more}.`)
  return (
    (Buffer.isBuffer(body) ? body.toString() : '')
      .split(/\r?\n/)
      .map(line => line.trim())
      // RFC 2483 §5: lines that begin with # are comments.
      .filter(line => line !== '' && !line.startsWith('#'))
  )
}

function behind(line: string, path: string): string {
  const start = line.lastIndexOf(path)
  return start < 0 ? '' : line.slice(start + path.length)
}
