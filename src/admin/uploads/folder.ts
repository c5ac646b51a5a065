import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, stat, statfs, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../lib/durable-names.ts'
import { StoreUnavailable } from '../../lib/errors.ts'
import { isLeftOver, processIdInName } from '../../lib/process-ids.ts'
import { isMissing, systemReason, unlessMissing } from '../../lib/system-errors.ts'
import type { Upload, Uploads } from '../../model/uploads.ts'
import { holdExclusively } from './lock.ts'

/**
 * The folder of uploads: each has a folder named by its id, with the file `data`, whose size is the offset,
 * and `info.json`. `held.<n>` names the program that uses the upload.
 */
export interface Info {
  readonly eperson: string
  readonly size: number
  /** Metadata as the client gave it, decoded. */
  readonly metadata: Readonly<Record<string, string | null>>
  readonly begun: string
  /**
   * The program that receives it as the body of one request (`ownProcessId`); missing if it comes in pieces.
   */
  readonly receivedBy?: string
}

export interface Found extends Info {
  readonly id: string
  /** Number of bytes that have arrived. */
  readonly offset: number
  /** Time at which the last bytes arrived. */
  readonly changed: Date
}

/** True if the text is an id. Ids are random, and the only part of a path that a client chooses. */
export const isUploadId = (id: string): boolean => /^[0-9a-f]{32}$/.test(id)
export const newUploadId = (): string => randomBytes(16).toString('hex')

export const uploadsIn = (dataFolder: string): string => join(dataFolder, 'uploads')
export const dataOf = (folder: string, id: string): string => join(folder, id, 'data')
const infoOf = (folder: string, id: string) => join(folder, id, 'info.json')
const heldOf = (folder: string, id: string) => join(folder, id, 'held')

export async function addUpload(folder: string, id: string, info: Info): Promise<void> {
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

/** @returns undefined if there is no such upload, or it is just being created or removed */
export async function findUpload(folder: string, id: string): Promise<Found | undefined> {
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

export async function listUploads(folder: string): Promise<readonly Found[]> {
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
export const removeUpload = (folder: string, id: string): Promise<void> => removeAll(join(folder, id))

async function removeAll(path: string): Promise<void> {
  const aside = `${path}.removed`
  await unlessMissing(rename(path, aside))
  await rm(aside, { recursive: true, force: true })
}

/** Removes an upload for its client, unless it is being used. */
export async function discardUpload(folder: string, id: string): Promise<'removed' | 'held' | 'missing'> {
  const held = await holdUpload(folder, id)
  if (held) await removeUpload(folder, id)
  return held ? 'removed' : held === undefined ? 'missing' : 'held'
}

/** Number of free bytes on the disk that are not reserved for its administrator. */
export async function freeIn(folder: string): Promise<number> {
  makeFolder(folder)
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

/**
 * Holds an upload. @returns the file that holds it; null if another program holds it; undefined if the upload
 * is gone
 */
const holdUpload = (folder: string, id: string): Promise<string | null | undefined> =>
  written(() => unlessMissing(holdExclusively(heldOf(folder, id))))

/** Releases an upload. It can be taken again, and expires as if it had just arrived. */
async function giveBack(folder: string, id: string, held: string): Promise<void> {
  const now = new Date()
  await utimes(dataOf(folder, id), now, now).catch(() => {})
  await rm(held, { force: true })
}

export const openData = (folder: string, id: string) => written(() => open(dataOf(folder, id), 'r+'))

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
 * @param lifetime in ms
 */
export async function clearUploads(folder: string, lifetime: number, now: number): Promise<void> {
  for (const name of await namesIn(folder)) {
    const path = join(folder, name)
    const at = await lastChange(path, name)
    if (at === undefined) continue
    const unpacked = unpackedBy(name)
    const isOld =
      unpacked !== undefined
        ? unpacked.isForsaken
        : now - at > lifetime && (!isUploadId(name) || Boolean(await holdUpload(folder, name)))
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
