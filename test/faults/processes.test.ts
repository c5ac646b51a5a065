import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { tidyProcesses } from '../../src/cli/housekeeping.ts'
import { folderOf } from '../../src/config/files-place.ts'
import type { ProcessState } from '../../src/model/processes.ts'
import { Client } from '../support/clients/client.ts'
import { everybody, putItem } from '../support/data/repository.ts'
import { isLong } from '../support/scale.ts'
import { storeSettings, test, testOnOne } from '../support/service/engines.ts'
import { startCommand } from '../support/service/faults.ts'
import { serve } from '../support/service/process.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

// test/admin/processes/processes.test.ts checks on both engines how the store treats leftovers of a program.
testOnOne('PR6 a command that is killed shows as interrupted', async t => {
  const service = await startService(t)
  const { processes } = service.storage
  const file = join(temporaryFolder(t, 'sqlite'), 'books.ndjson')
  writeFileSync(
    file,
    Array.from({ length: 400_000 }, (_, id) => `{"id":${id},"title":"Book ${id}"}\n`).join(''),
  )
  const command = startCommand(
    t,
    ['import', file, '--entity', 'books', '--key', 'id'],
    await storeSettings(service.dataFolder),
  )
  const first = async () =>
    (await processes.find({ order: { by: 'id', falling: false } }, { offset: 0, limit: 1 })).rows[0]
  await until('the process of the command', first)
  command.kill()
  await command.ended
  assert.equal((await first())?.state, 'running')
  await tidyProcesses(processes, Date.now())
  assert.equal((await first())?.state, 'interrupted')
})

/**
 * Starts a service with two event loops, on which a check runs that never ends, because it waits for data in
 * a pipe.
 */
async function checking(t: TestContext) {
  const first = await startService(t)
  await first.addEperson('admin@example.org', { admin: true })
  const { bitstreams } = await putItem(first, 'one', everybody, [{ name: 'a.txt' }])
  await first.stop()
  const sha256 = bitstreams[0]?.sha256 ?? ''
  const path = join(folderOf(first.config.files), sha256.slice(0, 2), sha256.slice(2, 4), sha256)
  rmSync(path)
  execFileSync('mkfifo', [path])
  const start = () => serve(t, first.dataFolder, { env: { CARREL_WORKERS: '2' } })
  const served = await start()
  const admin = new Client(served.address)
  await admin.login('admin@example.org')
  const form = new FormData()
  form.set('properties', '[]')
  const begun = await admin.post('/api/system/scripts/verify/processes', form as unknown as URLSearchParams)
  assert.equal(begun.status, 202)
  const { processId } = (await begun.json()) as { processId: string }
  const stateSeen = async (address: string): Promise<ProcessState> => {
    const client = new Client(address)
    client.token = admin.token
    const response = await client.get(`/api/system/processes/${processId}`)
    assert.equal(response.status, 200)
    return ((await response.json()) as { state: ProcessState }).state
  }
  assert.equal(await stateSeen(served.address), 'running')
  return { served, start, stateSeen, processId, dataFolder: first.dataFolder }
}

// test/faults/uploads.test.ts checks this, too.
if (isLong)
  test('PR6 after a service was killed and starts again, what it ran is interrupted', async t => {
    const { served, start, stateSeen } = await checking(t)
    served.signal('SIGKILL')
    await served.ended
    assert.equal(await stateSeen((await start()).address), 'interrupted')
  })

testOnOne('PR6 a service that is asked to stop interrupts what it runs', async t => {
  const { served, dataFolder, processId } = await checking(t)
  served.signal('SIGTERM')
  const { storage } = await startService(t, { dataFolder })
  const found = await until(
    'a process that is interrupted',
    () => storage.processes.one(Number(processId)),
    seen => seen?.state === 'interrupted',
  )
  assert.equal(found?.fault, 'The service stopped.')
  // Node waits for the pipe; a service never has one among its files.
  served.signal('SIGKILL')
  await served.ended
})
