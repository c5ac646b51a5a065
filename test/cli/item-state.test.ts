import assert from 'node:assert/strict'
import { eventsOf } from '../support/data/events.ts'
import { putItem } from '../support/data/repository.ts'
import { test } from '../support/service/engines.ts'
import { carrel } from '../support/service/process.ts'
import { startService } from '../support/service/service.ts'

test('I10 I11 an item is withdrawn, reinstated and taken out of lists by command, at once and on record', async t => {
  const service = await startService(t)
  await service.addEperson('admin@example.org', { admin: true })
  const admin = service.client()
  await admin.login('admin@example.org')
  const { uuid } = await putItem(service, 'letters/1', [{ reader: 'anonymous' }], [])
  const reader = service.client()
  const seen = async () => {
    const listed = await reader.get('/api/query/v4/items')
    return [(await reader.get(`/api/core/items/${uuid}`)).status, ((await listed.json()) as unknown[]).length]
  }
  const item = async (...args: string[]) => {
    const { code, stdout, stderr } = await carrel(service.dataFolder, ['item', ...args])
    assert.equal(code, 0, stderr)
    return stdout
  }
  assert.deepEqual(await seen(), [200, 1])
  assert.equal(await item('discoverable', 'letters/1', 'no'), 'letters/1 is in no list.\n')
  assert.deepEqual(await seen(), [200, 0])
  assert.match(await item('show', 'letters/1'), /^state +in no list$/m)
  assert.deepEqual(JSON.parse(await item('withdraw', uuid, '--json')), {
    ...{ identifier: 'letters/1', uuid, withdrawn: true, discoverable: false },
  })
  assert.deepEqual(await seen(), [401, 0])
  await item('reinstate', 'letters/1')
  await item('discoverable', 'letters/1', 'yes')
  // Repeating the command changes nothing.
  await item('reinstate', 'letters/1')
  assert.deepEqual(await seen(), [200, 1])
  const events = await eventsOf(admin, 'item.change')
  assert.deepEqual(
    events.map(({ object, actor }) => [object, actor]),
    Array.from({ length: 4 }, () => ['letters/1', null]),
  )

  const strange = await carrel(service.dataFolder, ['item', 'discoverable', 'letters/1', 'maybe'])
  assert.equal(strange.code, 2)
  const missing = await carrel(service.dataFolder, ['item', 'withdraw', 'letters/2'])
  assert.equal(missing.code, 1)
  assert.match(missing.stderr, /^carrel: there is no item letters\/2; `carrel item list`/)
})
