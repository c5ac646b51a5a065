import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { toConfig } from '../../../src/config/config.ts'
import { noStore } from '../../../src/files/files.ts'
import { openFiles } from '../../../src/files/open-files.ts'
import { describeFault } from '../../../src/http/answer-problems.ts'
import { Client } from '../../support/clients/client.ts'
import { newItem, upload } from '../../support/data/editing.ts'
import { anyEperson, contentOf, everybody, putItem } from '../../support/data/repository.ts'
import { storedEvents } from '../../support/data/trail.ts'
import {
  type BucketServer,
  bucketSettings,
  refused,
  slowDown,
  startBucket,
} from '../../support/service/bucket.ts'
import { testOn } from '../../support/service/engines.ts'
import { carrel, serve } from '../../support/service/process.ts'
import { startService, temporaryFolder } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

/** Files in a bucket over HTTP (docs/decisions/0080). `test/files/` has what both kinds of files promise. */
const content = randomBytes(6_000_000)
const sha256 = createHash('sha256').update(content).digest('hex')
const key = `archive/${sha256.slice(0, 2)}/${sha256.slice(2, 4)}/${sha256}`

async function start(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const bucket = await startBucket(t)
  const service = await startService(t, { env: { ...bucketSettings(bucket), ...env } })
  const admin = await service.addLoggedIn('root@example.org', { admin: true })
  const ruth = await service.addLoggedIn('ruth@example.org')
  const { bitstreams } = await putItem(service, 'test/1', everybody, [
    { name: 'open.bin', content },
    { name: 'shared.pdf', content, readers: anyEperson, mimeType: 'application/pdf' },
    { name: 'page.html', content, mimeType: 'text/html' },
    { name: 'empty.txt', content: '' },
  ])
  const paths = bitstreams.map(contentOf) as [string, string, string, string]
  const get = (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') =>
    fetch(service.address + path, { method, headers, redirect: 'manual' })
  return { bucket, service, admin, ruth, paths, get }
}
const metricsSecret = 'a secret of more than thirty-two characters'.replaceAll(' ', '-')
const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer())
const contentReads = ({ line }: BucketServer) => line.count('GET', new RegExp(key))

testOn(
  'sqlite',
  'F5 downloads from a bucket have the ranges, conditions and headers of a folder',
  async t => {
    const { bucket, paths, get, ruth, admin } = await start(t)
    const [open, shared, , empty] = paths
    const etag = `"${sha256}"`
    const before = contentReads(bucket)
    const whole = await get(open)
    assert.deepEqual([whole.status, whole.headers.get('etag')], [200, etag])
    assert.ok((await bytesOf(whole)).equals(content))
    assert.equal(contentReads(bucket) - before, 1, 'one request to the bucket')
    for (const [range, start, end] of [
      ['bytes=0-0', 0, 1],
      ['bytes=5-2000004', 5, 2_000_005],
      ['bytes=-7', content.length - 7, content.length],
    ] as const) {
      const part = await get(open, { range })
      assert.equal(part.status, 206)
      assert.ok((await bytesOf(part)).equals(content.subarray(start, end)), range)
    }
    const several = await get(open, { range: 'bytes=0-9,5999990-5999999' })
    const text = (await bytesOf(several)).toString('latin1')
    assert.ok(text.includes(content.subarray(0, 10).toString('latin1')))
    assert.ok(text.includes(content.subarray(-10).toString('latin1')))
    const head = await get(open, {}, 'HEAD')
    assert.deepEqual([head.status, head.headers.get('content-length')], [200, `${content.length}`])
    const none = await get(empty)
    assert.deepEqual([none.status, await none.text()], [200, ''])
    assert.equal((await get(open, { 'if-none-match': etag })).status, 304)
    assert.equal((await get(open, { 'if-match': '"other"' })).status, 412)
    assert.equal((await get(open, { range: 'bytes=6000000-' })).status, 416)
    assert.equal((await get(shared)).status, 401)
    assert.ok((await bytesOf(await ruth.get(shared))).equals(content))

    const { bundle } = await newItem(admin)
    const sent = randomBytes(11_000_000)
    const added = await upload(admin, bundle, { name: 'large.bin', content: sent })
    assert.equal(added.status, 201, JSON.stringify(added.body))
    const back = await admin.get(`/api/core/bitstreams/${added.body.uuid}/content`)
    assert.ok((await bytesOf(back)).equals(sent))
    assert.deepEqual([await bucket.uploads(), bucket.keys('archive/incoming/')], [[], []])
  },
)

testOn('sqlite', 'F5 an answer of the bucket that breaks off is asked for again from there', async t => {
  const { bucket, paths, get } = await start(t)
  let left = 3
  bucket.line.fault = ({ method, path }) =>
    method === 'GET' && path.includes(key) && left-- > 0 ? { answerBreaksAfter: 1_500_000 } : undefined
  const before = contentReads(bucket)
  assert.ok((await bytesOf(await get(paths[0]))).equals(content))
  assert.equal(contentReads(bucket) - before, 4)
})

testOn('sqlite', 'F5 while the bucket is away files answer 503, and everything else goes on', async t => {
  const { bucket, paths, get, admin } = await start(t, { CARREL_METRICS_SECRET: metricsSecret })
  const { bundle } = await newItem(admin)
  let left = 2
  bucket.line.fault = () => (left-- > 0 ? slowDown : undefined)
  assert.ok((await bytesOf(await get(paths[0]))).equals(content), 'a request that is refused is repeated')

  for (const fault of [refused, slowDown]) {
    bucket.line.fault = () => fault
    const failed = await get(paths[0])
    const problem = (await failed.json()) as { code: string }
    assert.deepEqual([failed.status, problem.code], [503, 'files-unavailable'])
    assert.match(failed.headers.get('retry-after') ?? '', /^\d+$/)
    assert.equal((await upload(admin, bundle, { name: 'a.txt', content: 'a' })).status, 503)
    assert.equal((await upload(admin, bundle, { name: 'b', content: randomBytes(7_000_000) })).status, 503)
    assert.equal((await admin.get('/api/core/items')).status, 200)
    assert.equal((await get(paths[0], { 'if-none-match': `"${sha256}"` })).status, 304)
  }
  const ready = async () => {
    const answer = await get('/health/ready')
    return [answer.status, await answer.json()]
  }
  assert.deepEqual(await ready(), [200, { status: 'ready', files: 'unavailable' }])
  const authorization = `Bearer ${metricsSecret}`
  const metrics = await (await get('/metrics', { authorization })).text()
  assert.match(metrics, /carrel_bucket_requests_total\{operation="read",outcome="failure"\} \d/)
  bucket.line.fault = () => undefined
  assert.equal((await upload(admin, bundle, { name: 'a.txt', content: 'a' })).status, 201)
  assert.equal((await get(paths[0])).status, 200)
  await until('a service with files', ready, ([, body]) => !Object.hasOwn(body as object, 'files'))
})

testOn(
  'sqlite',
  'D5 F5 a node is ready, and says so soon, while the bucket is away, is silent, refuses the key or is empty',
  async t => {
    const bucket = await startBucket(t)
    const gate = Promise.withResolvers<void>()
    t.after(() => gate.resolve())
    const { line } = bucket
    const folder = temporaryFolder(t)
    const env = { ...bucketSettings(bucket), CARREL_WORKERS: '1' }
    for (const [fault, says] of [
      [refused, 'ECONNRESET'],
      [{ waitsFor: gate.promise }, 'does not answer'],
      [{ status: 403, body: '<Error><Code>AccessDenied</Code></Error>' }, 'the credentials give no right'],
    ] as const) {
      line.fault = () => undefined
      const node = await serve(t, folder, { env })
      line.fault = () => fault
      const ready = async () => {
        const answer = await fetch(`${node.address}/health/ready`)
        return { status: answer.status, body: (await answer.json()) as object }
      }
      const { status, body } = await until('the note', ready, one => Object.hasOwn(one.body, 'files'))
      assert.deepEqual([status, body], [200, { status: 'ready', files: 'unavailable' }])
      await until(
        'the log',
        () => node.output.stdout + node.output.stderr,
        text => text.includes(says),
      )
      await ready()
      assert.equal(node.output.stdout.split('files can’t be read or written').length, 2, 'said once')
      line.fault = () => undefined
      await node.stop()
    }
  },
)

testOn('sqlite', 'F6 the bucket sends files at a signed address, and rights stay with Carrel', async t => {
  const started = await start(t, { CARREL_FILES_SENT_BY: 'redirect' })
  const { bucket, service, paths, get, ruth } = started
  const [open, shared, page, empty] = paths
  const uuid = shared.split('/').at(-2)
  assert.equal((await get(shared)).status, 401)
  const before = contentReads(bucket)
  const sent = await ruth.get(shared)
  assert.equal(sent.status, 302)
  assert.match(sent.headers.get('cache-control') ?? '', /no-store/)
  assert.match(sent.headers.get('set-cookie') ?? '', /CARREL-LEASE=/)
  const location = sent.headers.get('location') ?? ''
  assert.equal(new URL(location).searchParams.get('X-Amz-Expires'), '60')
  const events = await storedEvents(service.storage)
  assert.deepEqual(
    events.filter(({ event }) => event === 'download').map(({ object }) => object),
    [uuid],
  )
  const got = await fetch(location, { headers: { range: 'bytes=10-19' } })
  assert.deepEqual(
    [got.status, got.headers.get('content-type'), got.headers.get('content-disposition')],
    [206, 'application/pdf', 'inline; filename=shared.pdf'],
  )
  assert.ok((await bytesOf(got)).equals(content.subarray(10, 20)))
  assert.equal(contentReads(bucket) - before, 1, 'Carrel has read nothing')
  // A broken transfer goes on by the lease, with the tag of the bucket.
  const cookie = (sent.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  const resumed = await get(shared, {
    cookie,
    range: 'bytes=100-',
    'if-range': got.headers.get('etag') ?? '',
  })
  assert.equal(resumed.status, 302)

  const active = await fetch((await get(page)).headers.get('location') ?? '')
  assert.match(active.headers.get('content-disposition') ?? '', /^attachment/)
  await active.body?.cancel()
  const etag = `"${sha256}"`
  assert.equal((await get(open, { 'if-none-match': etag })).status, 304)
  assert.equal((await get(open, {}, 'HEAD')).status, 200)
  assert.equal((await get(empty)).status, 200)
  const own = await get(open, { range: 'bytes=3-4', 'if-range': etag })
  assert.equal(own.status, 206)
  assert.ok((await bytesOf(own)).equals(content.subarray(3, 5)))
  assert.equal((await get(open, { range: 'bytes=0-1,4-5' })).status, 206)
  assert.equal((await get(open, { range: 'bytes=6000000-' })).status, 416)
})

testOn('sqlite', 'D18 a start names a wrong bucket and wrong credentials, and shows no secret', async t => {
  const bucket = await startBucket(t)
  const env = bucketSettings(bucket)
  const folder = temporaryFolder(t)
  const answer = (Code: string, status: number) => ({
    status,
    body: `<Error><Code>${Code}</Code><Message>AKIA-a-wrong-secret</Message></Error>`,
  })
  bucket.line.fault = ({ path }) =>
    path.includes('/wrong-secret')
      ? answer('SignatureDoesNotMatch', 403)
      : path.includes('/elsewhere')
        ? answer('AuthorizationHeaderMalformed', 400)
        : undefined
  for (const [wrong, says] of [
    [{ CARREL_FILES: 's3://another/archive' }, /s3:\/\/another\/archive at \S+: there is no such bucket/],
    [{ CARREL_FILES: 's3://wrong-secret' }, /the secret of the access key is wrong/],
    [{ CARREL_FILES: 's3://elsewhere' }, /set CARREL_FILES_REGION/],
    [{ AWS_ACCESS_KEY_ID: 'ANOTHER' }, /does not know the access key/],
    [{ CARREL_FILES_SENT_BY: 'x-sendfile' }, /CARREL_FILES_SENT_BY: a proxy sends files from a folder/],
    [
      { CARREL_FILES: folder, CARREL_FILES_SENT_BY: 'redirect' },
      /CARREL_FILES_SENT_BY: redirect needs a bucket/,
    ],
  ] as const) {
    const { code, stderr } = await carrel(folder, ['serve'], { env: { ...env, CARREL_PORT: '0', ...wrong } })
    assert.ok(code === 1 || code === 2, `${stderr} ${JSON.stringify(wrong)}`)
    assert.match(stderr, says)
    assert.ok(!stderr.includes('a-wrong-secret') && !/\n\s+at /.test(stderr), stderr)
  }
})

testOn('sqlite', 'F5 carrel doctor says that the bucket is away or wrong, and shows no secret', async t => {
  const bucket = await startBucket(t)
  const env = bucketSettings(bucket)
  const folder = temporaryFolder(t)
  const doctor = async (more: Readonly<Record<string, string>> = {}) => {
    const { code, stdout, stderr } = await carrel(folder, ['doctor'], { env: { ...env, ...more } })
    assert.ok(!`${stdout}${stderr}`.includes('a-wrong-secret'), stdout + stderr)
    return { code, stdout }
  }
  assert.match((await doctor()).stdout, /the bucket s3:\/\/carrel\/archive answers/)
  const wrong = await doctor({ CARREL_FILES: 's3://another' })
  assert.match(wrong.stdout, /s3:\/\/another at \S+: there is no such bucket/)
  assert.equal(wrong.code, 1)
  const body = '<Error><Code>AccessDenied</Code><Message>AKIA-a-wrong-secret</Message></Error>'
  for (const [fault, says] of [
    [{ status: 403, body }, /the credentials give no right to this/],
    [refused, /s3:\/\/carrel\/archive at \S+ can't be used: ECONNRESET/],
  ] as const) {
    bucket.line.fault = () => fault
    const { code, stdout } = await doctor()
    assert.match(stdout, says)
    assert.equal(code, 1)
  }

  // The log of the service has the cause of a fault.
  bucket.line.fault = () => ({ status: 403, body })
  const files = await openFiles(toConfig(env).files, noStore)
  await assert.rejects(files.open(sha256, { start: 0, end: 9 }), error => {
    assert.match(JSON.stringify(describeFault(error)), /the credentials give no right to this/)
    assert.doesNotMatch(JSON.stringify(describeFault(error)), /a-wrong-secret/)
    return true
  })
})

testOn('sqlite', 'F5 each error of a bucket is said as what it is, with what would be right', async t => {
  const bucket = await startBucket(t)
  const files = await openFiles(toConfig(bucketSettings(bucket)).files, noStore)
  const causes: readonly (readonly [number, string | null, RegExp, string])[] = [
    [403, 'QuotaExceeded', /is full; delete files, or have its quota/, 'FilesFull'],
    [507, null, /is full/, 'FilesFull'],
    [507, 'InsufficientStorage', /is full/, 'FilesFull'],
    [507, 'XMinioStorageFull', /is full/, 'FilesFull'],
    [403, 'InvalidObjectState', /moved to an archive; have it restored/, 'FilesUnavailable'],
    [
      403,
      'RequestTimeTooSkewed',
      /the clock of this machine, or that of the server, is wrong/,
      'FilesUnavailable',
    ],
    [403, 'SomethingElse', /SomethingElse \(status 403\)/, 'FilesUnavailable'],
    [403, 'AccessDenied', /the credentials give no right to this/, 'MisconfiguredFiles'],
    [403, 'InvalidAccessKeyId', /does not know the access key/, 'MisconfiguredFiles'],
    [403, 'SignatureDoesNotMatch', /or the server does not know the access key/, 'MisconfiguredFiles'],
    [403, 'AllAccessDisabled', /the account of the bucket is disabled/, 'MisconfiguredFiles'],
    [403, null, /the credentials are wrong, or give no right/, 'MisconfiguredFiles'],
    [400, null, /most often since the region is wrong; set CARREL_FILES_REGION/, 'MisconfiguredFiles'],
    [400, 'AuthorizationHeaderMalformed', /region is wrong; set CARREL_FILES_REGION/, 'MisconfiguredFiles'],
    [301, 'PermanentRedirect', /in another region/, 'MisconfiguredFiles'],
    [404, 'NoSuchBucket', /there is no such bucket/, 'MisconfiguredFiles'],
    [501, 'NotImplemented', /does not know a request that Carrel needs/, 'UnknownRequest'],
    [503, 'SlowDown', /too many requests/, 'FilesUnavailable'],
  ]
  for (const [status, code, says, name] of causes) {
    const body =
      code === null ? '' : `<Error><Code>${code}</Code><Message>AKIA-a-wrong-secret</Message></Error>`
    bucket.line.fault = () => ({ status, body })
    await assert.rejects(files.open(sha256, { start: 0, end: 9 }), (error: Error) => {
      assert.match(error.message, says, `${status} ${code}`)
      assert.equal(error.constructor.name, name, `${status} ${code}`)
      assert.doesNotMatch(error.message, /wrong-secret/)
      if (name !== 'MisconfiguredFiles') assert.doesNotMatch(error.message, /credentials/)
      return true
    })
  }
})

testOn(
  'sqlite',
  'F5 a full bucket is 507 files-full to a client that sends a file, and in the log',
  async t => {
    const bucket = await startBucket(t)
    const env = bucketSettings(bucket)
    const service = await startService(t, { env })
    await service.addEperson('root@example.org', { admin: true })
    await service.stop()
    const node = await serve(t, service.dataFolder, { env })
    const admin = new Client(node.address)
    await admin.login('root@example.org')
    const { bundle } = await newItem(admin)
    for (const [status, code] of [
      [507, 'InsufficientStorage'],
      [403, 'QuotaExceeded'],
    ] as const) {
      bucket.line.fault = ({ method }) =>
        method === 'PUT' ? { status, body: `<Error><Code>${code}</Code></Error>` } : undefined
      const answer = await upload(admin, bundle, { name: 'a.txt', content: code })
      assert.equal(answer.status, 507)
      assert.match(JSON.stringify(answer.body), /"files-full"/)
      await until(
        'the log',
        () => node.output.stdout,
        text => text.includes(`is full; delete files, or have its quota or its disks enlarged (${code})`),
      )
    }
  },
)
