import { randomBytes } from 'node:crypto'
import {
  link,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  statfs,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../lib/make-folder.ts'
import { hasEnded, ownProgram } from '../lib/programs.ts'
import { isMissing, systemReason, unlessMissing } from '../lib/system-errors.ts'
import { StoreUnavailable } from '../model/errors.ts'

/**
 * Where uploads are: a folder for each, named by its id, with the file `data`, whose size is the offset, and `info.json`.
 * `held` says which program makes something of it.
 */
export interface Info {
  readonly eperson: string
  readonly size: number
  /** As its client gave it, decoded. */
  readonly metadata: Readonly<Record<string, string | null>>
  readonly begun: string
}

export interface Found extends Info {
  readonly id: string
  /** How many bytes have arrived. */
  readonly offset: number
  /** When the last ones did. */
  readonly changed: Date
}

/** Ids are random, and the only part of a path that a client names. */
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
    // What is there is whole, whenever the program ends.
    const whole = `${infoOf(folder, id)}.new`
    await writeFile(whole, JSON.stringify(info), { mode: 0o600, flush: true })
    await rename(whole, infoOf(folder, id))
  })
}

/** @returns undefined if there is none, or not yet or not any more */
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

/** In one step for all others: what they add to a folder while it is removed would stay. */
export const removeUpload = (folder: string, id: string): Promise<void> => removeAll(join(folder, id))

async function removeAll(path: string): Promise<void> {
  const aside = `${path}.removed`
  await unlessMissing(rename(path, aside))
  await rm(aside, { recursive: true, force: true })
}

/** Removes one at a client's wish, unless something is made of it. */
export async function discardUpload(folder: string, id: string): Promise<'removed' | 'held' | 'missing'> {
  const isOwn = await holdUpload(folder, id)
  if (isOwn) await removeUpload(folder, id)
  return isOwn ? 'removed' : isOwn === undefined ? 'missing' : 'held'
}

/** How many bytes of the disk are free for others than its administrator. */
export async function freeIn(folder: string): Promise<number> {
  makeFolder(folder)
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

/** Holds a file that only one can have, until it is removed; what an ended program held counts as free. */
export async function hold(path: string): Promise<boolean> {
  for (let attempt = 1; attempt <= 2; attempt++)
    try {
      await writeFile(path, ownProgram(), { flag: 'wx', mode: 0o600 })
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      const left = await leftIn(path)
      if (left === undefined) return false
      await removeLeft(path, left)
    }
  return false
}

/** In ms. A file that is empty for so long was left by a program that ended while it wrote it. */
const writingTakes = 10_000

/** @returns what a program that has ended has left; null: there is nothing any more; undefined: somebody holds it */
async function leftIn(path: string): Promise<string | null | undefined> {
  try {
    const owner = await readFile(path, 'utf8')
    const isLeft = owner === '' ? Date.now() - (await stat(path)).mtimeMs > writingTakes : hasEnded(owner)
    return isLeft ? owner : undefined
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

/** Others may find the same at once, and one of them be the holder by now: what is theirs goes back. */
async function removeLeft(path: string, left: string | null): Promise<void> {
  if (left === null) return
  const aside = `${path}.${newUploadId()}`
  if ((await unlessMissing(rename(path, aside).then(() => true))) === undefined) return
  if ((await readFile(aside, 'utf8')) !== left) await link(aside, path).catch(() => {})
  await rm(aside, { force: true })
}

/** @returns undefined if there is no such upload any more */
export const holdUpload = (folder: string, id: string): Promise<boolean | undefined> =>
  written(() => unlessMissing(hold(heldOf(folder, id))))

/** It can be taken again, and expires as if it had just arrived. */
export async function giveBack(folder: string, id: string): Promise<void> {
  const now = new Date()
  await utimes(dataOf(folder, id), now, now).catch(() => {})
  await rm(heldOf(folder, id), { force: true })
}

/** Opens the data to add to it. */
export const openData = (folder: string, id: string) => written(() => open(dataOf(folder, id), 'r+'))

/** Errors of the disk as what they are for a client: the store can't take it now. */
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
 * Removes uploads at which nothing has happened for long, what was begun and is not whole, and what was unpacked by
 * programs that have ended.
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
        : now - at > lifetime && (!isUploadId(name) || (await holdUpload(folder, name)) === true)
    if (isOld) await removeAll(path)
  }
}

async function lastChange(path: string, name: string): Promise<number | undefined> {
  const found =
    (isUploadId(name) ? await stat(join(path, 'data')).catch(() => undefined) : undefined) ??
    (await stat(path).catch(() => undefined))
  return found?.mtimeMs
}

/** A folder for what is unpacked of an archive; its name says which program does it. */
export async function makeUnpacked(folder: string): Promise<string> {
  return written(async () => {
    makeFolder(folder)
    const owner = Buffer.from(ownProgram()).toString('base64url')
    const path = join(folder, `unpacked.${newUploadId()}.${owner}`)
    await mkdir(path, { mode: 0o700 })
    return path
  })
}

function unpackedBy(name: string): { readonly isForsaken: boolean } | undefined {
  const [kind, , owner] = name.split('.')
  if (kind !== 'unpacked' || owner === undefined) return undefined
  try {
    return { isForsaken: hasEnded(Buffer.from(owner, 'base64url').toString()) }
  } catch {
    return { isForsaken: true }
  }
}
