import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { toConfig } from '../../src/config/config.ts'
import { noStore } from '../../src/files/files.ts'
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
