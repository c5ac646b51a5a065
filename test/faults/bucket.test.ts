import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { toConfig } from '../../src/config/config.ts'
import { noStore } from '../../src/files/files.ts'
import type { Opened } from '../../src/files/opened.ts'
import { openFiles } from '../../src/files/open-files.ts'
import { atEnd } from '../support/service/at-end.ts'
import { bucketSettings, startBucket } from '../support/service/bucket.ts'
import { testOn } from '../support/service/engines.ts'
import { environmentWithNode } from '../support/service/process.ts'
import { until } from '../support/service/waiting.ts'

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

testOn('sqlite', 'F5 clients that read nothing give their connections to the bucket back', async t => {
  const bucket = await startBucket(t)
  const files = await openFiles(toConfig(bucketSettings(bucket)).files, noStore)
  const bytes = randomBytes(3_000_000)
  const { sha256, size } = await files.receive(
    (async function* () {
      yield bytes
    })(),
  )
  // More than there are connections, each of a client that has read a little and stopped.
  const slow: Opened[] = []
  for (let at = 0; at < 300; at++) {
    const file = await files.open(sha256, { start: 0, end: size - 1 })
    assert.ok(file)
    assert.equal((await file.read(Buffer.alloc(10), 0, 10, 0)).bytesRead, 10)
    slow.push(file)
  }
  const another = await files.open(sha256, { start: 0, end: size - 1 })
  const buffer = Buffer.alloc(size)
  assert.equal((await another?.read(buffer, 0, size, 0))?.bytesRead, size)
  assert.ok(buffer.equals(bytes))
  const [first] = slow
  assert.equal((await first?.read(buffer, 0, size - 10, 10))?.bytesRead, size - 10, 'it goes on where it was')
  assert.ok(buffer.subarray(0, size - 10).equals(bytes.subarray(10)))
  for (const file of [...slow, another]) await file?.close()
})
