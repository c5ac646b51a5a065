import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { networkOf } from '../authn/special-groups.ts'
import type { Config } from '../config/config.ts'
import { folderOf } from '../config/files-place.ts'
import { clientAddress } from '../lib/addresses.ts'
import type { ByteRange } from './ranges.ts'

/**
 * Lets the proxy in front send files (F4, docs/decisions/0020). It gets a response without a body, whose
 * header names the file by its path in the folder of files.
 */
export interface HandOver {
  /**
   * True if the proxy's response to this request would be the same as Carrel's.
   * @param wanted the bytes that Carrel would send, once it has evaluated the request's conditions
   */
  suits(request: IncomingMessage, wanted: readonly ByteRange[] | 'whole'): boolean
  /**
   * @param own headers of Carrel's response
   * @param path path of the content in the folder of files
   * @returns the headers for the proxy
   */
  headers(
    own: Readonly<Record<string, string>>,
    path: string,
    wanted: readonly ByteRange[] | 'whole',
  ): Readonly<Record<string, string>>
}

/** Headers that a proxy would evaluate again, and compare with the date of the file on its disk. */
const conditions = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since']

/** @returns undefined if Carrel sends every file itself */
export function createHandOver({
  files,
  filesSentBy,
  trustedProxies,
}: Pick<Config, 'files' | 'filesSentBy' | 'trustedProxies'>): HandOver | undefined {
  if (filesSentBy.kind === 'carrel' || filesSentBy.kind === 'redirect') return undefined
  const isProxy = networkOf(trustedProxies)
  return {
    suits: ({ method, headers, socket }, wanted) => {
      // The proxy must be the peer of the connection: any other client would get the header and no file.
      const address = clientAddress(socket.remoteAddress ?? '')
      return (
        method === 'GET' &&
        address !== null &&
        isProxy(address) &&
        conditions.every(name => headers[name] === undefined) &&
        isSameForAll(headers.range, wanted)
      )
    },
    headers: (own, path, wanted) => {
      // Apache could take a path relative to the folder, but it looks beside the backend's address first, and
      // gives up. It decodes the value.
      if (filesSentBy.kind === 'x-sendfile')
        return { ...own, 'x-sendfile': encodeURI(join(folderOf(files), path)) }
      // nginx adds its own header to a whole file, and none to a part.
      const { 'accept-ranges': _, ...others } = own
      return {
        ...(wanted === 'whole' ? others : own),
        'x-accel-redirect': `${filesSentBy.location}${path}`,
      }
    },
  }
}

/**
 * True if every server reads the Range header in the same way: they differ in malformed ones, and in many
 * ranges.
 */
const isSameForAll = (range: string | undefined, wanted: readonly ByteRange[] | 'whole'): boolean =>
  wanted === 'whole'
    ? range === undefined
    : wanted.length === 1 && /^bytes=\d{0,15}-\d{0,15}$/.test(range ?? '')
