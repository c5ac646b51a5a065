import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { openBucketOfUploads } from '../../../src/admin/uploads/bucket.ts'
import { openFolderOfUploads } from '../../../src/admin/uploads/folder.ts'
import { holdExclusively } from '../../../src/admin/uploads/lock.ts'
import {
  createUploads,
  discardUpload,
  newUploadId,
  type UploadPlace,
} from '../../../src/admin/uploads/place.ts'
import { toConfig } from '../../../src/config/config.ts'
import type { BucketPlace } from '../../../src/config/files-place.ts'
import { BucketClient } from '../../../src/files/bucket-client.ts'
import { repeats } from '../../support/scale.ts'
import { type BucketServer, bucketSettings, startBucket } from '../../support/service/bucket.ts'
import { temporaryFolder } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

const eperson = '6f1c2d2e-52a6-4a3c-8f0e-3f1f2f6b2d11'

/** @param open opens the place as one more node does */
interface Kind {
  readonly open: () => UploadPlace
  readonly rest: () => readonly string[]
  readonly bucket?: BucketServer
}

/** The two kinds of places, which keep the same promises. */
const kinds: Readonly<Record<'folder' | 'bucket', (t: TestContext) => Promise<Kind>>> = {
  folder: async t => {
    const folder = temporaryFolder(t)
    const options = { absent: '', local: temporaryFolder(t), patience: 60_000 }
    return { open: () => openFolderOfUploads(folder, options), rest: () => readdirSync(folder) }
  },
  bucket: async t => {
    const bucket = await startBucket(t)
    const { files } = toConfig(bucketSettings(bucket))
    assert.equal(files.kind, 'bucket')
    const options = { absent: '', local: temporaryFolder(t), patience: 60_000, spare: 0 }
    return {
      bucket,
      open: () => openBucketOfUploads(files as BucketPlace, () => {}, options),
      rest: () => bucket.keys('archive/uploads/'),
    }
  },
}

async function* one(bytes: Buffer) {
  yield bytes
}

async function added(place: UploadPlace, bytes = Buffer.from('abc')): Promise<string> {
  const id = newUploadId()
  await place.add(id, { eperson, size: bytes.length, metadata: {}, begun: new Date().toISOString() })
  await place.append(id, 0, one(bytes), eperson)
  return id
}

for (const [kind, start] of Object.entries(kinds)) {
  test(`UP1 an upload in a ${kind} that is removed while something is made of it is there as a whole, or not at all`, async t => {
    const { open, rest } = await start(t)
    const [place, other] = [open(), open()]
    const uploads = createUploads(place)
    for (let at = 0; at < repeats(kind === 'folder' ? 300 : 20, 3000); at++) {
      const id = await added(place)
      const take = () => uploads.take(id, eperson)
      const discard = () => discardUpload(other, id)
      const discarding = at % 2 ? undefined : discard()
      const [upload, removed] = await Promise.all([take(), discarding ?? discard()])
      assert.ok(!upload || removed !== 'removed')
      await (upload ? upload.release(true) : discard())
      // Both may have given way to each other.
      if (await place.find(id)) assert.equal(await discard(), 'removed')
    }
    assert.deepEqual([await place.list(), rest()], [[], []])
    assert.equal(await discardUpload(place, newUploadId()), 'gone')
  })

  test(`UP5 an upload in a ${kind} goes on at another node, in pieces of any size, and is the file that was sent`, async t => {
    const { open, rest } = await start(t)
    const nodes = [open(), open(), open()]
    const bytes = randomBytes(20_000_000)
    const id = newUploadId()
    const [first] = nodes
    assert.ok(first)
    await first.add(id, { eperson, size: bytes.length, metadata: {}, begun: new Date().toISOString() })
    let offset = 0
    for (const [at, size] of [1, 7, 300_000, 8_388_608, 2, 5_000_000, 100_000_000].entries()) {
      const node = nodes[at % 3]
      assert.ok(node)
      assert.equal((await node.find(id))?.offset, offset)
      const piece = bytes.subarray(offset, offset + size)
      const { end, settle } = await node.append(id, offset, one(piece), eperson)
      await settle()
      assert.equal(end, offset + piece.length)
      offset = end
    }
    assert.ok(rest().length < 6, `${rest()}`)
    const upload = await createUploads(first).take(id, eperson)
    assert.ok(upload)
    assert.ok(readFileSync(await upload.path()).equals(bytes))
    await upload.release(true)
    assert.deepEqual(rest(), [])
  })

  test(`UP5 one node at a time sends an upload in a ${kind}, and a silent one loses it`, async t => {
    const { open } = await start(t)
    const [place, other] = [open(), open()]
    const id = await added(place)
    const silence = 30_000
    let told = 0
    const onWanted = () => void told++
    const options = { silence, onWanted }
    const hold = await place.hold(`${id}/lock`, options)
    assert.ok(typeof hold === 'object')
    assert.deepEqual([await hold.isOurs(), told], [true, 0])
    assert.equal(await other.hold(`${id}/lock`, { silence, onWanted() {} }), 'held')
    await until('a beat', () => told > 0)
    await hold.release()
    const second = await other.hold(`${id}/lock`, options)
    assert.ok(typeof second === 'object')
    told = 0
    assert.deepEqual([await second.isOurs(), told], [true, 0])
    assert.equal(await place.hold(`${id}/lock`, { silence }), 'held')
    // Its program is silent: whatever it does later, it is not the holder any more.
    const third = await until(
      'a hold',
      () => place.hold(`${id}/lock`, { silence: 0, onWanted() {} }),
      one => typeof one === 'object',
    )
    assert.equal(await second.isOurs(), false)
    assert.ok(told > 0)
    assert.ok(typeof third === 'object')
    assert.equal(await third.isOurs(), true)
    for (const one of [second, third]) await one.release()
    assert.equal(await place.hold(`${newUploadId()}/lock`, { silence }), 'gone')
  })

  test(`UP5 bytes of an upload in a ${kind} that must not be kept go, and those before them stay`, async t => {
    const { open } = await start(t)
    const place = open()
    const bytes = randomBytes(9_000_000)
    const id = newUploadId()
    await place.add(id, { eperson, size: bytes.length, metadata: {}, begun: new Date().toISOString() })
    await (await place.append(id, 0, one(bytes.subarray(0, 1_000)), eperson)).settle()
    const refused = await place.append(id, 1_000, one(bytes.subarray(1_000)), eperson)
    await refused.undo()
    assert.equal((await place.find(id))?.offset, 1_000)
    await (await place.append(id, 1_000, one(bytes.subarray(1_000)), eperson)).settle()
    const upload = await createUploads(place).take(id, eperson)
    assert.ok(upload && readFileSync(await upload.path()).equals(bytes))
    await upload.release(false)
    assert.ok(await createUploads(place).take(id, eperson))
  })

  test(`UP2 an upload in a ${kind} expires, with what killed nodes left of it, unless something is made of it`, async t => {
    const { open, rest } = await start(t)
    const place = open()
    await added(place)
    const held = await added(place)
    assert.ok(await createUploads(place).take(held, eperson))
    await open().clear(3_600_000, Date.now())
    assert.equal((await place.list()).length, 2)
    await open().clear(3_600_000, Date.now() + 2 * 3_600_000)
    assert.deepEqual(
      (await place.list()).map(({ id }) => id),
      [held],
    )
    assert.ok(
      rest().every(name => name.includes(held)),
      `${rest()}`,
    )
  })
}

test('UP5 bytes that a killed node left in a bucket, or sent late, take nothing from an upload', async t => {
  const { open, bucket } = await kinds.bucket(t)
  const place = open()
  assert.ok(bucket)
  const bytes = randomBytes(1_000)
  const id = newUploadId()
  await place.add(id, { eperson, size: bytes.length, metadata: {}, begun: new Date().toISOString() })
  // A node is silent while it sends bytes 0 to 499, and another one takes over.
  const gate = Promise.withResolvers<void>()
  let isFirst = true
  bucket.line.fault = ({ method, path }) => {
    if (method !== 'PUT' || !isFirst || !/\/\d{15}\./.test(path)) return undefined
    isFirst = false
    return { waitsFor: gate.promise }
  }
  const late = place.append(id, 0, one(bytes.subarray(0, 500)), eperson)
  await until(
    'the request',
    () => isFirst,
    first => !first,
  )
  const other = open()
  await (await other.append(id, 0, one(bytes.subarray(0, 300)), eperson)).settle()
  await (await other.append(id, 300, one(bytes.subarray(300, 700)), eperson)).settle()
  gate.resolve()
  await (await late).settle()
  assert.equal((await place.find(id))?.offset, 700, 'what was acknowledged is there')
  await (await other.append(id, 700, one(bytes.subarray(700)), eperson)).settle()
  const upload = await createUploads(place).take(id, eperson)
  assert.ok(upload && readFileSync(await upload.path()).equals(bytes))
  assert.equal(bucket.keys(`archive/uploads/${id}/0`).length, 1, 'no leftovers')
})

test('UP5 a hold in a bucket that is released or lost stays so, though a beat of it was on its way', async t => {
  const { open, bucket } = await kinds.bucket(t)
  assert.ok(bucket)
  const place = open()
  const id = await added(place)
  const keys = () => bucket.keys(`archive/uploads/${id}/lock.`)
  let told = false
  const onWanted = () => {
    told = true
  }
  const options = { silence: 30_000, onWanted }
  const holding = async () => {
    const hold = await place.hold(`${id}/lock`, options)
    assert.ok(typeof hold === 'object')
    const gate = Promise.withResolvers<void>()
    bucket.line.fault = ({ method, path }) =>
      method === 'PUT' && keys().some(key => path.includes(key)) ? { waitsFor: gate.promise } : undefined
    const { length } = bucket.line.requests
    const beat = hold.isOurs()
    await until('a beat', () => bucket.line.requests.slice(length).some(({ method }) => method === 'PUT'))
    bucket.line.fault = () => undefined
    return { hold, gate, beat }
  }
  const first = await holding()
  const released = first.hold.release()
  // The requests of the release, if there are any, come before these.
  for (let at = 0; at < 5; at++) await place.find(id)
  first.gate.resolve()
  await Promise.all([first.beat, released])
  assert.deepEqual(keys(), [])
  const second = await holding()
  const thief = await until(
    'a hold',
    () => open().hold(`${id}/lock`, { silence: 0, onWanted() {} }),
    one => typeof one === 'object',
  )
  assert.ok(typeof thief === 'object')
  second.gate.resolve()
  await second.beat
  told = false
  assert.deepEqual([await second.hold.isOurs(), told], [false, true])
  for (const one of [second.hold, thief]) await one.release()
  assert.deepEqual(keys(), [])
})

test('UP5 a hold in a bucket outlives one that wants it, and ends with one that has taken it', async t => {
  const { open, bucket } = await kinds.bucket(t)
  assert.ok(bucket)
  const place = open()
  const id = await added(place)
  const hold = await place.hold(`${id}/held`, { silence: 30_000 })
  assert.ok(typeof hold === 'object')
  const client = new BucketClient(toConfig(bucketSettings(bucket)).files as BucketPlace, () => {})
  const other = `archive/uploads/${id}/held.2.x.y`
  await client.put(other, new Uint8Array())
  const passing = hold.isOurs()
  const { length } = bucket.line.requests
  await until('a look', () => bucket.line.requests.length > length)
  await client.remove([other])
  assert.equal(await passing, true)
  await client.put(other, new Uint8Array())
  assert.equal(await hold.isOurs(), false)
  await hold.release()
})

test('UP5 a hold in a bucket that fails on the way leaves nothing that keeps others out', async t => {
  const { open, bucket } = await kinds.bucket(t)
  assert.ok(bucket)
  const place = open()
  const id = await added(place)
  bucket.line.fault = ({ method }) => (method === 'HEAD' ? { status: 400 } : undefined)
  await assert.rejects(place.hold(`${id}/held`, { silence: 30_000 }))
  bucket.line.fault = () => undefined
  assert.deepEqual(bucket.keys(`archive/uploads/${id}/held`), [])
  assert.equal(await discardUpload(place, id), 'removed')
})

test('UP1 PR4 of all who want what an ended program held, one gets it', async t => {
  const folder = temporaryFolder(t)
  // No process has this number.
  const ended = JSON.stringify([hostname(), 2 ** 30, '1'])
  for (let at = 0; at < repeats(100, 1000); at++) {
    const path = join(folder, String(at))
    writeFileSync(`${path}.1`, ended)
    const all = await Promise.all(Array.from({ length: 8 }, () => holdExclusively(path)))
    assert.equal(all.filter(Boolean).length, 1, `round ${at}`)
  }
  assert.equal(readdirSync(folder).length, repeats(100, 1000))
})

test('UP1 nobody holds what someone else holds, however many want it and give it back', async t => {
  const folder = temporaryFolder(t)
  const path = join(folder, 'held')
  let [holders, times] = [0, 0]
  async function want(): Promise<void> {
    while (times < repeats(50, 2_000)) {
      const held = await holdExclusively(path)
      if (held === null) continue
      times++
      assert.equal(++holders, 1)
      await setImmediate()
      holders--
      rmSync(held)
    }
  }
  await Promise.all(Array.from({ length: 8 }, want))
  assert.deepEqual(readdirSync(folder), [])
})

test('UP1 a holder that was silent for too long holds it no more, but only for those who say so', async t => {
  const path = join(temporaryFolder(t), 'lock')
  const first = await holdExclusively(path)
  assert.ok(first)
  utimesSync(first, new Date(), new Date(Date.now() - 60_000))
  assert.equal(await holdExclusively(path), null)
  assert.equal(await holdExclusively(path, 90_000), null)
  const second = await holdExclusively(path, 30_000)
  assert.ok(second)
  assert.notEqual(second, first)
  assert.equal(await holdExclusively(path, 30_000), null)
})

test('UP1 a holder of which a failure of the machine has left no name holds nothing', async t => {
  const path = join(temporaryFolder(t), 'held')
  writeFileSync(`${path}.1`, Buffer.alloc(40))
  assert.ok(await holdExclusively(path))
  assert.equal(await holdExclusively(path), null)
})
