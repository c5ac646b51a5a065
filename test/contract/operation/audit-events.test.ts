import assert from 'node:assert/strict'
import { listPath } from '../../support/clients/listings.ts'
import { storedEvents, withStorage } from '../../support/data/trail.ts'
import { test } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

test('D9 the first of identical failures is recorded at once, and the number of the others when it is known', async t => {
  const service = await startService(t)
  const { uuid } = await service.addEperson('ruth@example.org')
  const client = service.client()
  // Eight guesses cause no pause (L8), which the trail would report.
  for (let at = 0; at < 8; at++) await client.tryLogin('ruth@example.org', `guess ${at}`)
  for (let at = 0; at < 5; at++) await client.tryLogin(`nobody-${at}@example.org`, 'guess')
  const failures = async (storage = service.storage) =>
    (await storedEvents(storage))
      .filter(({ outcome }) => outcome === 'failure')
      .map(({ eperson, client_ip, count }) => ({ eperson, client_ip, count }))
  const client_ip = '127.0.0.1'
  const first = [
    { eperson: uuid, client_ip, count: 1 },
    { eperson: null, client_ip, count: 1 },
  ]
  assert.deepEqual(await failures(), first)
  await client.login('ruth@example.org')
  await service.stop()
  await withStorage(service.dataFolder, async storage => {
    const [one, two, ...rest] = await failures(storage)
    assert.deepEqual([one, two], first)
    assert.deepEqual(
      rest.toSorted((a, b) => b.count - a.count),
      [
        { eperson: uuid, client_ip, count: 7 },
        { eperson: null, client_ip, count: 4 },
      ],
    )
  })
})

test('D9 failures from one IPv6 network are counted together, those from others are not', async t => {
  const service = await startService(t)
  const fail = (clientIp: string) =>
    service.storage.trail.record({
      event: 'login',
      outcome: 'failure',
      eperson: null,
      actor: null,
      clientIp,
      method: 'password',
      object: null,
      reason: null,
    })
  for (const host of ['1', 'ffff:1:2:3', 'abcd::9'])
    await fail(`2001:db8:0:1:${host.includes(':') ? host : `:${host}`}`)
  for (const ip of ['2001:db8:0:2::1', '2001:db8::1', '192.0.2.1', '192.0.2.2']) await fail(ip)
  await service.stop()
  await withStorage(service.dataFolder, async storage => {
    const ips = (await storedEvents(storage)).map(({ client_ip, count }) => [client_ip, count])
    assert.deepEqual(ips, [
      ['2001:db8:0:1::1', 1],
      ['2001:db8:0:2::1', 1],
      ['2001:db8::1', 1],
      ['192.0.2.1', 1],
      ['192.0.2.2', 1],
      ['2001:db8:0:1::/64', 2],
    ])
  })
})

test('Q13 the audit trail is audit-events, and an imported entity may be called events', async t => {
  const service = await startService(t)
  const admin = await service.addLoggedIn('root@example.org', { admin: true })
  const list = async (entity: string) => {
    const response = await admin.get(listPath(entity, { limit: 1 }))
    return { status: response.status, records: (await response.json()) as object[] }
  }
  const trail = await list('audit-events')
  assert.equal(trail.records.length, 1)
  assert.equal((await list('events')).status, 404)

  await service.addRecords('events', 'id', [{ id: 'a conference' }])
  assert.deepEqual((await list('events')).records, [{ id: 'a conference' }])
  assert.deepEqual(await list('audit-events'), trail)
  await assert.rejects(service.addRecords('audit-events', 'id', [{ id: 1 }]), /built in/)
})
