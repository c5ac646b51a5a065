import { create } from 'content-disposition'
import { mediaTypeOf } from '../lib/media-type.ts'
import type { Bitstream } from '../model/items.ts'

/**
 * How a browser is told to take a file (F2). What can run a script, or can't be known, is never shown in the service's
 * own origin but saved; what is shown may load nothing and is in no frame.
 */
const shown: ReadonlySet<string> = new Set([
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

export function presentation({
  name,
  mimeType,
}: Pick<Bitstream, 'name' | 'mimeType'>): Readonly<Record<string, string>> {
  const type = mediaTypeOf(mimeType)
  const parameters = mimeType.toLowerCase().split(';').slice(1)
  const charset = parameters.map(one => /^ *charset="?([a-z0-9._-]+)"? *$/.exec(one)?.[1]).find(Boolean)
  const isShown = shown.has(type)
  return {
    // Left to guess, a browser takes text for Windows-1252.
    'content-type': type.startsWith('text/') ? `${type}; charset=${charset ?? 'utf-8'}` : type,
    // RFC 6266, the name by RFC 8187. A slash would be a folder, which names that are none would hide.
    'content-disposition': create(fileName(name), {
      type: isShown ? 'inline' : 'attachment',
      fallback: inAscii(fileName(name)),
    }),
    'content-security-policy': isShown
      ? "default-src 'none'; img-src 'self'; media-src 'self'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'"
      : "default-src 'none'; frame-ancestors 'none'; sandbox",
  }
}

/** For clients that know no other: letters without their marks, and no question mark, which a shell would expand. */
const inAscii = (name: string): string =>
  name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^\x20-\x7e]/gu, '_')

/** The last part of a path; characters that turn text around or can't be seen are left out. */
const fileName = (name: string): string =>
  name
    .split(/[/\\]/)
    .at(-1)
    ?.replace(/[\p{Cc}\p{Bidi_Control}]/gu, '')
    .toWellFormed() || 'file'
