import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import type { TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { openStore } from '../../src/cli/store.ts'
import { toConfig } from '../../src/config/config.ts'
import { noStore } from '../../src/files/files.ts'
import { openFiles } from '../../src/files/open-files.ts'
import { type Opened, readWhole } from '../../src/files/opened.ts'
import { type Client, nobody } from '../../src/lib/fair-queue.ts'
import { atEnd } from '../support/service/at-end.ts'
import { type BucketServer, bucketSettings, startBucket } from '../support/service/bucket.ts'
import { testOn } from '../support/service/engines.ts'
import type { Seen } from '../support/service/faulty-line.ts'
import { environmentWithNode, peakMemory } from '../support/service/process.ts'
import { temporaryFolder } from '../support/service/service.ts'
import { until, within } from '../support/service/waiting.ts'

/** Starts a program that uploads without an end. @returns it, and a promise of its end */
function startUpload(t: TestContext, env: Readonly<Record<string, string>>, megabytes: number) {
  const program = new URL('../support/service/unfinished-upload.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [program, `${megabytes}`], {
    ...{ env: environmentWithNode(env), stdio: 'inherit' },
  })
  const ended = once(child, 'close')
  atEnd(t, async () => {
    child.kill('SIGKILL')
    await ended
  })
  return { child, ended, pid: child.pid ?? 0 }
}

testOn(
  'sqlite',
  'F5 what a killed program was uploading goes, and what a running one uploads stays',
  async t => {
    const bucket = await startBucket(t)
    const env = bucketSettings(bucket)
    const { child, ended } = startUpload(t, env, 12)
    await until('an upload', bucket.uploads, found => found.length === 1)
    const { files: place } = toConfig(env)
    const files = await openFiles(place, noStore)
    const inMinutes = (minutes: number) => files.clearIncoming(Date.now() + minutes * 60_000)
    assert.equal(await inMinutes(2), 0, 'its program runs')
    child.kill('SIGKILL')
    await ended
    assert.equal(await inMinutes(0), 0, 'a moment ago it may have run')
    assert.equal(await inMinutes(2), 1)
    assert.deepEqual(await bucket.uploads(), [])
  },
)

testOn('sqlite', 'F5 an upload of 200 MB takes no more memory than one of 20 MB', async t => {
  const bucket = await startBucket(t)
  const env = bucketSettings(bucket)
  const peak = async (megabytes: number) => {
    const parts = Math.floor((megabytes * 1_000_000 - 1) / (5 * 1024 * 1024))
    const last = new RegExp(`partNumber=${parts}&`)
    const before = bucket.line.count('PUT', last)
    const { child, ended, pid } = startUpload(t, env, megabytes)
    await until('its last full part', () => bucket.line.count('PUT', last) > before)
    const memory = peakMemory(pid)
    child.kill('SIGKILL')
    await ended
    return memory
  }
  const small = await peak(20)
  const large = await peak(200)
  assert.ok(large - small < 40, `${small} MB and ${large} MB`)
})

testOn('sqlite', 'F5 slow clients keep no connections to the bucket from others', async t => {
  const bucket = await startBucket(t)
  const files = await openFiles(toConfig(bucketSettings(bucket)).files, noStore)
  const bytes = randomBytes(3_000_000)
  const { sha256, size } = await files.receive(Readable.from([bytes]))
  const all = { start: 0, end: size - 1 }
  const downloads = () => bucket.line.count('GET', new RegExp(sha256))

  // Many more than there are connections begin at the same time, while the bucket has no time for them.
  const gate = Promise.withResolvers<void>()
  bucket.line.fault = () => ({ waitsFor: gate.promise })
  // Six seconds pass: longer than the limit for a connection, and shorter than the one for an answer.
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const opening = Promise.all(
    Array.from({ length: 400 }, async (): Promise<Opened> => {
      const file = await files.open(sha256, all)
      assert.ok(file)
      return file
    }),
  )
  await until('requests', downloads, count => count >= 128)
  t.mock.timers.tick(1_500)
  t.mock.timers.tick(4_500)
  gate.resolve()
  const slow = await within('all answers', opening, downloads)
  bucket.line.fault = () => undefined

  // Each client has read a little and stopped, for less time than a connection is kept for it.
  for (const file of slow) assert.equal((await file.read(Buffer.alloc(10), 0, 10, 0)).bytesRead, 10)
  const buffer = Buffer.alloc(size)
  const read = async (file: Opened | undefined, from: number) => {
    const { bytesRead } = (await file?.read(buffer, 0, size - from, from)) ?? { bytesRead: -1 }
    assert.ok(bytes.subarray(from).equals(buffer.subarray(0, bytesRead)))
  }
  const another = await within('another client', files.open(sha256, all), downloads)
  await within('its bytes', read(another, 0), downloads)
  assert.deepEqual(await files.receive(Readable.from([bytes.subarray(1)])), {
    ...{ sha256: createHash('sha256').update(bytes.subarray(1)).digest('hex'), size: size - 1 },
  })
  // Now their connections are given back, and each goes on where it was.
  t.mock.timers.tick(5_000)
  for (const file of slow.slice(0, 20)) await read(file, 10)
  for (const file of [...slow, another]) await file?.close()
})

testOn('sqlite', 'F5 uploads that send next to nothing keep no memory from others', async t => {
  const bucket = await startBucket(t)
  const files = await openFiles(toConfig(bucketSettings(bucket)).files, noStore)
  const end = Promise.withResolvers<void>()
  t.after(() => end.resolve())
  let later = 0
  const now = performance.now.bind(performance)
  t.mock.method(performance, 'now', () => now() + later)
  const clientIn = (network: string): Client => ({ ...nobody, network })
  let waiting = 0
  async function* slowly(at: number) {
    yield Buffer.alloc(70_000, at)
    waiting++
    await end.promise
    yield Buffer.alloc(10, at)
  }
  const outcomes: string[] = []
  // As many as there is memory for, of two networks, since neither gets all of it.
  const slow = Array.from({ length: 12 }, (_, at) =>
    files.receive(slowly(at), clientIn(`${at % 2}`)).then(
      () => outcomes.push('stored'),
      error => outcomes.push(error.constructor.name),
    ),
  )
  await until('slow uploads', () => waiting === 12)
  later = 60_000
  const bytes = randomBytes(6_000_000)
  const { size } = await within(
    'an upload',
    files.receive(Readable.from([bytes]), clientIn('2')),
    () => outcomes,
  )
  assert.equal(size, bytes.length)
  end.resolve()
  await Promise.all(slow)
  // The others go on, since nothing else has waited.
  assert.deepEqual(outcomes.toSorted(), ['Overloaded', ...Array.from({ length: 11 }, () => 'stored')])
})

testOn('sqlite', 'F5 uploads hold a bounded number of parts while the bucket takes none', async t => {
  const bucket = await startBucket(t)
  const files = await openFiles(toConfig(bucketSettings(bucket)).files, noStore)
  const gate = Promise.withResolvers<void>()
  t.after(() => gate.resolve())
  const isPart = ({ path }: Seen) => path.includes('partNumber=')
  bucket.line.fault = seen => (isPart(seen) ? { waitsFor: gate.promise } : undefined)
  // A part that waits for long is sent again.
  const sent = () => new Set(bucket.line.requests.filter(isPart).map(({ path }) => path)).size
  const contents = Array.from({ length: 6 }, () => randomBytes(22_000_000))
  const uploads = contents.map((bytes, at) =>
    files.receive(Readable.from([bytes]), { ...nobody, network: `${at}` }),
  )
  // Two of each, and eight more; each upload has five.
  await until('parts', sent, count => count >= 20)
  await files.receive(Readable.from([randomBytes(10)]))
  assert.equal(sent(), 20)
  gate.resolve()
  assert.deepEqual(
    (await Promise.all(uploads)).map(({ sha256 }) => sha256),
    contents.map(hashOf),
  )
})

testOn('sqlite', 'F5 downloads, one after the other, use one connection to the bucket', async t => {
  const bucket = await startBucket(t)
  const files = await openFiles(toConfig(bucketSettings(bucket)).files, noStore)
  const bytes = randomBytes(3_000_000)
  const { sha256, size } = await files.receive(Readable.from([bytes]))
  // The connection over which the upload was read back is free from the next turn on.
  await nextTurn()
  const before = bucket.line.connections()
  for (let round = 0; round < 5; round++) {
    const file = await files.open(sha256, { start: 0, end: size - 1 })
    assert.ok(file)
    assert.ok((await readWhole(file)).equals(bytes))
    await file.close()
    await nextTurn()
  }
  assert.equal(bucket.line.connections(), before)
})

/** Two nodes of one store with files in this bucket. */
async function nodesOf(t: TestContext, bucket: BucketServer) {
  const config = toConfig({ CARREL_DATA: temporaryFolder(t), ...bucketSettings(bucket) })
  const open = async () => {
    const storage = await openStore(config, { create: true })
    t.after(() => storage.close())
    const { repository } = storage
    let refused = 0
    const store = {
      ...repository,
      claimContent: async (sha256: string) => {
        const isClaimed = await repository.claimContent(sha256)
        if (!isClaimed) refused++
        return isClaimed
      },
    }
    return { files: await openFiles(config.files, store), refused: () => refused }
  }
  const nodes = { sweeping: await open(), uploading: await open() }
  assert.equal(await nodes.sweeping.files.claim(), true)
  return nodes
}
const hashOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
const inHours = (hours: number) => Date.now() + hours * 3_600_000 + 60_000

testOn('sqlite', 'F5 an upload on one node and a sweep on another never lose a content', async t => {
  const bucket = await startBucket(t)
  const { sweeping, uploading } = await nodesOf(t, bucket)
  const sweep = (hours: number) => sweeping.files.sweep(() => {}, inHours(hours))
  const isWhole = async (bytes: Buffer) => {
    const file = await uploading.files.open(hashOf(bytes))
    const found = file && (await readWhole(file))
    await file?.close()
    return found?.equals(bytes) ?? false
  }
  for (const size of [1_000, 6_000_000]) {
    const bytes = randomBytes(size)
    const send = () => uploading.files.receive(Readable.from([bytes]))
    const isContent = ({ path }: Seen) => path.includes(hashOf(bytes))
    const seen = (method: string) => bucket.line.count(method, new RegExp(hashOf(bytes)))
    await send()
    await sweep(1)
    // The sweep was first: the upload waits until the content is gone, and stores it again.
    const gate = Promise.withResolvers<void>()
    bucket.line.fault = one =>
      one.method === 'DELETE' && isContent(one) ? { waitsFor: gate.promise } : undefined
    const swept = sweep(2)
    await until('the deletion', () => seen('DELETE') === 1)
    const [heads, refused] = [seen('HEAD'), uploading.refused()]
    const sent = send()
    await until('an upload that waits', () => uploading.refused() > refused + 1)
    assert.equal(seen('HEAD'), heads, 'it does not look whether the content is there')
    gate.resolve()
    assert.equal((await swept).deleted, 1)
    await sent
    assert.ok(await isWhole(bytes))

    // The upload was first: the sweep leaves its content, which is there already.
    await sweep(1)
    const looked = Promise.withResolvers<void>()
    const before = seen('HEAD')
    bucket.line.fault = one =>
      one.method === 'HEAD' && isContent(one) ? { waitsFor: looked.promise } : undefined
    const again = send()
    await until('an upload that has claimed', () => seen('HEAD') > before)
    assert.equal((await sweep(2)).deleted, 0)
    looked.resolve()
    await again
    assert.ok(await isWhole(bytes))
  }

  bucket.line.fault = () => undefined
  for (let round = 0; round < 10; round++) {
    const bytes = randomBytes(500)
    const send = () => uploading.files.receive(Readable.from([bytes]))
    await send()
    await sweep(1)
    await Promise.all([sweep(2), send()])
    assert.ok(await isWhole(bytes), `round ${round}`)
  }
})

testOn('sqlite', 'F5 a sweep stops deleting before its marks expire, and another goes on', async t => {
  const bucket = await startBucket(t)
  const { sweeping } = await nodesOf(t, bucket)
  const contents = [randomBytes(10), randomBytes(10), randomBytes(10)]
  for (const bytes of contents) await sweeping.files.receive(Readable.from([bytes]))
  const sweep = (hours: number) => sweeping.files.sweep(() => {}, inHours(hours))
  assert.equal((await sweep(1)).setAside, 3)
  // Each deletion takes four minutes.
  let later = 0
  const now = performance.now.bind(performance)
  t.mock.method(performance, 'now', () => now() + later)
  bucket.line.fault = ({ method }) => {
    if (method === 'DELETE') later += 4 * 60_000
    return undefined
  }
  assert.equal((await sweep(2)).deleted, 2)
  assert.equal((await sweep(2)).deleted, 0, 'its mark may still hold')
  assert.equal((await sweep(3)).deleted, 1)
})

testOn(
  'sqlite',
  'F5 a request whose answer is lost and whose repetition finds nothing is not taken for failed',
  async t => {
    const bucket = await startBucket(t)
    const files = await openFiles(toConfig(bucketSettings(bucket)).files, noStore)
    const bytes = randomBytes(11_000_000)
    const kinds: readonly (readonly [string, (seen: Seen) => boolean])[] = [
      ['begin', ({ method, path }) => method === 'POST' && path.includes('?uploads')],
      ['part', ({ path }) => path.includes('partNumber=2')],
      ['complete', ({ method, path }) => method === 'POST' && path.includes('uploadId=')],
      ['copy', ({ headers }) => headers['x-amz-copy-source'] !== undefined],
      ['delete', ({ method, path }) => method === 'DELETE' && path.includes('/incoming/')],
      ['put', ({ method, path }) => method === 'PUT' && /[0-9a-f]{64}/.test(path)],
    ]
    for (const [at, [kind, isIt]] of kinds.entries()) {
      let lost = 0
      bucket.line.fault = seen => (isIt(seen) && lost++ === 0 ? { answerBreaksAfter: 0 } : undefined)
      const sent = kind === 'put' ? bytes.subarray(0, 1_000) : Buffer.concat([bytes, Buffer.from([at])])
      const { sha256, size } = await files.receive(Readable.from([sent]))
      assert.deepEqual([sha256, size], [hashOf(sent), sent.length], kind)
      assert.ok(lost > 0, kind)
      const file = await files.open(sha256)
      assert.ok(file && (await readWhole(file)).equals(sent), kind)
      await file.close()
    }
    assert.deepEqual(bucket.keys('archive/incoming/'), [])
    // The answer is lost each time, so the upload that it was made of is gone, and the object is there.
    bucket.line.fault = ({ method, path }) =>
      method === 'POST' && path.includes('uploadId=') ? { answerBreaksAfter: 0 } : undefined
    const { size } = await files.receive(Readable.from([bytes]))
    assert.equal(size, bytes.length)
    // Nothing was made: the upload is refused.
    bucket.line.fault = ({ method, path }) =>
      method === 'POST' && path.includes('uploadId=')
        ? { status: 404, body: '<Error><Code>NoSuchUpload</Code></Error>' }
        : undefined
    await assert.rejects(files.receive(Readable.from([randomBytes(6_000_000)])), /was removed meanwhile/)
  },
)
