import { mkdir, open, readdir, readFile, rename, rm, stat, statfs, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../lib/durable-names.ts'
import { StoreUnavailable } from '../../lib/errors.ts'
import { gather } from '../../lib/gather.ts'
import { keepHold } from '../../lib/hold.ts'
import { isLeftOver, ownProcessId, processIdInName } from '../../lib/process-ids.ts'
import { isMissing, systemReason, unlessMissing } from '../../lib/system-errors.ts'
import { holdExclusively } from './lock.ts'
import { type Added, type Found, type Info, isUploadId, newUploadId, type UploadPlace } from './place.ts'

export const uploadsIn = (dataFolder: string): string => join(dataFolder, 'uploads')
const dataOf = (folder: string, id: string): string => join(folder, id, 'data')
const infoOf = (folder: string, id: string) => join(folder, id, 'info.json')

interface Options extends Pick<UploadPlace, 'absent' | 'local' | 'patience'> {}

/**
 * A folder of uploads: each has a folder named by its id, with the file `data`, whose size is the offset,
 * and `info.json`. `held.<n>` names the program that uses the upload.
 */
export function openFolderOfUploads(folder: string, place: Options): UploadPlace {
  const isThere = (path: string) =>
    stat(path).then(
      () => true,
      () => false,
    )
  return {
    ...place,
    add: (id, info) => addUpload(folder, id, info),
    find: id => findUpload(folder, id),
    list: () => listUploads(folder),
    remove: id => removeUpload(folder, id),
    renew: id => utimes(dataOf(folder, id), new Date(), new Date()),
    free: () => freeIn(folder),
    append: (id, offset, pieces) => append(folder, id, offset, pieces),
    hold: (name, options) =>
      written(async () => {
        const path = join(folder, name)
        const wanted = `${path}-wanted`
        if (!name.includes('/')) makeFolder(folder)
        const own = await unlessMissing(holdExclusively(path, options.silence))
        if (own === undefined) return 'gone'
        if (options.onWanted && own === null) await writeFile(wanted, '', { mode: 0o600 }).catch(() => {})
        if (own === null) return 'held'
        if (options.onWanted) await rm(wanted, { force: true })
        return keepHold(options, 500, {
          // Written, so that the time is that of the file server.
          beat: async () => ({
            isOurs:
              (await unlessMissing(writeFile(own, ownProcessId(), { flag: 'r+' }).then(() => true))) === true,
            isWanted: await isThere(wanted),
          }),
          remove: () => rm(own, { force: true }),
        })
      }),
    fetch: async ({ id }) => ({ path: dataOf(folder, id), dispose: async () => {} }),
    clear: (lifetime, now) => clearUploads(folder, lifetime, now, place.patience),
  }
}

/** Adds bytes to an upload as they arrive, in constant memory. */
async function append(
  folder: string,
  id: string,
  offset: number,
  pieces: AsyncIterable<Buffer>,
): Promise<Added> {
  const file = await openData(folder, id)
  let end = offset
  try {
    await gather(pieces, async bytes => {
      // A write may write fewer bytes than it was given.
      for (let at = 0; at < bytes.length; )
        at += (await written(() => file.write(bytes, at, bytes.length - at, end + at))).bytesWritten
      end += bytes.length
    })
    await written(() => file.datasync())
  } finally {
    await file.close()
  }
  return { end, undo: () => cutBack(folder, id, offset), settle: async () => {} }
}

/** Removes the bytes that a body has added. @param offset the end of the upload before */
async function cutBack(folder: string, id: string, offset: number): Promise<void> {
  const file = await openData(folder, id)
  try {
    await written(async () => {
      await file.truncate(offset)
      await file.datasync()
    })
  } finally {
    await file.close()
  }
}

async function addUpload(folder: string, id: string, info: Info): Promise<void> {
  await written(async () => {
    makeFolder(folder)
    await mkdir(join(folder, id), { mode: 0o700 })
    await writeFile(dataOf(folder, id), '', { mode: 0o600, flag: 'wx', flush: true })
    // Written aside and renamed, so that the file is complete whenever the program ends.
    const whole = `${infoOf(folder, id)}.new`
    await writeFile(whole, JSON.stringify(info), { mode: 0o600, flush: true })
    await rename(whole, infoOf(folder, id))
  })
}

async function findUpload(folder: string, id: string): Promise<Found | undefined> {
  if (!isUploadId(id)) return undefined
  try {
    const [text, { size: offset, mtime: changed }] = await Promise.all([
      readFile(infoOf(folder, id), 'utf8'),
      stat(dataOf(folder, id)),
    ])
    return { ...(JSON.parse(text) as Info), id, offset, changed }
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

async function listUploads(folder: string): Promise<readonly Found[]> {
  const found: Found[] = []
  for (const name of await namesIn(folder)) {
    const upload = await findUpload(folder, name)
    if (upload) found.push(upload)
  }
  return found
}

const namesIn = async (folder: string): Promise<string[]> => (await unlessMissing(readdir(folder))) ?? []

/**
 * Removes an upload. Renaming it first makes this one step for all others: files that they add during the
 * removal would stay.
 */
const removeUpload = (folder: string, id: string): Promise<void> => removeAll(join(folder, id))

async function removeAll(path: string): Promise<void> {
  const aside = `${path}.removed`
  await unlessMissing(rename(path, aside))
  await rm(aside, { recursive: true, force: true })
}

/** Number of free bytes on the disk that are not reserved for its administrator. */
export async function freeIn(folder: string): Promise<number> {
  makeFolder(folder)
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

const openData = (folder: string, id: string) => written(() => open(dataOf(folder, id), 'r+'))

/** Turns errors of the disk into what they mean for a client: the store can't take the data now. */
export async function written<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const reason = systemReason(error)
    if (reason === undefined) throw error
    throw new StoreUnavailable(`the folder of uploads can't be written: ${reason}`, { cause: error })
  }
}

/**
 * Removes uploads that have not changed for long, incomplete folders, and contents that programs unpacked
 * before they ended.
 * @param lifetime in ms @param patience as that of the place
 */
async function clearUploads(folder: string, lifetime: number, now: number, patience: number): Promise<void> {
  for (const name of await namesIn(folder)) {
    const path = join(folder, name)
    const at = await lastChange(path, name)
    if (at === undefined) continue
    const unpacked = unpackedBy(name)
    const isOld =
      unpacked !== undefined
        ? unpacked.isForsaken
        : now - at > lifetime &&
          (!isUploadId(name) || Boolean(await unlessMissing(holdExclusively(join(path, 'held'), patience))))
    if (isOld) await removeAll(path)
  }
}

async function lastChange(path: string, name: string): Promise<number | undefined> {
  const found =
    (isUploadId(name) ? await stat(join(path, 'data')).catch(() => undefined) : undefined) ??
    (await stat(path).catch(() => undefined))
  return found?.mtimeMs
}

/** Makes a folder for the contents of an archive; its name says which program unpacks it. */
export async function makeUnpacked(folder: string): Promise<string> {
  return written(async () => {
    makeFolder(folder)
    const path = join(folder, `unpacked.${newUploadId()}.${processIdInName()}`)
    await mkdir(path, { mode: 0o700 })
    return path
  })
}

function unpackedBy(name: string): { readonly isForsaken: boolean } | undefined {
  return name.startsWith('unpacked.') ? { isForsaken: isLeftOver(name) } : undefined
}
