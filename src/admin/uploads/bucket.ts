import { randomUUID } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type BucketPlace, placeText } from '../../config/files-place.ts'
import { BucketClient } from '../../files/bucket-client.ts'
import { allIn, holdInBucket, latestOf } from '../../files/bucket-hold.ts'
import type { CountRequest } from '../../files/bucket-requests.ts'
import { Problem } from '../../http/problems.ts'
import { FilesUnavailable } from '../../lib/errors.ts'
import { createFairQueue, nobody } from '../../lib/fair-queue.ts'
import { freeIn, makeUnpacked, written } from './folder.ts'
import { type Added, discardUpload, type Found, type Info, isUploadId, type UploadPlace } from './place.ts'

/** Size of a piece in bytes. All but the last have it, so that an upload has few objects however it is sent. */
const pieceSize = 8 * 1024 * 1024
/** Number of requests of an event loop that have memory for a piece, and those of one eperson. */
const requests = createFairQueue({ max: 8, maxOfOne: 6, maxWaiting: 200, maxWait: 20_000 })
/** Time in ms between two looks for expired uploads by the housekeeping of a node, which cost requests. */
const lookInterval = 10 * 60_000
/** Maximum size of `info.json` in bytes. */
const maxInfo = 64 * 1024

interface Piece {
  readonly key: string
  /** Places in the upload of its first byte, and of the one after its last. */
  readonly start: number
  readonly end: number
  readonly modified: number
}

interface Options extends Pick<UploadPlace, 'absent' | 'local' | 'patience'> {
  /** Number of bytes of the local disk that copies of uploads leave free. */
  readonly spare: number
}

/**
 * Uploads in a bucket: `uploads/<id>/info.json`, the pieces `uploads/<id>/<start>.<random>`, and objects that say
 * who uses what. A piece never changes. One that isn't full is written again, longer, with what arrives next, and
 * removed after that; pieces may overlap, since requests for one upload send the same bytes for the same place.
 */
export function openBucketOfUploads(
  place: BucketPlace,
  count: CountRequest,
  { spare, ...options }: Options,
): UploadPlace {
  const client = new BucketClient(place, count)
  const root = `${place.prefix}uploads/`
  const infoOf = (id: string) => `${root}${id}/info.json`
  const pieces = new Pieces(client, root, placeText(place))
  let lookedAt = Number.NEGATIVE_INFINITY

  const objectsIn = (prefix: string) => allIn(client, prefix)
  async function find(id: string, objects?: Objects) {
    if (!isUploadId(id)) return undefined
    const info = await client.read(infoOf(id), { start: 0, end: maxInfo - 1 })
    if (!info) return undefined
    const { offset, changed } = await pieces.stateOf(id, objects)
    return { ...(JSON.parse(info.bytes.toString()) as Info), id, offset, changed }
  }
  /** The objects of all uploads, by id. */
  async function all() {
    const objects = (await objectsIn(root)).map(one => ({
      ...one,
      id: one.key.slice(root.length).split('/', 1)[0],
    }))
    return Map.groupBy(objects, ({ id = '' }) => id)
  }
  async function remove(id: string): Promise<void> {
    // Without it, the upload is gone.
    await client.remove([infoOf(id)])
    await client.remove((await objectsIn(`${root}${id}/`)).map(({ key }) => key))
  }

  const hold: UploadPlace['hold'] = async (name, options) => {
    const [id = ''] = name.split('/')
    const isThere = async () => !isUploadId(id) || (await client.size(infoOf(id))) !== undefined
    return holdInBucket(client, `${root}${name}`, options, isThere)
  }

  return {
    ...options,
    find,
    hold,
    remove,
    add: (id, info) => client.put(infoOf(id), Buffer.from(JSON.stringify(info))),
    list: async () => {
      const found = [...(await all())].map(([id, objects]) => find(id, objects))
      return (await Promise.all(found)).filter(one => one !== undefined)
    },
    renew: async id => {
      const info = await client.read(infoOf(id), { start: 0, end: maxInfo - 1 })
      if (info) await client.put(infoOf(id), info.bytes)
    },
    free: async () => Number.POSITIVE_INFINITY,
    append: (id, offset, arriving, eperson) => appendTo(pieces, id, { offset, arriving, eperson }),
    fetch: async found => {
      if ((await freeIn(options.local)) - found.size < spare)
        throw new FilesUnavailable('the disk of CARREL_DATA has no room for a copy of the upload')
      return copied(pieces, found, await makeUnpacked(options.local))
    },
    clear: async (lifetime, now) => {
      if (performance.now() - lookedAt < lookInterval) return
      lookedAt = performance.now()
      for (const [id, objects] of await all()) {
        if (now - latestOf(objects) <= lifetime) continue
        if (!isUploadId(id)) await client.remove(objects.map(({ key }) => key))
        else if ((await discardUpload({ ...options, hold, remove }, id)) === 'gone') await remove(id)
      }
    },
  }
}

type Objects = Awaited<ReturnType<typeof allIn>>

/** The pieces of uploads below `root`. */
class Pieces {
  readonly client: BucketClient
  readonly root: string
  /** The place, for errors. */
  readonly where: string

  constructor(client: BucketClient, root: string, where: string) {
    this.client = client
    this.root = root
    this.where = where
  }

  /** The pieces of an upload, and those of them that make it up. */
  async stateOf(id: string, objects?: Objects) {
    const found = objects ?? (await allIn(this.client, `${this.root}${id}/`))
    const pieces = found.flatMap(({ key, size, modified }): Piece[] => {
      const start = /\/(\d{15})\.[\w-]+$/.exec(key)?.[1]
      return start === undefined ? [] : [{ key, start: Number(start), end: Number(start) + size, modified }]
    })
    const chain: Piece[] = []
    let offset = 0
    for (const piece of pieces.toSorted((one, other) => one.start - other.start || other.end - one.end))
      if (piece.start <= offset && piece.end > offset) {
        chain.push(piece)
        offset = piece.end
      }
    const info = found.filter(({ key }) => key === `${this.root}${id}/info.json`)
    return { pieces, chain, offset, changed: new Date(latestOf([...info, ...pieces])) }
  }

  /** Reads a piece from this place of the upload on. @returns the number of bytes */
  async readInto(buffer: Buffer, { key, start, end }: Piece, from: number): Promise<number> {
    const part = await this.client.read(key, { start: from - start, end: end - start - 1, size: end - start })
    if (part?.bytes.length !== end - from)
      throw new FilesUnavailable(`${this.where}: ${key} is gone, or not as long as it was`)
    return part.bytes.copy(buffer)
  }
}

interface Appended {
  readonly offset: number
  readonly arriving: AsyncIterable<Buffer>
  readonly eperson: string
}

async function appendTo(pieces: Pieces, id: string, { offset, arriving, eperson }: Appended): Promise<Added> {
  const leave = await requests.enter({ ...nobody, network: eperson })
  try {
    const before = await pieces.stateOf(id)
    if (before.offset !== offset)
      throw new Problem('upload-offset', 'Another request has sent more of this upload. Ask where it ends.')
    const last = before.chain.at(-1)
    const isFull = !last || last.end - last.start >= pieceSize
    const buffer = Buffer.allocUnsafeSlow(pieceSize)
    let start = isFull ? offset : last.start
    let filled = isFull ? 0 : await pieces.readInto(buffer, last, last.start)
    let end = offset
    const added: string[] = []
    const flush = async () => {
      const key = `${pieces.root}${id}/${String(start).padStart(15, '0')}.${randomUUID()}`
      await pieces.client.put(key, buffer.subarray(0, filled))
      added.push(key)
      start += filled
      end = start
      filled = 0
    }
    for await (const piece of arriving)
      for (let at = 0; at < piece.length; ) {
        const copied = piece.copy(buffer, filled, at)
        at += copied
        filled += copied
        if (filled === pieceSize) await flush()
      }
    if (start + filled > end) await flush()
    const used = new Set(before.chain.map(({ key }) => key))
    if (!isFull && added.length > 0) used.delete(last.key)
    const unused = before.pieces.filter(({ key }) => !used.has(key)).map(({ key }) => key)
    return { end, undo: () => pieces.client.remove(added), settle: () => pieces.client.remove(unused) }
  } finally {
    leave()
  }
}

/** Copies an upload to a folder of this node, which is removed when the copy is disposed of. */
async function copied(pieces: Pieces, { id, size }: Found, folder: string) {
  const path = join(folder, 'data')
  const dispose = () => rm(folder, { recursive: true, force: true })
  try {
    const file = await written(() => open(path, 'wx', 0o600))
    try {
      const buffer = Buffer.allocUnsafeSlow(pieceSize)
      let at = 0
      for (const piece of (await pieces.stateOf(id)).chain) {
        const length = await pieces.readInto(buffer, piece, at)
        await written(() => file.writeFile(buffer.subarray(0, length)))
        at += length
      }
      if (at !== size) throw new FilesUnavailable(`${pieces.where}: the upload ${id} is not whole`)
    } finally {
      await file.close()
    }
    return { path, dispose }
  } catch (error) {
    await dispose()
    throw error
  }
}
