import { create } from 'content-disposition'
import type * as mimeTypes from 'mime-types'
import { nameOrNull } from '../lib/file-name.ts'
import { mediaTypeOf } from '../lib/media-type.ts'
import { onDemand } from '../lib/own-files.ts'
import type { Bitstream } from '../model/items.ts'

/**
 * The headers that tell a browser how to treat a file (F2). Types that can run a script, and unknown ones, are never
 * shown in the service's origin but saved. A file that is shown can load nothing and can't be framed.
 */

const inlineTypes: ReadonlySet<string> = new Set([
  ...['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp', 'image/tiff'],
  ...[
    'audio/mpeg',
    'audio/ogg',
    'audio/wav',
    'audio/x-wav',
    'audio/flac',
    'audio/mp4',
    'audio/aac',
    'audio/webm',
  ],
  ...['video/mp4', 'video/webm', 'video/ogg', 'application/pdf', 'text/plain', 'text/csv'],
])

/**
 * True for style sheets and types that browsers take for JavaScript (WHATWG MIME Sniffing §4.6). Sent as another
 * type, with `nosniff`, they run neither as a script nor as a worker in a page of the service's origin, whose
 * policy allows its own scripts: a policy with paths would have to know the public origin.
 */
const isCode = (type: string) => /^(text|application)\/(css|(x-)?(ecma|java|j|live)script[\d.]*)$/.test(type)

export function presentation({
  name,
  mimeType,
}: Pick<Bitstream, 'name' | 'mimeType'>): Readonly<Record<string, string>> {
  const type = mediaTypeOf(mimeType)
  const parameters = mimeType.toLowerCase().split(';').slice(1)
  const charset = parameters.map(one => /^ *charset="?([a-z0-9._-]+)"? *$/.exec(one)?.[1]).find(Boolean)
  const isInline = inlineTypes.has(type)
  const shown = nameOrNull(name) ?? 'file'
  const sent = isCode(type) ? 'text/plain' : type
  return {
    // Without a charset, browsers assume Windows-1252.
    'content-type': sent.startsWith('text/') ? `${sent}; charset=${charset ?? 'utf-8'}` : sent,
    // RFC 6266, with the name as in RFC 8187.
    'content-disposition': create(shown, {
      type: isInline ? 'inline' : 'attachment',
      fallback: toAscii(shown),
    }),
    'content-security-policy': isInline
      ? "default-src 'none'; img-src 'self'; media-src 'self'; object-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
      : "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; sandbox",
  }
}

/**
 * Writes a name for clients that don't know RFC 8187: letters without diacritics, and _ rather than ?, which
 * shells expand.
 */
const toAscii = (name: string): string =>
  name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^\x20-\x7e]/gu, '_')

const library = onDemand<typeof mimeTypes>('mime-types')

/** Returns the MIME type by the name's extension. The file's content is not looked at. */
export const mimeTypeOf = (name: string): string => library().lookup(name) || 'application/octet-stream'
