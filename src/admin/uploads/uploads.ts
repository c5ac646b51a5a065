import type { Upload, Uploads } from '../../model/uploads.ts'
import { dataOf, findUpload, giveBack, holdUpload, removeUpload } from './folder.ts'

/** Finished uploads, for the features that use them. */
export const createUploads = (folder: string): Uploads => ({
  take: async (id, eperson): Promise<Upload | undefined> => {
    const found = await findUpload(folder, id)
    if (found?.eperson !== eperson || found.offset !== found.size) return undefined
    const held = await holdUpload(folder, id)
    if (!held) return undefined
    const { size, metadata } = found
    const name = metadata.filename ?? metadata.name ?? null
    return {
      id,
      eperson,
      name,
      size,
      path: dataOf(folder, id),
      release: used => (used ? removeUpload(folder, id) : giveBack(folder, id, held)),
    }
  },
})
