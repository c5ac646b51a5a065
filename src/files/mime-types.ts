import mimeTypes from 'mime-types'

/** What a file of this name most likely is; nothing in it is looked at. */
export const mimeTypeOf = (name: string): string => mimeTypes.lookup(name) || 'application/octet-stream'
