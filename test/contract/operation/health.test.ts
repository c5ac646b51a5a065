import assert from 'node:assert/strict'
import { truncateSync } from 'node:fs'
import { join } from 'node:path'
import { buildApp } from '../../../src/app.ts'
import { commandEvent, openStore } from '../../../src/cli/store.ts'
import { toConfig } from '../../../src/config/config.ts'
import { hideDatabase, runSqlIn, storeSettings, test, testOn } from '../../support/service/engines.ts'
import { serve } from '../../support/service/process.ts'
import { startService, temporaryFolder } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

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
  const config = toConfig({ ...(await storeSettings(temporaryFolder(t))), CARREL_LOG_LEVEL: 'silent' })
  const storage = await openStore(config, { create: true })
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

testOn('sqlite', 'D5 ready is 503 when the file of the store is damaged', async t => {
  const dataFolder = temporaryFolder(t)
  const served = await serve(t, dataFolder)
  // Once the service is ready, all threads have opened the file.
  assert.equal((await fetch(`${served.address}/health/ready`)).status, 200)
  truncateSync(join(dataFolder, 'carrel.db'), 0)
  const ready = await fetch(`${served.address}/health/ready`)
  assert.equal(ready.status, 503, await ready.text())
})

testOn(
  'sqlite',
  'D5 a damaged store fails the requests that need it, and does not end the process',
  async t => {
    const dataFolder = temporaryFolder(t)
    const served = await serve(t, dataFolder)
    // Once the service is ready, all threads have opened the file.
    assert.equal((await fetch(`${served.address}/health/ready`)).status, 200)
    truncateSync(join(dataFolder, 'carrel.db'), 0)
    // A read checks the files at most once a second.
    await until(
      'an answer that is a fault of the service',
      async () => (await fetch(`${served.address}/api/query/v4`)).status,
      status => status >= 500,
    )
    const live = await Promise.race([fetch(`${served.address}/health/live`), served.ended])
    assert.ok('status' in live, `the process has ended: ${served.output.stderr}`)
    assert.equal(live.status, 200)
  },
)

testOn(
  'postgres',
  'D5 ready is 503 while the database is gone, and 200 when it is back; live is 200',
  async t => {
    const dataFolder = temporaryFolder(t)
    const served = await serve(t, dataFolder)
    const statuses = async () => {
      const answers = ['ready', 'live'].map(name => fetch(`${served.address}/health/${name}`))
      return (await Promise.all(answers)).map(({ status }) => status)
    }
    assert.deepEqual(await statuses(), [200, 200])
    const restoreOrphan = await hideDatabase(t, dataFolder)
    assert.deepEqual(await statuses(), [503, 200])
    await restoreOrphan()
    assert.deepEqual(await statuses(), [200, 200])
  },
)

testOn(
  'postgres',
  'D5 R1 ready is 503, and no record is written, while the database has lost a part of the store',
  async t => {
    const losses = [
      'DROP TABLE carrel.bitstream CASCADE',
      "UPDATE carrel.state SET store = 'another one'",
      'DELETE FROM carrel.rank',
      `DO $$ DECLARE name text; BEGIN
         SELECT relname INTO name FROM pg_class WHERE relname LIKE 'records.%' AND relkind = 'r';
         EXECUTE format('DROP TABLE carrel.%I', name);
       END $$`,
      'DROP SCHEMA carrel CASCADE',
    ]
    for (const loss of losses) {
      const service = await startService(t)
      await service.addEperson('admin@example.org', { admin: true })
      await service.addRecords('artworks', 'id', [{ id: 'A1', title: 'Night' }])
      const rule = 'group:Administrator'
      await service.storage.entities.changeWriteRule('artworks', rule, commandEvent('entity.writers'))
      const client = await service.loggedIn('admin@example.org')
      let written = 0
      const write = () =>
        client.request('/api/query/v4/artworks/A2', {
          method: 'PUT',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ title: `Noon ${written++}` }),
        })
      assert.equal((await write()).status, 201)
      const ready = async () => (await fetch(`${service.address}/health/ready`)).status
      assert.equal(await ready(), 200)
      await runSqlIn(service.dataFolder, loss)
      await until(`a service that isn't ready: ${loss}`, ready, status => status === 503)
      if (!loss.includes('bitstream')) assert.equal((await write()).status, 503, loss)
      assert.equal((await fetch(`${service.address}/health/live`)).status, 200)
      await service.stop()
    }
  },
)
