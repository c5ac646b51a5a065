import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { toConfig } from '../../src/config/config.ts'
import { noStore } from '../../src/files/files.ts'
import { openFiles } from '../../src/files/open-files.ts'
import type { Opened } from '../../src/files/opened.ts'
import { atEnd } from '../support/service/at-end.ts'
import { bucketSettings, startBucket } from '../support/service/bucket.ts'
import { testOn } from '../support/service/engines.ts'
import { environmentWithNode } from '../support/service/process.ts'
import { until, within } from '../support/service/waiting.ts'

testOn(
  'sqlite',
  'F5 what a killed program was uploading goes, and what a running one uploads stays',
  async t => {
    const bucket = await startBucket(t)
    const env = bucketSettings(bucket)
    const program = new URL('../support/service/unfinished-upload.ts', import.meta.url).pathname
    const child = spawn(process.execPath, [program], { env: environmentWithNode(env), stdio: 'inherit' })
    const ended = once(child, 'close')
    atEnd(t, async () => {
      child.kill('SIGKILL')
      await ended
    })
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
