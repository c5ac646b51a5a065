import type { FastifyInstance, FastifyRequest } from 'fastify'
import { readUuid } from '../lib/uuids.ts'
import { Problem } from './problems.ts'

/** How many addresses a list may have. They are one change. */
const maxUris = 100

/** Lets the routes of this scope take `text/uri-list` (RFC 2483 §5). */
export function takeUriLists(app: FastifyInstance): void {
  app.addContentTypeParser('text/uri-list', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
}

/**
 * The UUIDs at the ends of the addresses in a request's `text/uri-list`, each once.
 * @param kind what may come before the UUID in the path, such as `/eperson/groups/`
 * @throws Problem 415 for another media type, 422 for an address of something else
 */
export function uuidsOf(request: FastifyRequest, kind: string): readonly string[] {
  if (!/^text\/uri-list\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new Problem('unsupported-media-type', 'The body must be text/uri-list: one address on each line.')
  const lines = ((request.body as Buffer | undefined) ?? Buffer.alloc(0))
    .toString()
    .split(/\r?\n/)
    .map(line => line.trim())
    // RFC 2483 §5: lines that begin with # are comments.
    .filter(line => line !== '' && !line.startsWith('#'))
  if (lines.length === 0)
    throw new Problem('change-refused', `The body names nothing; it must have an address …${kind}{uuid}.`)
  if (lines.length > maxUris)
    throw new Problem('change-refused', `The body may have at most ${maxUris} addresses.`)
  return [...new Set(lines.map((line, at) => uuidIn(line, at, kind)))]
}

/** The host doesn't matter: a client may know the service by another name than it knows itself. */
function uuidIn(line: string, at: number, kind: string): string {
  const start = line.lastIndexOf(kind)
  const uuid = start < 0 ? undefined : readUuid(line.slice(start + kind.length).replace(/\/$/, ''))
  if (uuid === undefined)
    throw new Problem('change-refused', `Line ${at + 1} of the body is not an address …${kind}{uuid}.`)
  return uuid
}
