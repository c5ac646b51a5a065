import assert from 'node:assert/strict'
import { commandEvent } from '../../../src/cli/store.ts'
import { listPath } from '../../support/clients/listings.ts'
import { storedEvents, tamper, verify } from '../../support/data/trail.ts'
import { test } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

test('D9 Q13 events keep what was changed: administrators read it, others only of their own changes', async t => {
  const service = await startService(t)
  const admin = await service.addEperson('admin@example.org', { admin: true })
  const ruth = await service.addEperson('ruth@example.org')
  const { trail } = service.storage
  const changes = { before: { phone: null }, after: { phone: '1\0 "x"' } }
  const shown = { before: { phone: null }, after: { phone: '1\uFFFD "x"' } }
  const event = { ...commandEvent('eperson.disable'), eperson: ruth.uuid, changes }
  await trail.record({ ...event, actor: admin.uuid })
  await trail.record({ ...event, actor: ruth.uuid })
  await trail.record({ ...commandEvent('eperson.disable'), eperson: ruth.uuid })
  const seen = async (email: string) => {
    const client = await service.loggedIn(email)
    const found = await client.get(listPath('audit-events', { query: '["=","event","eperson.disable"]' }))
    return ((await found.json()) as { changes: unknown }[]).map(one => one.changes)
  }
  assert.deepEqual(await seen('admin@example.org'), [shown, shown, null])
  assert.deepEqual(await seen('ruth@example.org'), [null, shown, null])
  const client = await service.loggedIn('admin@example.org')
  const asked = await client.get(listPath('audit-events', { query: '["=","changes.before.phone",null]' }))
  assert.equal(asked.status, 200, await asked.text())

  assert.deepEqual((await verify(service.storage)).faults, [])
  const events = await storedEvents(service.storage)
  const [changed] = events.filter(one => one.changes !== null)
  await tamper(service.dataFolder, `UPDATE event SET changes = NULL WHERE id = ${changed?.id}`)
  assert.deepEqual(
    (await verify(service.storage)).faults.map(fault => fault.event),
    [changed?.id],
  )
})
