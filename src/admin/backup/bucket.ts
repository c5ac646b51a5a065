import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type BucketPlace, placeText } from '../../config/files-place.ts'
import { contentKey } from '../../files/bucket.ts'
import { BucketClient } from '../../files/bucket-client.ts'
import { allIn, holdInBucket } from '../../files/bucket-hold.ts'
import { putAndCheck } from '../../files/bucket-parts.ts'
import { openObject } from '../../files/bucket-read.ts'
import { storeToBe } from '../../files/files.ts'
import { openFiles } from '../../files/open-files.ts'
import { readWhole } from '../../files/opened.ts'
import { OperatorError } from '../../lib/errors.ts'
import { openSqlite } from '../../lib/sqlite.ts'
import type { Backups } from './backups.ts'
import { copyTo } from './contents.ts'
import { BadBackup, fileNamed, type Manifests, manifestText, namesIn, readManifest } from './manifest.ts'
import { temporaryFolder } from './stream.ts'

/**
 * Opens a bucket of backups: `backups/<name>.json` is the manifest of each, `contents/ab/cd/<sha256>` is what
 * they share, and `carrel-backups.lock.…` says which program writes here.
 * @throws OperatorError if the bucket holds something else there, or is in use
 * @throws BadBackup if it holds no backups to read
 */
export async function openBucketOfBackups(place: BucketPlace, mode: 'read' | 'write'): Promise<Backups> {
  const { prefix } = place
  const where = placeText(place)
  const client = new BucketClient(place, () => {})
  await requireBackups(client, prefix, where, mode)
  const ofContents = { ...place, prefix: `${prefix}contents/` }
  const contents = await openFiles(ofContents, storeToBe)
  const folder = temporaryFolder()
  let lock: Awaited<ReturnType<typeof takeLock>> | undefined
  try {
    if (mode === 'write') lock = await takeLock(client, `${prefix}${lockName}`, where)
    // A backup that was killed left these.
    if (lock) await contents.clearIncoming(Date.now())
  } catch (error) {
    folder.remove()
    await lock?.release()
    throw error
  }
  const keyOf = (sha256: string) => contentKey(ofContents.prefix, sha256)
  const manifests = manifestsInBucket(place)
  const manifestKey = (name: string) => `${prefix}backups/${name}.json`

  /** Sizes of the contents whose SHA-256 begins with two digits. Only the last two lists are kept. */
  const listed = new Map<string, Promise<ReadonlyMap<string, number>>>()
  function sizesOf(digits: string): Promise<ReadonlyMap<string, number>> {
    const known = listed.get(digits)
    if (known) return known
    const sizes = (async () => {
      const found = new Map<string, number>()
      for await (const page of client.list(`${ofContents.prefix}${digits}/`))
        for (const { key, size } of page) found.set(key.slice(-64), size)
      return found
    })()
    const [oldest] = listed.keys()
    if (listed.size > 1 && oldest !== undefined) listed.delete(oldest)
    listed.set(digits, sizes)
    return sizes
  }

  return {
    place: where,
    staging: folder.path,
    contents,
    has: async ({ sha256, size }) => (await sizesOf(sha256.slice(0, 2))).get(sha256) === size,
    placeOf: sha256 => `${where}/${keyOf(sha256).slice(prefix.length)}`,
    names: () => namesIn(manifests),
    manifest: async name =>
      readManifest((await manifests.read(`${name}.json`)) ?? '', `${where}/backups/${name}.json`),
    complete: async (name, manifest) => {
      await lock?.require()
      const key = manifestKey(name)
      try {
        await putAndCheck(client, key, Buffer.from(manifestText(manifest)))
      } catch (error) {
        await client.remove([key]).catch(() => {})
        throw error
      }
    },
    removeManifests: async names => {
      await lock?.require()
      await client.remove(names.map(manifestKey))
    },
    openDatabase: async manifest => {
      const { sha256 } = fileNamed(manifest, 'carrel.db')
      const path = join(folder.path, `${randomUUID()}.db`)
      const bad = (why: string) =>
        new BadBackup(`${where}/${keyOf(sha256).slice(prefix.length)} (carrel.db): ${why}`)
      const file = await contents.open(sha256)
      if (!file) throw bad('it is missing')
      if ((await copyTo(file, path)).sha256 !== sha256) throw bad('it is damaged')
      return openSqlite(path, { mode: 'immutable' }, bad)
    },
    contentsFrom: async digits => {
      await lock?.require()
      listed.delete(digits)
      return [...(await sizesOf(digits)).keys()]
    },
    removeContent: async sha256 => {
      await lock?.require()
      await client.remove([keyOf(sha256)])
    },
    close: async () => {
      folder.remove()
      await lock?.release()
    },
  }
}

/** The manifests in a bucket of backups. */
export function manifestsInBucket(place: BucketPlace): Manifests {
  const client = new BucketClient(place, () => {})
  const folder = `${place.prefix}backups/`
  return {
    list: async () => {
      const names: string[] = []
      for await (const page of client.list(folder))
        names.push(...page.map(({ key }) => key.slice(folder.length)))
      return names
    },
    read: async (file, limit = 1024 ** 3) => textOf(client, `${folder}${file}`, limit),
  }
}

/** @returns undefined if there is no such object, or it is larger than the limit */
async function textOf(client: BucketClient, key: string, limit: number): Promise<string | undefined> {
  const file = await openObject(client, key, { start: 0, end: limit - 1 })
  try {
    return file && file.size <= limit ? (await readWhole(file)).toString() : undefined
  } finally {
    await file?.close()
  }
}

async function requireBackups(client: BucketClient, prefix: string, where: string, mode: 'read' | 'write') {
  for await (const [first] of client.list(prefix, 1)) {
    const name = first?.key.slice(prefix.length)
    if (name === undefined) break
    if (/^(backups\/|contents\/|carrel-backups\.lock\.)/.test(name)) return
    if (mode === 'read') break
    throw new OperatorError(
      `${where} is not empty and holds no backups; give an empty prefix, or one that has backups`,
    )
  }
  if (mode === 'read') throw new BadBackup(`${where} holds no backups of Carrel`)
}

/** The prefix of lock keys. Only Carrel uses it, so a bucket prefix with such a key holds backups. */
const lockName = 'carrel-backups.lock'

/**
 * Takes the lock. One that its program doesn't write again, because it was killed, is waited for; so is a program that
 * began at the same moment, when both give way.
 * @throws OperatorError if another program has the lock
 */
async function takeLock(client: BucketClient, key: string, where: string) {
  const refuse = () => {
    throw new OperatorError(`${where} is locked: another backup is using it; try again when it has ended`)
  }
  const written = new Map<string, number>()
  for (;;) {
    const hold = await holdInBucket(client, key, { silence: 60_000 })
    if (typeof hold !== 'string')
      return {
        /** @throws OperatorError if another program has taken the lock */
        require: async () => {
          if (!(await hold.isOurs())) refuse()
        },
        release: hold.release,
      }
    for (const { key: one, modified } of await allIn(client, `${key}.`)) {
      if (modified > (written.get(one) ?? modified)) refuse()
      written.set(one, modified)
    }
    await delay(500 + Math.random() * 1_000)
  }
}
