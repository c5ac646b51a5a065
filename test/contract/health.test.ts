import assert from 'node:assert/strict'
import { truncateSync } from 'node:fs'
import { join } from 'node:path'
import { buildApp } from '../../src/app.ts'
import { openStore } from '../../src/cli/store.ts'
import { toConfig } from '../../src/config.ts'
import { test } from '../support/engines.ts'
import { serve } from '../support/process.ts'
import { startService, temporaryFolder } from '../support/service.ts'

test('D5 live and ready are 200 without a login, and leave no cookie', async t => {
  const service = await startService(t)
  for (const path of ['/health/live', '/health/ready']) {
    const response = await fetch(service.address + path)
    assert.equal(response.status, 200)
    assert.match(response.headers.get('content-type') ?? '', /^application\/json\b/)
    assert.equal(typeof (await response.json()), 'object')
    assert.deepEqual(response.headers.getSetCookie(), [])
    const headed = await fetch(service.address + path, { method: 'HEAD' })
    assert.equal(headed.status, 200)
  }
})

test('D5 ready is 503 with Retry-After while the store does not answer, and live is 200', async t => {
  const config = toConfig({ CARREL_DATA: temporaryFolder(t), CARREL_LOG_LEVEL: 'silent' })
  const storage = await openStore(config)
  const app = await buildApp(config, storage)
  t.after(() => app.close())
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  assert.equal((await fetch(`${address}/health/ready`)).status, 200)
  await storage.close()
  const ready = await fetch(`${address}/health/ready`)
  assert.equal(ready.status, 503, await ready.clone().text())
  assert.match(ready.headers.get('retry-after') ?? '', /^\d+$/)
  assert.match(ready.headers.get('content-type') ?? '', /^application\/problem\+json\b/)
  assert.equal(((await ready.json()) as { code: string }).code, 'store-unavailable')
  assert.equal((await fetch(`${address}/health/live`)).status, 200)
})

test('D5 ready is 503 when the file of the store is damaged', async t => {
  const dataFolder = temporaryFolder(t)
  const served = await serve(t, dataFolder)
  truncateSync(join(dataFolder, 'carrel.db'), 0)
  const ready = await fetch(`${served.address}/health/ready`)
  assert.equal(ready.status, 503, await ready.text())
})

test('D5 a damaged store fails the requests that need it, and does not end the process', async t => {
  const dataFolder = temporaryFolder(t)
  const served = await serve(t, dataFolder)
  truncateSync(join(dataFolder, 'carrel.db'), 0)
  const entities = await fetch(`${served.address}/api/query/v4`)
  assert.ok(entities.status >= 500, await entities.text())
  const live = await Promise.race([fetch(`${served.address}/health/live`), served.ended])
  assert.ok('status' in live, `the process has ended: ${served.output.stderr}`)
  assert.equal(live.status, 200)
})
