import mimeTypes from 'mime-types'

/** The MIME type by the name's extension. The file's content is not looked at. */
export const mimeTypeOf = (name: string): string => mimeTypes.lookup(name) || 'application/octet-stream'
