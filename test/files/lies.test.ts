import assert from 'node:assert/strict'
import { createHash, randomBytes, randomInt } from 'node:crypto'
import { rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { TestContext } from 'node:test'
import { toConfig } from '../../src/config/config.ts'
import { noStore, storeToBe } from '../../src/files/files.ts'
import { openFiles } from '../../src/files/open-files.ts'
import { readWhole } from '../../src/files/opened.ts'
import { describeFault } from '../../src/http/answer-problems.ts'
import { WrongAnswer } from '../../src/lib/errors.ts'
import { newItem, upload } from '../support/data/editing.ts'
import { contentOf, everybody, putItem } from '../support/data/repository.ts'
import { bucketSettings, startBucket } from '../support/service/bucket.ts'
import { testOn } from '../support/service/engines.ts'
import type { Fault, Seen } from '../support/service/faulty-line.ts'
import {
  fewer,
  ignoresRange,
  isCompletion,
  isContentRead,
  isCopy,
  isPut,
  keeps,
  nothing,
  other,
  shifts,
  something,
  withBody,
  withHeaders,
  withoutTotal,
} from '../support/service/lies.ts'
import { carrel } from '../support/service/process.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'

/** Files in a bucket that lies: what its answers say decides, and what it keeps is compared. */
const content = randomBytes(1_500_000)
const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const sha256 = hashOf(content)

async function start(t: TestContext) {
  const bucket = await startBucket(t)
  const env = bucketSettings(bucket)
  const service = await startService(t, { env })
  await service.addEperson('root@example.org', { admin: true })
  const admin = service.client()
  await admin.login('root@example.org')
  const item = await putItem(service, 'test/1', everybody, [{ name: 'a.bin', content }])
  const path = item.bitstreams.map(contentOf)[0] ?? ''
  const get = (headers: Readonly<Record<string, string>> = {}, method = 'GET') =>
    fetch(service.address + path, { method, headers })
  /** Lets all reads of contents lie, or those from one on. */
  const lie = (fault: Fault | ((seen: Seen, count: number) => Fault | undefined)) => {
    let count = 0
    bucket.line.fault = seen =>
      isContentRead(seen) ? (typeof fault === 'function' ? fault(seen, count++) : fault) : undefined
  }
  const files = await openFiles(toConfig(env).files, noStore)
  return { bucket, env, service, admin, get, lie, files }
}
const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer())
/** Reads a body until it ends or breaks. */
async function readAll(response: Promise<Response>): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const chunks: Uint8Array[] = []
  try {
    for await (const chunk of (await response).body ?? []) chunks.push(chunk)
    return { bytes: Buffer.concat(chunks), isWhole: true }
  } catch {
    return { bytes: Buffer.concat(chunks), isWhole: false }
  }
}
async function assertUnavailable(response: Response, says = ''): Promise<void> {
  const body = await response.text()
  assert.equal(response.status, 503, `${says}: ${body.slice(0, 300)}`)
  assert.match(body, /files-unavailable/)
}

testOn(
  'sqlite',
  'F5 a bucket that ignores ranges, or leaves the size open, gives the bytes asked for',
  async t => {
    const { get, lie } = await start(t)
    const etag = `"${sha256}"`
    for (const [name, fault] of [
      ['ignores ranges', ignoresRange()],
      ['leaves the size open', withoutTotal],
      ['other tags', withHeaders({ etag: '"0"' })],
      ['no size', withHeaders({ 'content-length': undefined, 'transfer-encoding': 'chunked' })],
    ] as const) {
      lie(fault)
      assert.ok((await bytesOf(await get())).equals(content), name)
      for (const [start, end] of [
        [0, 0],
        [700_000, 700_099],
        [1_000_000, 1_499_999],
        [1_499_999, 1_499_999],
      ] as const)
        for (const more of [{}, { 'if-range': etag }]) {
          const part = await get({ range: `bytes=${start}-${end}`, ...more })
          assert.equal(part.status, 206, name)
          assert.equal(part.headers.get('content-range'), `bytes ${start}-${end}/${content.length}`)
          assert.ok(
            (await bytesOf(part)).equals(content.subarray(start, end + 1)),
            `${name}: ${start}-${end}`,
          )
        }
      const several = (await bytesOf(await get({ range: 'bytes=1000-1999,900000-999999' }))).toString(
        'latin1',
      )
      for (const [start, end] of [
        [1_000, 2_000],
        [900_000, 1_000_000],
      ] as const)
        assert.ok(several.includes(content.subarray(start, end).toString('latin1')), `${name}: ${start}`)
      const head = await get({}, 'HEAD')
      assert.deepEqual([head.status, head.headers.get('content-length')], [200, `${content.length}`])
    }
  },
)

testOn(
  'sqlite',
  'F5 an answer with other bytes, another size or another body is 503, never wrong bytes',
  async t => {
    const { bucket, get, lie, files } = await start(t)
    const { length } = content
    for (const [name, fault] of [
      ['another range', shifts('bytes=0-99')],
      ['one that ends early', shifts('bytes=700000-700050')],
      ['one that begins late', shifts('bytes=700001-700099')],
      ['no range', withHeaders({ 'content-range': undefined })],
      ['a senseless range', withHeaders({ 'content-range': 'bytes 700099-700000/1500000' })],
      ['another size', withHeaders({ 'content-range': `bytes 700000-700099/${length + 1}` })],
      [
        'a range that is shorter than the body',
        withHeaders({ 'content-range': `bytes 700000-700098/${length}` }),
      ],
      ['compressed', withHeaders({ 'content-encoding': 'gzip' })],
      ['a page', something(200)],
      ['a page with 206', something(206)],
      ['a page with 204', { status: 204 }],
      ['an end before the range', { status: 416, body: '' }],
    ] as const) {
      lie(fault)
      await assertUnavailable(await get({ range: 'bytes=700000-700099' }), name)
    }
    lie(shifts('bytes=0-99'))
    await assertUnavailable(await get({ range: 'bytes=700000-700099,800000-800099' }))
    await assertUnavailable(await get())
    await assert.rejects(files.open(sha256, { start: 500, end: 599 }), error => {
      assert.ok(error instanceof WrongAnswer)
      assert.match(JSON.stringify(describeFault(error)), /the answer has the bytes 0-99 instead of 500-599/)
      return true
    })

    // The object itself has another size.
    lie(() => undefined)
    const key = bucket.keys().find(one => one.endsWith(sha256)) ?? ''
    truncateSync(bucket.fileOf(key), 2_576)
    await assertUnavailable(await get(), 'the whole of a short object')
    await assertUnavailable(
      await get({}, 'HEAD').then(
        async head => new Response(head.status === 503 ? 'files-unavailable' : '', { status: head.status }),
      ),
    )
    await assertUnavailable(await get({ range: 'bytes=0-99' }), 'its beginning')
    await assertUnavailable(await get({ range: 'bytes=700000-700099' }), 'bytes after its end')
  },
)

testOn(
  'sqlite',
  'F5 a download that goes on after a break has the right bytes, or breaks off, too',
  async t => {
    const { get, lie } = await start(t)
    const broken = (fault: Fault) => (_: Seen, count: number) =>
      count === 0 ? { answerBreaksAfter: randomInt(1_000, content.length) } : fault
    for (const [name, fault, isRight] of [
      ['ignores ranges', ignoresRange(), true],
      ['leaves the size open', withoutTotal, true],
      ['another range', shifts('bytes=0-99'), false],
      ['a page', something(200), false],
      ['a page of the size', something(206, content.length), false],
      ['another size', withHeaders({ 'content-range': 'bytes 0-9/10' }), false],
    ] as const)
      for (let round = 0; round < 3; round++) {
        lie(broken(fault))
        const { bytes, isWhole } = await readAll(get())
        assert.ok(content.subarray(0, bytes.length).equals(bytes), `${name}: ${bytes.length} bytes`)
        // A download whose only break comes behind its last byte is whole.
        assert.equal(isWhole, bytes.length === content.length, name)
        if (isRight) assert.ok(isWhole, name)
        else assert.ok(!isWhole, name)
      }
    // Each answer breaks off, at any byte, the repeated one, too.
    for (let round = 0; round < 5; round++) {
      lie(() =>
        round % 2 === 0
          ? ignoresRange(randomInt(1, content.length))
          : { answerBreaksAfter: randomInt(1, 300_000) },
      )
      const { bytes, isWhole } = await readAll(get())
      assert.ok(content.subarray(0, bytes.length).equals(bytes), `${bytes.length} bytes`)
      assert.equal(isWhole, bytes.length === content.length)
    }
    // It ends, too, if no answer brings further bytes.
    let asked = 0
    lie(() => {
      asked++
      return ignoresRange(400_000)
    })
    const { bytes, isWhole } = await readAll(get())
    assert.equal(isWhole, false)
    assert.ok(content.subarray(0, bytes.length).equals(bytes))
    assert.ok(asked <= 8, `${asked} requests`)
  },
)

testOn('sqlite', 'F5 a bucket that ignores ranges is read in vain for a bounded number of bytes', async t => {
  const bucket = await startBucket(t)
  const files = await openFiles(toConfig(bucketSettings(bucket)).files, noStore)
  const bytes = Buffer.alloc(70 * 1024 ** 2, 'carrel')
  const { sha256, size } = await files.receive(Readable.from([bytes]))
  bucket.line.fault = seen => (isContentRead(seen) ? { ...ignoresRange(0) } : undefined)
  await assert.rejects(files.open(sha256, { start: size - 10, end: size - 1 }), /ignores ranges/)
  // Many ranges of one download share the bound.
  bucket.line.fault = seen => (isContentRead(seen) ? ignoresRange() : undefined)
  const file = await files.open(sha256, { start: 30 * 1024 ** 2, end: 30 * 1024 ** 2 + 9 })
  assert.ok(file)
  const read = (position: number) => {
    file.expect(position + 9)
    return file.read(Buffer.alloc(10), 0, 10, position)
  }
  await read(30 * 1024 ** 2)
  await read(31 * 1024 ** 2)
  await assert.rejects(read(32 * 1024 ** 2), /ignores ranges/)
  await file.close()
})

testOn(
  'sqlite',
  'F5 an upload of which the bucket keeps something else is not acknowledged, and can be repeated',
  async t => {
    const { bucket, admin } = await start(t)
    const { bundle } = await newItem(admin)
    const small = randomBytes(30_000)
    const large = randomBytes(11_000_000)
    const others = () => bucket.keys().filter(key => !key.endsWith(sha256) && !key.endsWith('/store'))
    const swapped = (bytes: Buffer) => {
      const part = 5 * 1024 ** 2
      return Buffer.concat([
        bytes.subarray(part, 2 * part),
        bytes.subarray(0, part),
        bytes.subarray(2 * part),
      ])
    }
    for (const [name, bytes, when, change] of [
      ['fewer bytes of a PUT', small, isPut, fewer],
      ['other bytes of a PUT', small, isPut, other],
      ['nothing of a PUT', small, isPut, nothing],
      ['fewer bytes of a copy', large, isCopy, fewer],
      ['other bytes of a copy', large, isCopy, other],
      ['nothing of a copy', large, isCopy, nothing],
      ['fewer bytes of parts', large, isCompletion, fewer],
      ['other bytes of parts', large, isCompletion, other],
      ['parts in another order', large, isCompletion, swapped],
      ['nothing of parts', large, isCompletion, nothing],
    ] as const) {
      const lie = keeps(bucket, change)
      bucket.line.fault = seen => (when(seen) && !seen.path.includes('store') ? lie(seen) : undefined)
      const refused = await upload(admin, bundle, { name, content: bytes })
      assert.equal(refused.status, 503, name)
      assert.match(JSON.stringify(refused.body), /files-unavailable/, name)
      assert.deepEqual(others(), [], name)
      assert.deepEqual(await bucket.uploads(), [], name)
    }
    for (const bytes of [small, large]) {
      bucket.line.fault = () => undefined
      const kept = await upload(admin, bundle, { name: `${bytes.length}`, content: bytes })
      assert.equal(kept.status, 201)
      const own = await admin.get(`/api/core/bitstreams/${kept.body.uuid}/content`)
      assert.ok((await bytesOf(own)).equals(bytes))
    }
  },
)

testOn(
  'sqlite',
  'F5 a content that was not read again after it was written is written again by the next upload',
  async t => {
    const { bucket, admin } = await start(t)
    const { bundle } = await newItem(admin)
    const bytes = randomBytes(30_000)
    const lie = keeps(bucket, other)
    // The bucket keeps other bytes, and is away before they are read, and when they would be removed.
    bucket.line.fault = seen =>
      isPut(seen) && !seen.path.includes('store')
        ? lie(seen)
        : isContentRead(seen) || seen.method === 'DELETE'
          ? { status: 403 }
          : undefined
    assert.equal((await upload(admin, bundle, { name: 'a', content: bytes })).status, 503)
    assert.equal(bucket.keys().filter(key => key.endsWith(hashOf(bytes))).length, 1)
    bucket.line.fault = () => undefined
    const kept = await upload(admin, bundle, { name: 'a', content: bytes })
    assert.equal(kept.status, 201)
    const back = await admin.get(`/api/core/bitstreams/${kept.body.uuid}/content`)
    assert.ok((await bytesOf(back)).equals(bytes))
    // What a bitstream has was read when it was stored.
    bucket.line.requests.length = 0
    assert.equal((await upload(admin, bundle, { name: 'b', content: bytes })).status, 201)
    assert.equal(bucket.line.requests.filter(isPut).length, 0)
  },
)

testOn('sqlite', 'F5 an upload with a wrong answer takes nothing from another of its content', async t => {
  const bucket = await startBucket(t)
  const files = await openFiles(toConfig(bucketSettings(bucket)).files, storeToBe)
  for (const size of [30_000, 6_000_000]) {
    const bytes = randomBytes(size)
    const receive = () => files.receive(Readable.from([bytes]))
    const both = Promise.withResolvers<void>()
    let [writes, reads] = [0, 0]
    bucket.line.fault = seen => {
      if (isContentRead(seen)) return ++reads === 2 ? shifts('bytes=1-') : undefined
      if (!seen.path.includes(hashOf(bytes)) || seen.method !== 'PUT') return undefined
      if (++writes === 2) both.resolve()
      return { waitsFor: both.promise }
    }
    const ended = await Promise.allSettled([receive(), receive()])
    assert.deepEqual(ended.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    const file = await files.open(hashOf(bytes))
    assert.ok(file && (await readWhole(file)).equals(bytes))
    await receive()
    assert.equal(writes, 2)
  }
})

testOn(
  'sqlite',
  'F5 a SHA-256 that the bucket computes of a copy is compared, and spares reading it',
  async t => {
    const bucket = await startBucket(t)
    const files = await openFiles(toConfig(bucketSettings(bucket)).files, noStore)
    const send = async (computed: string | undefined) => {
      const bytes = randomBytes(6_000_000)
      const digest = computed ?? createHash('sha256').update(bytes).digest('base64')
      bucket.line.requests.length = 0
      bucket.line.fault = seen => {
        if (!isCopy(seen)) return undefined
        assert.equal(seen.headers['x-amz-checksum-algorithm'], 'SHA256')
        return withBody(text => text.replace('<ETag>', `<ChecksumSHA256>${digest}</ChecksumSHA256><ETag>`))
      }
      return (await files.receive(Readable.from([bytes]))).sha256 === hashOf(bytes)
    }
    assert.ok(await send(undefined))
    assert.equal(bucket.line.requests.filter(isContentRead).length, 0)
    await assert.rejects(
      send(createHash('sha256').update('another').digest('base64')),
      /a copy with the SHA-256/,
    )
    // One that is made of the digests of parts says nothing of the whole.
    assert.ok(await send(`${createHash('sha256').update('another').digest('base64')}-2`))
    assert.equal(bucket.line.requests.filter(isContentRead).length, 1)
    bucket.line.fault = seen => (isCopy(seen) ? { status: 400 } : undefined)
    await assert.rejects(files.receive(Readable.from([randomBytes(6_000_000)])))
    assert.ok(await send(undefined))
    // A server that refuses to compute one is asked to copy without it, from then on.
    bucket.line.requests.length = 0
    bucket.line.fault = ({ headers }) =>
      headers['x-amz-checksum-algorithm'] === undefined
        ? undefined
        : { status: 501, body: '<Error><Code>NotImplemented</Code><Message>no</Message></Error>' }
    for (let round = 0; round < 2; round++) await files.receive(Readable.from([randomBytes(6_000_000)]))
    assert.equal(bucket.line.requests.filter(isCopy).length, 3)
  },
)

testOn(
  'sqlite',
  'F5 an answer to a part of an upload that lacks its tag or id is 503, never an upload',
  async t => {
    const bucket = await startBucket(t)
    const files = await openFiles(toConfig(bucketSettings(bucket)).files, noStore)
    for (const [name, when] of [
      ['no id', ({ path }: Seen) => /[?&]uploads/.test(path)],
      ['no tag', ({ path }: Seen) => path.includes('partNumber=')],
      ['a page after the parts', isCompletion],
      ['a page after the copy', isCopy],
    ] as const) {
      bucket.line.fault = seen => (when(seen) ? something(200) : undefined)
      const bytes = randomBytes(6_000_000)
      await assert.rejects(files.receive(Readable.from([bytes])), /s3:|not there/, name)
      bucket.line.fault = () => undefined
      assert.equal(await files.open(hashOf(bytes)), undefined, name)
    }
    // Tags of whole objects mean nothing.
    bucket.line.fault = seen => (isPut(seen) || isCopy(seen) ? withHeaders({ etag: '"wrong"' }) : undefined)
    const bytes = randomBytes(6_000_000)
    const file = await files.open((await files.receive(Readable.from([bytes]))).sha256)
    assert.ok(file && (await readWhole(file)).equals(bytes))
  },
)

testOn(
  'sqlite',
  'F5 every list ends: with an error where a page repeats, says not where it goes on, or is none',
  async t => {
    const bucket = await startBucket(t)
    const env = bucketSettings(bucket)
    const folder = temporaryFolder(t)
    const files = await openFiles(toConfig({ ...env, CARREL_DATA: folder }).files, {
      ...noStore,
      storeId: async () => 'one',
    })
    assert.equal(await files.claim(), true)
    for (let at = 0; at < 3; at++) await files.receive(Readable.from([randomBytes(10)]))
    const isList = ({ path }: Seen) => /[?&]list-type=2/.test(path)
    const isListOfUploads = ({ path }: Seen) => /[?&]uploads/.test(path)
    const page = (name = '', marker: string | number = '') => ({
      status: 200,
      headers: { 'content-type': 'application/xml' },
      body: `<List><Name>carrel</Name><IsTruncated>true</IsTruncated>${name && `<${name}>${marker}</${name}>`}</List>`,
    })
    let count = 0
    for (const [name, when, fault, says] of [
      ['no marker', isList, () => page(), /not where/],
      ['one marker', isList, () => page('NextContinuationToken', 'a'), /pages repeat/],
      ['new markers', isList, () => page('NextContinuationToken', count++), /pages repeat/],
      ['a page', isList, () => something(200), /no list|can't be used/],
      ['uploads without a marker', isListOfUploads, () => page(), /not where/],
      ['uploads with one marker', isListOfUploads, () => page('NextKeyMarker', 'a'), /pages repeat/],
      ['uploads with new markers', isListOfUploads, () => page('NextKeyMarker', count++), /pages repeat/],
      ['a page for uploads', isListOfUploads, () => something(200), /no list|can't be used/],
    ] as const) {
      bucket.line.fault = seen => (when(seen) && seen.method === 'GET' ? fault() : undefined)
      bucket.line.requests.length = 0
      await assert.rejects(files.sweep(), says, name)
      assert.ok(bucket.line.requests.length < 60, `${name}: ${bucket.line.requests.length} requests`)
    }
  },
)

testOn('sqlite', 'F5 files clean goes on where the bucket can’t list uploads, and says so', async t => {
  const { bucket, env, service } = await start(t)
  const body = '<Error><Code>NotImplemented</Code><Message>no</Message></Error>'
  bucket.line.fault = ({ path }) => (/[?&]uploads/.test(path) ? { status: 501, body } : undefined)
  const cleaned = await carrel(service.dataFolder, ['files', 'clean'], { env })
  assert.equal(cleaned.code, 0, cleaned.stderr)
  assert.match(cleaned.stdout, /0 set aside.*\n.*the server can't list multipart uploads/)
  const files = await openFiles(toConfig(env).files, {
    ...noStore,
    storeId: service.storage.repository.storeId,
    sweepContents: async names => ({
      deleted: names.filter(name => name !== sha256),
      setAside: 0,
      broughtBack: 0,
    }),
  })
  await files.receive(Readable.from([randomBytes(10)]))
  const report = await files.sweep()
  assert.equal(report.deleted, 1)
  assert.match(report.leftOut ?? '', /a rule of the bucket/)
})

for (const direction of ['--to', '--from'] as const)
  testOn(
    'sqlite',
    `F8 files move ${direction} a bucket that lies removes nothing, names what is wrong, and succeeds later`,
    async t => {
      const { bucket, env, service } = await start(t)
      const folder = join(temporaryFolder(t), 'files')
      const move = (...args: readonly string[]) =>
        carrel(service.dataFolder, ['files', 'move', ...args, '--json'], { env })
      const other_ = keeps(bucket, other)
      if (direction === '--from') {
        // The bucket of the service is the new place: the old one has the content, and the new one lost it.
        assert.equal((await move('--to', folder)).code, 0)
        rmSync(bucket.fileOf(bucket.keys().find(key => key.endsWith(sha256)) ?? ''))
        bucket.line.fault = seen => (isPut(seen) || isCopy(seen) ? other_(seen) : undefined)
        const lied = await move('--from', folder, '--remove')
        assert.equal(lied.code, 1, lied.stdout + lied.stderr)
        bucket.line.fault = () => undefined
        const moved = await move('--from', folder, '--remove')
        assert.equal(moved.code, 0, moved.stdout + moved.stderr)
        assert.deepEqual([JSON.parse(moved.stdout).copied.count, JSON.parse(moved.stdout).removed], [1, 1])
        return
      }
      bucket.line.fault = seen => (isContentRead(seen) ? shifts('bytes=1-') : undefined)
      const lied = await move('--to', folder)
      assert.equal(lied.code, 1, lied.stdout + lied.stderr)
      assert.match(lied.stdout, /instead of/)
      const verified = await carrel(service.dataFolder, ['files', 'verify'], { env })
      assert.match(verified.stdout, /^damaged: .* can't be read: .* instead of 0-/)
      bucket.line.fault = seen => (isContentRead(seen) ? ignoresRange() : undefined)
      const moved = await move('--to', folder)
      assert.equal(moved.code, 0, moved.stdout + moved.stderr)
      assert.equal(JSON.parse(moved.stdout).copied.count, 1)
    },
  )

testOn(
  'sqlite',
  'D8 carrel doctor writes, copies, reads and lists a probe, names each lie, and removes it',
  async t => {
    const { bucket, env, service } = await start(t)
    const doctor = async () => {
      const { stdout, stderr } = await carrel(service.dataFolder, ['doctor', '--json'], { env })
      assert.ok(stdout.startsWith('['), stderr)
      const findings = JSON.parse(stdout) as { level: string; about: string; what: string }[]
      return findings.filter(({ what }) => what.includes('the bucket s3:'))
    }
    assert.deepEqual(
      (await doctor()).map(({ level, what }) => [level, what]),
      [['ok', 'the bucket s3://carrel/archive answers, and keeps and returns what it is sent']],
    )
    const isIncoming = ({ path }: Seen) => path.includes('/incoming/')
    const isPartOfCopy = (seen: Seen) => isCopy(seen) && seen.path.includes('partNumber=')
    const notKnown = { status: 501, body: '<Error><Code>NotImplemented</Code><Message>no</Message></Error>' }
    const lie = keeps(bucket, other)
    for (const [fault, level, says] of [
      [
        (seen: Seen) => (isPut(seen) ? lie(seen) : undefined),
        'error',
        /an object that was put: .*other bytes/,
      ],
      [(seen: Seen) => (isCompletion(seen) ? lie(seen) : undefined), 'error', /sent in parts: .*other bytes/],
      [
        (seen: Seen) => (isCopy(seen) && !isPartOfCopy(seen) ? keeps(bucket, fewer)(seen) : undefined),
        'error',
        /a copy: .*it was kept with \d+ bytes instead of/,
      ],
      [(seen: Seen) => (isPartOfCopy(seen) ? notKnown : undefined), 'note', /a copy in parts: .*501/],
      [
        (seen: Seen) => (isIncoming(seen) && seen.headers.range ? ignoresRange() : undefined),
        'error',
        /a part of an object: it ignores the range/,
      ],
      [
        ({ path }: Seen) => (/[?&]uploads/.test(path) && !path.includes('/incoming/') ? notKnown : undefined),
        'note',
        /the list of uploads: /,
      ],
      [
        (seen: Seen) => (seen.method === 'DELETE' ? { status: 204 } : undefined),
        'error',
        /an object that was deleted: .* is still there/,
      ],
    ] as const) {
      bucket.line.fault = fault
      const found = await doctor()
      assert.ok(
        found.some(one => one.level === level && says.test(one.what)),
        `${says}: ${JSON.stringify(found)}`,
      )
      if (!/deleted/.test(says.source)) assert.deepEqual(bucket.keys('archive/incoming/'), [], `${says}`)
      assert.deepEqual(await bucket.uploads(), [])
    }
  },
)

testOn('sqlite', 'D8 a backup that a bucket keeps wrongly is refused, and a later one is whole', async t => {
  const bucket = await startBucket(t, 'backups', 'carrel')
  const env = { ...bucketSettings(bucket), CARREL_FILES: 's3://carrel/archive' }
  const service = await startService(t, { env, engine: 'sqlite' })
  await putItem(service, 'test/1', everybody, [{ name: 'a.bin', content }])
  const run = (...args: readonly string[]) =>
    carrel(service.dataFolder, ['backup', ...args, 's3://backups/of/carrel'], { env })
  const lie = keeps(bucket, other)
  for (const [name, fault] of [
    [
      'a list',
      ({ path }: Seen) =>
        /list-type=2/.test(path) && path.includes('contents') ? something(200) : undefined,
    ],
    ['a file', (seen: Seen) => (isPut(seen) && seen.path.includes('/contents/') ? lie(seen) : undefined)],
    [
      'a manifest',
      (seen: Seen) =>
        isPut(seen) && seen.path.includes('/backups/') && seen.path.includes('.json') ? lie(seen) : undefined,
    ],
  ] as const) {
    bucket.line.fault = fault
    const lied = await run()
    assert.equal(lied.code, 1, `${name}: ${lied.stdout}${lied.stderr}`)
    assert.doesNotMatch(lied.stderr, /\n\s+at |is locked/, name)
  }
  bucket.line.fault = () => undefined
  assert.deepEqual(bucket.keys('of/carrel/backups/'), [], 'a manifest that was kept wrongly is no backup')
  const whole = await run()
  assert.equal(whole.code, 0, whole.stdout + whole.stderr)
  const verified = await run('verify')
  assert.match(verified.stdout, /: intact, 1 file/)
  bucket.line.fault = seen => (isContentRead(seen) ? shifts('bytes=1-') : undefined)
  const damaged = await run('verify')
  assert.equal(damaged.code, 1)
  assert.match(damaged.stdout, /can't be read: .* instead of 0-/)
})
