import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { commandEvent, openStore } from '../../src/cli/store.ts'
import { toConfig } from '../../src/config/config.ts'
import type { Files } from '../../src/files/files.ts'
import { openFiles } from '../../src/files/open-files.ts'
import { readWhole } from '../../src/files/opened.ts'
import { OtherStore } from '../../src/files/owner.ts'
import { verify } from '../../src/files/verify.ts'
import type { Repository } from '../../src/items/statements/repository.ts'
import type { Content } from '../../src/model/items.ts'
import { bucketSettings, startBucket } from '../support/service/bucket.ts'
import { temporaryFolder } from '../support/service/service.ts'

/** What both kinds of files promise, on each of them (docs/decisions/0080). */
const kinds = ['folder', 'bucket'] as const

interface Opened {
  readonly files: Files
  readonly repository: Repository
  /** Opens the same place for another store. */
  readonly another: () => Promise<Files>
  /** Names of what is being written. */
  readonly underWay: () => Promise<readonly string[]>
}

async function opened(t: TestContext, kind: (typeof kinds)[number]): Promise<Opened> {
  const folder = temporaryFolder(t)
  const bucket = kind === 'bucket' ? await startBucket(t) : undefined
  const env = bucket ? bucketSettings(bucket, 'an/archive') : { CARREL_FILES: join(folder, 'contents') }
  async function open(name: string) {
    const config = toConfig({ CARREL_DATA: join(folder, name), ...env })
    const storage = await openStore(config, { create: true })
    t.after(() => storage.close())
    return { repository: storage.repository, files: await openFiles(config.files, storage.repository) }
  }
  return {
    ...(await open('store')),
    another: async () => (await open('another')).files,
    underWay: async () =>
      bucket
        ? [...(await bucket.uploads()).map(({ key }) => key), ...bucket.keys('an/archive/incoming/')]
        : readdirSync(join(folder, 'contents/incoming')),
  }
}

const contentOf = (bytes: Buffer): Content => ({
  sha256: createHash('sha256').update(bytes).digest('hex'),
  size: bytes.length,
})
async function* inPieces(bytes: Buffer, length = 300_000) {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}
async function read(files: Files, { sha256 }: Content): Promise<Buffer | undefined> {
  const file = await files.open(sha256)
  try {
    return file && (await readWhole(file))
  } finally {
    await file?.close()
  }
}
async function putItem(repository: Repository, content: Content): Promise<void> {
  const file = { bundle: 'ORIGINAL', description: null, mimeType: 'text/plain', readers: null }
  const bitstreams = [{ ...file, name: 'a.txt', ...content }]
  const item = { identifier: 'test/1', metadata: {}, collections: [], readers: [], fingerprint: '' }
  await repository.putItems([{ ...item, bitstreams }], commandEvent('item.add'), [])
}

for (const kind of kinds) {
  test(`F5 contents of any size are stored once and read whole or in part (${kind})`, async t => {
    const { files, underWay } = await opened(t, kind)
    const part = 5 * 1024 * 1024
    for (const size of [0, 1, 70_000, part, part + 1, 2 * part + 777]) {
      const bytes = randomBytes(size)
      const content = contentOf(bytes)
      assert.equal(await files.holds(content), false)
      assert.deepEqual(await files.receive(inPieces(bytes)), content)
      assert.deepEqual(await files.receive(inPieces(bytes)), content, 'it may come again')
      assert.equal(await files.holds(content), true)
      assert.ok((await read(files, content))?.equals(bytes), `${size} bytes`)
    }
    const bytes = randomBytes(200_000)
    const path = join(temporaryFolder(t), 'source')
    writeFileSync(path, bytes)
    assert.deepEqual(await files.keep(path), contentOf(bytes))
    const file = await files.open(contentOf(bytes).sha256, { start: 5, end: 9 })
    assert.equal(file?.size, bytes.length)
    const buffer = Buffer.alloc(100)
    for (const [at, wanted, got] of [
      [5, 5, 5],
      [150_000, 100, 100],
      [10, 100, 100],
      [199_990, 100, 10],
      [200_000, 1, 0],
    ] as const) {
      assert.equal((await file?.read(buffer, 0, wanted, at))?.bytesRead, got)
      assert.deepEqual(buffer.subarray(0, got), bytes.subarray(at, at + got))
    }
    await file?.close()
    assert.equal(await files.open('0'.repeat(64)), undefined)
    assert.deepEqual(await underWay(), [])
  })

  test(`F5 a source that breaks off leaves nothing (${kind})`, async t => {
    const { files, underWay } = await opened(t, kind)
    async function* broken(size: number) {
      yield* inPieces(randomBytes(size))
      throw new Error('the line broke')
    }
    for (const size of [1_000, 3_000_000, 12_000_000])
      await assert.rejects(files.receive(broken(size)), /the line broke/)
    assert.deepEqual(await underWay(), [])
  })

  test(`F5 a sweep deletes what no bitstream has, an hour after it was found (${kind})`, async t => {
    const { files, repository, another } = await opened(t, kind)
    assert.equal(await files.claim(), true)
    const [used, unused] = [randomBytes(6_000_000), randomBytes(100)]
    await putItem(repository, await files.receive(inPieces(used)))
    await files.receive(inPieces(unused))
    const inHours = (hours: number) => files.sweep(() => {}, Date.now() + hours * 3_600_000 + 60_000)
    assert.deepEqual(await inHours(0), { setAside: 0, broughtBack: 0, deleted: 0, leftovers: 0 })
    assert.deepEqual(await inHours(1), { setAside: 1, broughtBack: 0, deleted: 0, leftovers: 0 })
    assert.ok((await read(files, contentOf(unused)))?.equals(unused), 'it is still there')
    assert.equal((await inHours(2)).deleted, 1)
    assert.equal(await read(files, contentOf(unused)), undefined)
    assert.ok((await read(files, contentOf(used)))?.equals(used))

    const other = await another()
    assert.equal(await other.claim(), false, 'the place belongs to a store')
    await assert.rejects(other.sweep(), OtherStore)
    assert.ok((await read(files, contentOf(used)))?.equals(used))
  })

  test(`F5 verify finds contents that are missing or damaged (${kind})`, async t => {
    const { files, repository } = await opened(t, kind)
    const content = await files.receive(inPieces(randomBytes(1_000)))
    await putItem(repository, content)
    const found = await verify(files, repository)
    assert.deepEqual([found.checked, found.missing, found.damaged], [1, [], []])
    await putItem(repository, { sha256: '1'.repeat(64), size: 5 })
    assert.equal((await verify(files, repository)).missing.length, 1)
  })
}
