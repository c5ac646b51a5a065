import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { networkOf } from '../authn/special-groups.ts'
import type { Config } from '../config/config.ts'
import { folderOf } from '../config/files-place.ts'
import { clientAddress } from '../lib/addresses.ts'
import type { Bitstream } from '../model/items.ts'
import type { Files } from './files.ts'
import { presentation } from './presentation.ts'
import type { ByteRange } from './ranges.ts'

/** A response without a body, in place of one with the file. */
interface HandedOver {
  readonly status: 200 | 302
  readonly headers: Readonly<Record<string, string>>
}

interface Asked {
  readonly bitstream: Bitstream
  /** Headers of Carrel's response. */
  readonly headers: Readonly<Record<string, string>>
  /** The bytes that Carrel would send, once it has evaluated the request's conditions. */
  readonly wanted: readonly ByteRange[] | 'whole'
}

/**
 * Lets the proxy in front (F4, docs/decisions/0020) or the bucket (F6, docs/decisions/0080) send a file.
 * @returns undefined if Carrel sends it, because the client would not get what Carrel's response is
 */
export type HandOver = (request: IncomingMessage, asked: Asked) => Promise<HandedOver | undefined>

/** Headers that whoever sends the file would evaluate again, and compare with what it knows of the file. */
const conditions = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since']

/** @returns undefined if Carrel sends every file itself */
export function createHandOver(
  { files: place, filesSentBy, trustedProxies }: Pick<Config, 'files' | 'filesSentBy' | 'trustedProxies'>,
  { pathInPlace, sign }: Pick<Files, 'pathInPlace' | 'sign'>,
): HandOver | undefined {
  if (filesSentBy.kind === 'carrel') return undefined
  const isProxy = networkOf(trustedProxies)
  const isPlain = ({ method, headers }: IncomingMessage) =>
    method === 'GET' && conditions.every(name => headers[name] === undefined)
  if (filesSentBy.kind === 'redirect')
    return async (request, { bitstream, headers, wanted }) => {
      const { range, 'if-range': condition } = request.headers
      // A client that was sent to the bucket before has its tag, and lets the bucket compare it. Carrel sends
      // the rest to one that has Carrel's.
      const suits =
        condition === undefined
          ? isSameForAll(range, wanted)
          : condition !== headers.etag && (range === undefined || isSingle(range))
      if (!sign || !isPlain(request) || !suits || bitstream.size === 0) return undefined
      const { 'content-type': type = '', 'content-disposition': disposition = '' } = presentation(bitstream)
      const location = await sign(bitstream, { type, disposition })
      const { etag: _, 'accept-ranges': __, ...others } = headers
      return { status: 302, headers: { ...others, location, 'cache-control': 'no-store' } }
    }
  return async (request, { bitstream, headers, wanted }) => {
    // The proxy must be the peer of the connection: any other client would get the header and no file.
    const address = clientAddress(request.socket.remoteAddress ?? '')
    if (address === null || !isProxy(address) || !isPlain(request)) return undefined
    if (!isSameForAll(request.headers.range, wanted)) return undefined
    const path = await pathInPlace(bitstream)
    if (path === undefined) return undefined
    const own = { ...headers, ...presentation(bitstream) }
    // Apache could take a path relative to the folder, but it looks beside the backend's address first, and
    // gives up. It decodes the value.
    if (filesSentBy.kind === 'x-sendfile')
      return { status: 200, headers: { ...own, 'x-sendfile': encodeURI(join(folderOf(place), path)) } }
    // nginx adds its own header to a whole file, and none to a part.
    const { 'accept-ranges': _, ...others } = own
    const handed = { 'x-accel-redirect': `${filesSentBy.location}${path}` }
    return { status: 200, headers: { ...(wanted === 'whole' ? others : own), ...handed } }
  }
}

/** True if every server reads the Range header in the same way: they differ in malformed ones, and in many ranges. */
const isSameForAll = (range: string | undefined, wanted: readonly ByteRange[] | 'whole'): boolean =>
  wanted === 'whole' ? range === undefined : wanted.length === 1 && isSingle(range ?? '')

const isSingle = (range: string) => /^bytes=\d{0,15}-\d{0,15}$/.test(range)
