import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, stat, statfs, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../lib/make-folder.ts'
import { isLeftOver, programInName } from '../lib/programs.ts'
import { isMissing, systemReason, unlessMissing } from '../lib/system-errors.ts'
import { StoreUnavailable } from '../model/errors.ts'
import { hold } from './hold.ts'

/**
 * Where uploads are: a folder for each, named by its id, with the file `data`, whose size is the offset, and `info.json`.
 * `held.1` says which program makes something of it.
 */
export interface Info {
  readonly eperson: string
  readonly size: number
  /** As its client gave it, decoded. */
  readonly metadata: Readonly<Record<string, string | null>>
  readonly begun: string
  /** The program that receives it as the body of one request (`ownProgram`); not given: it comes in pieces. */
  readonly receivedBy?: string
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
  const held = await holdUpload(folder, id)
  if (held) await removeUpload(folder, id)
  return held ? 'removed' : held === undefined ? 'missing' : 'held'
}

/** How many bytes of the disk are free for others than its administrator. */
export async function freeIn(folder: string): Promise<number> {
  makeFolder(folder)
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

/** @returns the file that holds it; null if somebody else does; undefined if there is no such upload any more */
export const holdUpload = (folder: string, id: string): Promise<string | null | undefined> =>
  written(() => unlessMissing(hold(heldOf(folder, id))))

/** It can be taken again, and expires as if it had just arrived. */
export async function giveBack(folder: string, id: string, held: string): Promise<void> {
  const now = new Date()
  await utimes(dataOf(folder, id), now, now).catch(() => {})
  await rm(held, { force: true })
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

/** A folder for what is unpacked of an archive; its name says which program does it. */
export async function makeUnpacked(folder: string): Promise<string> {
  return written(async () => {
    makeFolder(folder)
    const path = join(folder, `unpacked.${newUploadId()}.${programInName()}`)
    await mkdir(path, { mode: 0o700 })
    return path
  })
}

function unpackedBy(name: string): { readonly isForsaken: boolean } | undefined {
  return name.startsWith('unpacked.') ? { isForsaken: isLeftOver(name) } : undefined
}
