import type * as mimeTypes from 'mime-types'
import { onDemand } from '../lib/memo.ts'

const library = onDemand<typeof mimeTypes>('mime-types')

/** Returns the MIME type by the name's extension. The file's content is not looked at. */
export const mimeTypeOf = (name: string): string => library().lookup(name) || 'application/octet-stream'
