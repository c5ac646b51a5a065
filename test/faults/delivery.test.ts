import assert from 'node:assert/strict'
import { createHash, randomBytes, randomInt } from 'node:crypto'
import { appendFileSync, truncateSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { toConfig } from '../../src/config/config.ts'
import { folderOf } from '../../src/config/files-place.ts'
import { Client } from '../support/clients/client.ts'
import { openSocket } from '../support/clients/raw.ts'
import {
  begin,
  cutAfter,
  finish,
  finishHashed,
  keepsAtMost,
  openOn,
  residentOf,
  untilHeldUp,
} from '../support/clients/transfers.ts'
import { anyEperson, contentOf, everybody, putItem } from '../support/data/repository.ts'
import { isLong, repeats } from '../support/scale.ts'
import { test, testOnOne } from '../support/service/engines.ts'
import { type Served, serve } from '../support/service/process.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'
import { inTime, until } from '../support/service/waiting.ts'

const graceToFinish = toConfig({}).stop.grace

/** Number of cuts of a transfer, and number of cuts after which the service is killed. */
const cuts = repeats(4, 50)
const cutsPerLife = repeats(3, 10)
const dawdlers = repeats(20, 200)

/** Declares such a test for the long run only. */
const onceLongTest: typeof testOnOne = isLong ? testOnOne : () => {}

const email = 'ruth@example.org'
const megabyte = 1024 ** 2

interface World {
  readonly served: Served
  /** A file that every eperson may read. */
  readonly shared: string
  /** A public file with this content. */
  readonly open: string
  readonly content: Buffer
  readonly sha256: string
  /** The path of the content on disk. */
  readonly file: string
  /** Starts another process on the same store. */
  again(): Promise<Served>
}

/** Starts a service in its own process, with a file of this size. */
async function start(
  t: TestContext,
  size: number,
  env: Readonly<Record<string, string>> = {},
): Promise<World> {
  const dataFolder = temporaryFolder(t)
  const content = randomBytes(size)
  const sha256 = createHash('sha256').update(content).digest('hex')
  let paths: string[] = []
  let filesFolder = ''
  await t.test('prepare', async prepare => {
    const service = await startService(prepare, { dataFolder })
    filesFolder = folderOf(service.config.files)
    await service.addEperson(email)
    const { bitstreams } = await putItem(service, 'test/1', everybody, [
      { name: 'shared.bin', content, readers: anyEperson },
      { name: 'open.bin', content },
    ])
    paths = bitstreams.map(contentOf)
  })
  const again = () => serve(t, dataFolder, { env })
  const [shared = '', open = ''] = paths
  const file = join(filesFolder, sha256.slice(0, 2), sha256.slice(2, 4), sha256)
  return { served: await again(), shared, open, content, sha256, file, again }
}

/** Asserts that no file is open, and that the process ends regularly. An unhandled rejection would have ended it. */
async function assertUnharmed(served: Served, sha256: string): Promise<void> {
  await untilClosed(served, sha256)
  assert.equal(await served.stop(), 0)
  assert.equal(served.output.stderr, '')
}

const untilClosed = ({ pid }: Served, sha256: string) =>
  until(
    'a service that has closed the file',
    () => openOn(pid, sha256),
    count => count === 0,
  )

const leaseIn = ({ headers }: IncomingMessage): string => {
  const set = headers['set-cookie']?.find(one => one.startsWith('CARREL-LEASE='))
  assert.ok(set, 'the answer carries a lease')
  return set.split(';')[0] ?? ''
}

/**
 * Begins a transfer with a short-lived token, and continues it with the lease after the token has expired.
 * The transfer is cut repeatedly.
 *
 * @param between runs after the nth cut @returns the last service
 */
async function transferInPieces(
  { served: first, shared, content }: World,
  cuts: number,
  between: (n: number, served: Served) => Promise<Served> = async (_, served) => served,
): Promise<Served> {
  const ruth = new Client(first.address)
  await ruth.login(email)
  const { token, opened } = await ruth.withShortLived(async token => {
    const opened = await begin(`${first.address}${shared}?authentication-token=${token}`)
    assert.equal(opened.statusCode, 200)
    return { token, opened }
  })
  const headers = { cookie: leaseIn(opened), 'if-range': opened.headers.etag ?? '' }
  const received = [await cutAfter(opened, randomInt(Math.floor(content.length / cuts)))]
  const count = () => received.reduce((sum, { length }) => sum + length, 0)
  await until(
    'the end of the short-lived token',
    async () => {
      const answer = await begin(`${first.address}${shared}?authentication-token=${token}`)
      answer.destroy()
      return answer.statusCode
    },
    status => status === 401,
  )

  let served = first
  for (let n = 1; n <= cuts && count() < content.length; n++) {
    const from = count()
    const answer = await begin(served.address + shared, { ...headers, range: `bytes=${from}-` })
    assert.equal(answer.statusCode, 206)
    assert.equal(answer.headers['content-range'], `bytes ${from}-${content.length - 1}/${content.length}`)
    // Leaves about the same amount for each of the following cuts.
    const most = Math.max(1, Math.floor((2 * (content.length - from)) / (cuts - n + 2)))
    received.push(await cutAfter(answer, randomInt(most)))
    served = await between(n, served)
  }
  if (count() < content.length) {
    const answer = await begin(served.address + shared, { ...headers, range: `bytes=${count()}-` })
    assert.equal(answer.statusCode, 206)
    received.push((await finish(answer)) ?? Buffer.of())
  }
  assert.ok(Buffer.concat(received).equals(content), `${count()} of ${content.length} bytes`)
  return served
}

test(`F3 a transfer that is cut ${cuts} times is completed with the lease alone`, async t => {
  const world = await start(t, 24 * megabyte)
  await assertUnharmed(await transferInPieces(world, cuts), world.sha256)
})

test('F3 D4 a transfer can be resumed after the service was killed and restarted', async t => {
  const world = await start(t, 24 * megabyte)
  const last = await transferInPieces(world, cuts, async (n, served) => {
    if (n % cutsPerLife !== 0) return served
    const underWay = await begin(served.address + world.open)
    served.signal('SIGKILL')
    await served.ended
    assert.equal(await finish(underWay), undefined, 'what breaks off does not look whole')
    return world.again()
  })
  await assertUnharmed(last, world.sha256)
})

test('F3 after logout a running transfer continues to its end, and none can be resumed', async t => {
  const { served, shared, content, sha256 } = await start(t, 24 * megabyte)
  const ruth = new Client(served.address)
  await ruth.login(email)
  const underWay = await ruth.withShortLived(async token => {
    const opened = await begin(`${served.address}${shared}?authentication-token=${token}`)
    assert.equal(opened.statusCode, 200)
    return opened
  })
  const cookie = leaseIn(underWay)
  const resumed = await begin(served.address + shared, { cookie, range: 'bytes=1000-' })
  assert.equal(resumed.statusCode, 206)
  await untilHeldUp(served.pid)
  assert.equal(openOn(served.pid, sha256), 2, 'both are under way')
  assert.equal((await ruth.post('/api/authn/logout')).status, 204)
  for (const range of ['bytes=0-', 'bytes=5000-', 'bytes=1-2,5-6']) {
    const refused = await begin(served.address + shared, { cookie, range })
    assert.equal(refused.statusCode, 401)
    refused.destroy()
  }
  assert.ok((await finish(underWay))?.equals(content))
  assert.ok((await finish(resumed))?.equals(content.subarray(1000)))
  await assertUnharmed(served, sha256)
})

test('F2 clients that disconnect at any moment leave no file open and no unhandled error', async t => {
  const { served, shared, open, content, sha256 } = await start(t, 24 * megabyte)
  const ruth = new Client(served.address)
  await ruth.login(email)
  const authorization = `Bearer ${ruth.token}`
  const ranges = ['', 'bytes=5000-', 'bytes=0-9999999,10000000-19999999', 'bytes=0-9,-9']
  for (let round = 0; round < repeats(1, 10); round++)
    await Promise.all(
      ranges.flatMap(range =>
        [open, shared].map(async (path, at) => {
          const headers = { ...(at === 1 ? { authorization } : {}), ...(range === '' ? {} : { range }) }
          await cutAfter(await begin(served.address + path, headers), randomInt(content.length))
          await leaveEarly(served, path, { ...headers, host: 'service.test' }, randomInt(30))
        }),
      ),
    )
  assert.ok((await finish(await begin(served.address + open)))?.equals(content))
  await assertUnharmed(served, sha256)
})

/** Sends a request and disconnects this many turns of the event loop later. */
async function leaveEarly({ address }: Served, path: string, headers: object, turns: number): Promise<void> {
  const socket = openSocket(address)
  socket.on('error', () => {})
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
  for (let n = 0; n < turns; n++) await new Promise(setImmediate)
  socket.resetAndDestroy()
}

/** Returns 50 ranges, the maximum. */
const manyRanges = (size: number) =>
  Array.from({ length: 50 }, (_, n) => {
    const from = Math.floor((size / 50) * n)
    return `${from}-${from + Math.floor(size / 50) - 1}`
  })

testOnOne('F2 clients that read nothing take little memory, whatever ranges they ask for', async t => {
  const size = repeats(32, 64) * megabyte
  const { served, open, content, sha256 } = await start(t, size)
  const many = `bytes=${manyRanges(size).join()}`
  // Makes the service allocate its buffers once.
  for (const range of ['bytes=0-', many])
    assert.ok(await finish(await begin(served.address + open, { range })))
  const before = residentOf(served.pid)
  const held = await Promise.all(
    Array.from({ length: 40 }, (_, n) =>
      begin(served.address + open, { range: n % 2 === 0 ? 'bytes=0-' : many }),
    ),
  )
  await untilHeldUp(served.pid)
  const grown = await keepsAtMost(size, served.pid, before)
  t.diagnostic(`memory grew by ${Math.round(grown / megabyte)} MB`)
  assert.equal(openOn(served.pid, sha256), 40)
  const [whole, parts] = held
  assert.ok(whole && parts)
  assert.ok((await finish(whole))?.equals(content))
  const received = await finish(parts)
  assert.equal(received?.length, Number(parts.headers['content-length']))
  for (const answer of held) answer.destroy()
  await assertUnharmed(served, sha256)
})

testOnOne(`F2 ${dawdlers} clients that dawdle all get the right bytes in the end`, async t => {
  const { served, open, sha256 } = await start(t, 8 * megabyte)
  const answers = await Promise.all(Array.from({ length: dawdlers }, () => begin(served.address + open)))
  await untilHeldUp(served.pid)
  const sums = await Promise.all(answers.map(finishHashed))
  assert.deepEqual(new Set(sums), new Set([sha256]))
  await assertUnharmed(served, sha256)
})

testOnOne('D4 on SIGTERM a transfer that is under way comes to its end', async t => {
  const { served: first, open, content, sha256, again } = await start(t, 24 * megabyte)
  await first.stop()
  await inTime(graceToFinish, async () => {
    const served = await again()
    const underWay = await begin(served.address + open)
    await untilHeldUp(served.pid)
    assert.equal(openOn(served.pid, sha256), 1)
    served.signal('SIGTERM')
    await until('a service that takes no connections', () => isRefused(served))
    assert.ok((await finish(underWay))?.equals(content))
    assert.equal((await served.ended).code, 0)
  })
})

// In CI, test/faults/serve.test.ts checks this with a listing.
onceLongTest('D4 on SIGTERM a client that takes nothing is not waited for without end', async t => {
  const { served, open, sha256 } = await start(t, 24 * megabyte)
  const underWay = await begin(served.address + open)
  await untilHeldUp(served.pid)
  assert.equal(openOn(served.pid, sha256), 1)
  assert.equal(await served.stop(), 0)
  assert.equal(await finish(underWay), undefined, 'what breaks off does not look whole')
})

/** True if nothing listens at the address. */
const isRefused = ({ address }: Served) =>
  new Promise<boolean>(resolve => {
    const socket = openSocket(address)
    socket.once('connect', () => resolve(false)).once('error', () => resolve(true))
    socket.once('close', () => socket.destroy())
    socket.end()
  })

testOnOne('F2 a file that becomes shorter while it is sent breaks the connection off', async t => {
  const size = 32 * megabyte
  const { served, open, content, sha256, file } = await start(t, size)
  const said = () =>
    `${served.output.stdout}${served.output.stderr}`.match(/a response broke off/g)?.length ?? 0
  const ranges = ['', 'bytes=10-', `bytes=${manyRanges(size).join()}`]
  for (const [at, range] of ranges.entries()) {
    const underWay = await begin(served.address + open, range === '' ? {} : { range })
    assert.equal(underWay.statusCode, range === '' ? 200 : 206)
    await untilHeldUp(served.pid)
    truncateSync(file, size - 1000)
    assert.equal(await finish(underWay), undefined, 'it does not look whole')
    // The fault is now reported, and no part of the file is sent.
    const refused = await begin(served.address + open, { range: 'bytes=0-9' })
    assert.equal(refused.statusCode, 500)
    assert.ok(!(await finish(refused))?.includes(content.subarray(0, 10)))
    await untilClosed(served, sha256)
    await until(`line ${at + 1} about it in the log`, said, count => count > at)
    appendFileSync(file, content.subarray(-1000))
  }
  assert.equal(await served.stop(), 0)
  assert.equal(said(), ranges.length)
})
