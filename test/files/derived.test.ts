import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { commandEvent, openStore } from '../../src/cli/store.ts'
import { toConfig } from '../../src/config/config.ts'
import { forOwner } from '../../src/files/derived.ts'
import type { Files } from '../../src/files/files.ts'
import { openFiles } from '../../src/files/open-files.ts'
import type { FieldPlace } from '../../src/storage/field-place.ts'
import { bucketSettings, startBucket } from '../support/service/bucket.ts'
import { temporaryFolder } from '../support/service/service.ts'

async function opened(t: TestContext, kind: 'folder' | 'bucket') {
  const folder = temporaryFolder(t)
  const bucket = kind === 'bucket' ? await startBucket(t) : undefined
  const env = bucket ? bucketSettings(bucket, 'an/archive') : { CARREL_FILES: join(folder, 'contents') }
  const open = async (name: string) => {
    const config = toConfig({ CARREL_DATA: join(folder, name), ...env })
    const { repository, close } = await openStore(config, { create: true })
    t.after(() => close())
    return { repository, files: await openFiles(config.files, repository) }
  }
  const underWay = async () =>
    bucket
      ? [...(await bucket.uploads()).map(({ key }) => key), ...bucket.keys('an/archive/incoming/')]
      : readdirSync(join(folder, 'contents/incoming'))
  return { ...(await open('store')), another: () => open('another'), underWay }
}

async function* inPieces(bytes: Buffer) {
  for (let at = 0; at < bytes.length; at += 300_000) yield bytes.subarray(at, at + 300_000)
}
async function read(place: FieldPlace, name: string): Promise<Buffer | undefined> {
  const pieces: Uint8Array[] = []
  const isThere = await place.get(name, async source => {
    for await (const piece of source) pieces.push(piece)
  })
  return isThere ? Buffer.concat(pieces) : undefined
}
async function named(place: FieldPlace, version?: string): Promise<readonly string[]> {
  const names: string[] = []
  for await (const page of place.list(version)) names.push(...page.map(({ name }) => name))
  return names.toSorted()
}

for (const kind of ['folder', 'bucket'] as const) {
  test(`Q20 derived files of any size are put, read, listed by version and removed, and one that breaks off is not there (${kind})`, async t => {
    const { files, underWay } = await opened(t, kind)
    const place = forOwner(files)
    const sizes = [0, 1_000, 5 * 1024 * 1024, 11_000_000]
    const contents = new Map(sizes.map(size => [`one/${size}`, randomBytes(size)]))
    for (const [name, bytes] of contents) await place.put(name, inPieces(bytes))
    await place.put('other/0', inPieces(randomBytes(10)))
    for (const [name, bytes] of contents) assert.ok((await read(place, name))?.equals(bytes), name)
    assert.deepEqual(await named(place, 'one'), [...contents.keys()].toSorted())
    assert.equal((await named(place)).length, 5)
    assert.equal(await read(place, 'one/none'), undefined)
    async function* broken() {
      yield* inPieces(randomBytes(12_000_000))
      throw new Error('the line broke')
    }
    await assert.rejects(place.put('one/broken', broken()), /the line broke/)
    assert.equal(await read(place, 'one/broken'), undefined)
    assert.deepEqual(await underWay(), [])
    await place.remove(await named(place, 'one'))
    assert.deepEqual(await named(place), ['other/0'])
  })

  test(`Q20 F5 only the owner of a place puts derived files there and looks for them (${kind})`, async t => {
    const { files, another } = await opened(t, kind)
    assert.deepEqual(await named(forOwner(files)), [])
    assert.equal(await files.isOwned(), false, 'to look claims nothing')
    await forOwner(files).put('one/0', inPieces(randomBytes(10)))
    const other = forOwner((await another()).files)
    await assert.rejects(other.put('one/0', inPieces(randomBytes(10))), /belongs to another store/)
    assert.deepEqual(await named(other), [])
    assert.deepEqual(await named(forOwner(files)), ['one/0'])
  })

  test(`D5 F5 a place that has lost its contents is missed, although derived files are left there (${kind})`, async t => {
    const { files, repository } = await opened(t, kind)
    const content = await keepOne(files)
    const file = { bundle: 'ORIGINAL', description: null, mimeType: 'text/plain', readers: null }
    const bitstreams = [{ ...file, name: 'a.txt', ...content }]
    const item = { identifier: 'test/1', metadata: {}, collections: [], readers: [], fingerprint: '' }
    await repository.putItems([{ ...item, bitstreams }], commandEvent('item.add'), [])
    const place = forOwner(files)
    await place.put('one/0', inPieces(randomBytes(10)))
    await lose(files, content.sha256)
    const again = await openFiles(files.bucket ?? { kind: 'folder', folder: files.place }, repository)
    await assert.rejects(again.require(), /has no files|missing or empty/)
    await assert.rejects(
      forOwner(again).put('one/1', inPieces(randomBytes(10))),
      /has no files|missing or empty/,
    )
  })
}

const keepOne = (files: Files) => files.receive(inPieces(randomBytes(100)))

/** Removes a content as if the place were another one, with nothing in it but derived files. */
async function lose(files: Files, sha256: string): Promise<void> {
  await files.remove(sha256)
  if (files.bucket) return
  const { rm } = await import('node:fs/promises')
  for (const name of readdirSync(files.place))
    if (name !== 'fields') await rm(join(files.place, name), { recursive: true })
}
