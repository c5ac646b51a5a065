import { isMediaType, mediaTypeOf } from '../lib/media-type.ts'

/** Formats of files, as DSpace's clients know them. */
interface Format {
  readonly name: string
  readonly extensions: readonly string[]
}

/** Formats with a name; any other media type is its own name. */
const known: Readonly<Record<string, Format>> = {
  'application/epub+zip': { name: 'EPUB', extensions: ['epub'] },
  'application/gzip': { name: 'GZip', extensions: ['gz'] },
  'application/json': { name: 'JSON', extensions: ['json'] },
  'application/msword': { name: 'Microsoft Word', extensions: ['doc'] },
  'application/pdf': { name: 'Adobe PDF', extensions: ['pdf'] },
  'application/postscript': { name: 'Postscript', extensions: ['ps', 'eps', 'ai'] },
  'application/rtf': { name: 'RTF', extensions: ['rtf'] },
  'application/vnd.ms-excel': { name: 'Microsoft Excel', extensions: ['xls'] },
  'application/vnd.ms-powerpoint': { name: 'Microsoft Powerpoint', extensions: ['ppt'] },
  'application/vnd.oasis.opendocument.spreadsheet': { name: 'OpenDocument Spreadsheet', extensions: ['ods'] },
  'application/vnd.oasis.opendocument.text': { name: 'OpenDocument Text', extensions: ['odt'] },
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': {
    name: 'Microsoft Powerpoint XML',
    extensions: ['pptx'],
  },
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': {
    name: 'Microsoft Excel XML',
    extensions: ['xlsx'],
  },
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': {
    name: 'Microsoft Word XML',
    extensions: ['docx'],
  },
  'application/zip': { name: 'ZIP', extensions: ['zip'] },
  'audio/mpeg': { name: 'MPEG Audio', extensions: ['mp3'] },
  'audio/x-wav': { name: 'WAV', extensions: ['wav'] },
  'image/gif': { name: 'GIF', extensions: ['gif'] },
  'image/jp2': { name: 'JPEG 2000', extensions: ['jp2'] },
  'image/jpeg': { name: 'JPEG', extensions: ['jpeg', 'jpg'] },
  'image/png': { name: 'PNG', extensions: ['png'] },
  'image/svg+xml': { name: 'SVG', extensions: ['svg'] },
  'image/tiff': { name: 'TIFF', extensions: ['tiff', 'tif'] },
  'text/css': { name: 'CSS', extensions: ['css'] },
  'text/csv': { name: 'CSV', extensions: ['csv'] },
  'text/html': { name: 'HTML', extensions: ['htm', 'html'] },
  'text/plain': { name: 'Text', extensions: ['txt', 'asc'] },
  'text/xml': { name: 'XML', extensions: ['xml'] },
  'video/mp4': { name: 'Video MP4', extensions: ['mp4'] },
  'video/mpeg': { name: 'MPEG', extensions: ['mpeg', 'mpg', 'mpe'] },
}

/** Any media type is a format: Carrel has no registry of them. */
export function formatBody(mimeType: string, core: string) {
  const type = mediaTypeOf(mimeType)
  const format = Object.hasOwn(known, type) ? known[type] : undefined
  const { name, extensions } = format ?? { name: type, extensions: [] }
  // In an address, the media type must be one segment. No media type contains `~`.
  const id = type.replace('/', '~')
  return {
    id,
    shortDescription: name,
    description: name,
    mimetype: type,
    supportLevel: format ? 'KNOWN' : 'UNKNOWN',
    internal: false,
    extensions,
    type: 'bitstreamformat',
    _links: { self: { href: `${core}/bitstreamformats/${encodeURIComponent(id)}` } },
  }
}

export const allFormats = (core: string) => Object.keys(known).map(type => formatBody(type, core))

/** @returns the format with this id; undefined if the id is not a media type */
export function formatOfId(id: string, core: string) {
  const type = id.toLowerCase().replace('~', '/')
  return isMediaType(type) ? formatBody(type, core) : undefined
}
