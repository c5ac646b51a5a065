import { randomUUID } from 'node:crypto'
import { open } from 'node:fs/promises'
import { type BucketPlace, placeText } from '../config/files-place.ts'
import { FilesUnavailable, UnknownRequest } from '../lib/errors.ts'
import { nobody } from '../lib/fair-queue.ts'
import { isLeftOver, processIdInName } from '../lib/process-ids.ts'
import { BucketClient } from './bucket-client.ts'
import { putAndCheck } from './bucket-parts.ts'
import { probe } from './bucket-probe.ts'
import { openObject } from './bucket-read.ts'
import type { CountRequest, Listed } from './bucket-requests.ts'
import { BucketUploads } from './bucket-upload.ts'
import { derived, derivedInBucket } from './derived.ts'
import type { Files, FilesStore, SweepReport } from './files.ts'
import { chunksOf, openedFile } from './opened.ts'
import {
  claimFiles,
  clearRestored,
  isOwner,
  markRestoring,
  OtherStore,
  type OwnedPlace,
  takeOver,
} from './owner.ts'

/** Time in ms after which what a program of another machine was writing counts as left over. */
const day = 24 * 60 * 60 * 1000
/** Time in ms after which this holds for a program of this machine that has ended. */
const quiet = 60_000
/** Time in ms between two looks for leftovers by the housekeeping of a node, which cost requests. */
const lookInterval = 10 * 60 * 1000
/** Time in ms for which an answer to `require` holds: probes may come every second. */
const checkedFor = 5_000
/** Time in ms between two renewals of a pause, and for which a pause holds that isn't renewed. */
const renewal = 5 * 60 * 1000
const heldFor = 60 * 60 * 1000
/** Time in seconds for which a signed address is valid (F6). */
const signedFor = 60
const namesAtOnce = 500
/** Time in ms after which no removal of a content begins, well before its mark as being deleted expires. */
const removing = 5 * 60 * 1000

/** The key of a content. */
export const contentKey = (prefix: string, sha256: string): string =>
  `${prefix}${sha256.slice(0, 2)}/${sha256.slice(2, 4)}/${sha256}`

/** Files in a bucket (docs/decisions/0080). @param count counts requests, for metrics */
export function openBucket(place: BucketPlace, store: FilesStore, count: CountRequest): Files {
  const { prefix } = place
  const client = new BucketClient(place, count)
  const keys = keysBelow(prefix)
  const { keyOf } = keys
  const temporaryKey = () => `${keys.incoming}${randomUUID()}.${processIdInName()}`
  const uploads = new BucketUploads({ client, store, keyOf, temporaryKey })
  const owned = ownedBucket(place, client, keys)
  const { clearIncoming, sweep } = createSweeps(client, store, owned, keys)
  let checked: { readonly at: number; readonly check: Promise<void> } | undefined
  let lookedAt = Number.NEGATIVE_INFINITY
  /** The bucket from which contents were copied last. */
  let source: { readonly place: BucketPlace; readonly client: BucketClient } | undefined

  const keepOpened: Files['keepOpened'] = source => uploads.put(chunksOf(source), nobody)
  const keep = async (path: string) => {
    const source = await openedFile(await open(path))
    try {
      return await keepOpened(source)
    } finally {
      await source.close()
    }
  }
  return {
    place: owned.place,
    bucket: place,
    copyFrom: async (other, content) => {
      const { sha256, size } = content
      if (other.bucket?.endpoint !== place.endpoint || other.bucket.region !== place.region) return false
      const from = contentKey(other.bucket.prefix, sha256)
      if (source?.place !== other.bucket)
        source = { place: other.bucket, client: new BucketClient(other.bucket, count) }
      if ((await source.client.size(from)) !== size) return false
      await uploads.copy(from, content, other.bucket.bucket)
      return true
    },
    keep,
    keepOpened,
    // The upload's folder removes its file.
    adopt: keep,
    receive: (pieces, from = nobody) => uploads.put(pieces, from),
    holds: content => uploads.claim(content),
    open: (sha256, first, size) => openObject(client, keyOf(sha256), first, size),
    probe: () => probe(client, prefix, temporaryKey),
    pathInPlace: async () => undefined,
    sign: ({ sha256 }, headers) => client.sign(keyOf(sha256), headers, signedFor),
    claim: () => claimFiles(owned, store),
    isOwned: () => isOwner(owned, store),
    takeOver: () => takeOver(owned, store),
    markRestoring: into => markRestoring(owned, into),
    clearRestored: into => clearRestored(owned, into),
    sweep,
    remove: async sha256 => {
      const wasThere = await owned.has(sha256)
      if (wasThere) await client.remove([keyOf(sha256)])
      return wasThere
    },
    clearIncoming: async now => {
      if (now === undefined && Date.now() - lookedAt < lookInterval) return 0
      lookedAt = Date.now()
      return (await clearIncoming(now)).leftovers
    },
    pauseSweeps: () => paused(client, `${keys.held}${randomUUID()}`),
    derived: derivedInBucket(client, prefix),
    require: () => {
      const now = performance.now()
      if (!checked || now - checked.at > checkedFor)
        checked = { at: now, check: requireContents(client, place, store) }
      return checked.check
    },
  }
}

/** The keys of the objects below a prefix. */
function keysBelow(prefix: string) {
  const incoming = `${prefix}incoming/`
  /** Begins the keys of objects that keep sweeps from deleting while a backup reads contents, as in a folder. */
  const held = `${incoming}held-`
  const keyOf = (sha256: string) => contentKey(prefix, sha256)
  /** The SHA-256 in the key of a content; undefined for other keys. */
  const nameIn = (key: string) =>
    /^[0-9a-f]{2}\/[0-9a-f]{2}\/([0-9a-f]{64})$/.exec(key.slice(prefix.length))?.[1]
  return { prefix, incoming, held, keyOf, nameIn }
}

type Keys = ReturnType<typeof keysBelow>

function ownedBucket(place: BucketPlace, client: BucketClient, keys: Keys): OwnedPlace {
  const { prefix, incoming, keyOf, nameIn } = keys
  const key = `${prefix}store`
  return {
    place: placeText(place),
    owner: async () => {
      const found = await client.read(key, { start: 0, end: 1023 })
      return found?.bytes.toString().trim()
    },
    setOwner: text => putAndCheck(client, key, Buffer.from(`${text}\n`)),
    // Keys come in their order, and those of contents before all others.
    hasContents: async () => {
      for await (const [one] of client.list(prefix, 1))
        return one !== undefined && nameIn(one.key) !== undefined
      return false
    },
    has: async sha256 => (await client.size(keyOf(sha256))) !== undefined,
    clear: async () => {
      for await (const page of client.list(prefix))
        await client.remove(
          page.map(one => one.key).filter(one => nameIn(one) !== undefined || one.startsWith(incoming)),
        )
      await client.remove([key])
    },
  }
}

function createSweeps(client: BucketClient, store: FilesStore, owned: OwnedPlace, keys: Keys) {
  const { prefix, incoming, held, keyOf, nameIn } = keys

  /** Aborts uploads that are left over. @returns their number; a sentence if the server can't list them */
  async function abortUploads(isOld: (one: Listed) => boolean): Promise<number | string> {
    let aborted = 0
    try {
      for await (const page of client.uploads(prefix))
        for (const one of page.filter(isOld)) {
          await client.abort(one.key, one.upload)
          aborted++
        }
    } catch (error) {
      if (!(error instanceof UnknownRequest)) throw error
      return `${owned.place}: the server can't list multipart uploads, so those that were interrupted stay; let a rule of the bucket abort them after a day`
    }
    return aborted
  }

  async function clearIncoming(now = Date.now()): Promise<Pick<SweepReport, 'leftovers' | 'leftOut'>> {
    let removed = 0
    const isOld = ({ key, modified }: Listed) =>
      now - modified > (key.startsWith(incoming) && isLeftOver(key) ? quiet : day)
    for await (const page of client.list(incoming))
      for (const one of page.filter(isOld)) {
        await client.remove([one.key])
        removed++
      }
    const aborted = await abortUploads(isOld)
    await store.forgetClaims()
    return typeof aborted === 'string'
      ? { leftovers: removed, leftOut: aborted }
      : { leftovers: removed + aborted }
  }

  async function isPaused(now: number): Promise<boolean> {
    for await (const page of client.list(held))
      if (page.some(({ modified }) => now - modified <= heldFor)) return true
    return false
  }

  async function sweep(progress: (share: number) => void = () => {}, now = Date.now()): Promise<SweepReport> {
    if (!(await claimFiles(owned, store))) throw new OtherStore(owned.place)
    const report = { setAside: 0, broughtBack: 0, deleted: 0, ...(await clearIncoming(now)) }
    const ahead = now - Date.now()
    for await (const page of client.list(prefix, namesAtOnce)) {
      const names = page.flatMap(({ key }) => nameIn(key) ?? [])
      const last = names.at(-1)
      if (last === undefined) continue
      progress(Number.parseInt(last.slice(0, 4), 16) / 65_536)
      if (await isPaused(now)) break
      const { deleted, ...counts } = await store.sweepContents(names, ahead)
      const removed = await removeMarked(deleted)
      await store.endDeletion(removed)
      report.setAside += counts.setAside
      report.broughtBack += counts.broughtBack
      report.deleted += removed.length
    }
    return report
  }

  /** Removes contents, while no upload relies on them. @returns those that were removed; a later sweep takes the others */
  async function removeMarked(names: readonly string[]): Promise<readonly string[]> {
    const begun = performance.now()
    const removed: string[] = []
    for (const name of names) {
      if (performance.now() - begun > removing) break
      await client.remove([keyOf(name)])
      removed.push(name)
    }
    return removed
  }

  return { clearIncoming, sweep }
}

/** Keeps sweeps from deleting, by an object that is written again and again. @returns a function that ends this */
async function paused(client: BucketClient, hold: string): Promise<() => Promise<void>> {
  const write = () => client.put(hold, new Uint8Array())
  await write()
  let renewed: Promise<void> = Promise.resolve()
  const renewing = setInterval(() => {
    renewed = write().catch(() => {})
  }, renewal).unref()
  return async () => {
    clearInterval(renewing)
    await renewed
    await client.remove([hold])
  }
}

/** Requires that the bucket has contents, if the store has some. Derived files alone are none. */
async function requireContents(
  client: BucketClient,
  place: BucketPlace,
  store: Pick<FilesStore, 'contents'>,
): Promise<void> {
  const { prefix } = place
  for await (const [first] of client.list(prefix, 1)) {
    const isContent = first !== undefined && !first.key.startsWith(`${prefix}${derived}/`)
    if (isContent || (await store.contents('', 1)).length === 0) return
    break
  }
  throw new FilesUnavailable(
    `${placeText(place)} has no files: see whether CARREL_FILES names the right bucket and prefix, or restore it from a backup; nothing needs a restart`,
  )
}
