import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import type { AuditEvent, Repeats } from '../../../src/model/audit-events.ts'
import type { StoredEvent } from '../../../src/storage/trail.ts'
import { assertProblem } from '../../support/clients/answers.ts'
import type { Client } from '../../support/clients/client.ts'
import { anyEperson, contentOf, putItem } from '../../support/data/repository.ts'
import { storedEvents, verify, withStorage } from '../../support/data/trail.ts'
import { test } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { type Service, startService } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

const ruth = 'ruth@example.org'

async function started(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const service = await startService(t, { env })
  const { uuid } = await service.addEperson(ruth)
  const client = await service.loggedIn(ruth)
  return { service, uuid, client }
}

/** The events of a kind that the store has now. */
const recorded = async ({ storage }: Pick<Service, 'storage'>, ...kinds: readonly string[]) =>
  (await storedEvents(storage)).filter(({ event }) => kinds.includes(event))

/** The events of a kind after an orderly stop, in a trail that verifies. */
async function afterStop(service: Service, ...kinds: readonly string[]): Promise<StoredEvent[]> {
  await service.stop()
  return withStorage(service.dataFolder, async storage => {
    assert.deepEqual((await verify(storage)).faults, [])
    return recorded({ storage }, ...kinds)
  })
}

const sum = (events: readonly StoredEvent[]) => events.reduce((total, { count }) => total + count, 0)
const repeatsIn = ({ repeats }: StoredEvent): Repeats | null => repeats && JSON.parse(repeats)

/** Does the work a number of times, some of them at once. */
async function times(count: number, work: (at: number) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < count; at += 20)
    await Promise.all(Array.from({ length: Math.min(20, count - at) }, (_, more) => work(at + more)))
}

const reader = randomUUID()
const another = randomUUID()

/** A download of a session, as the service records it. */
const download = (object: string, more: Partial<AuditEvent> = {}): AuditEvent => ({
  ...commandEvent('download', object),
  eperson: reader,
  actor: reader,
  clientIp: '192.0.2.1',
  method: 'password',
  session: 1,
  ...more,
})

test('D9 the first refresh is durable before it is answered, and however many follow are one event with their number and times', async t => {
  const { service, uuid, client } = await started(t)
  const before = Date.now()
  await client.refresh()
  const [first, ...none] = await recorded(service, 'refresh')
  assert.deepEqual([first?.eperson, first?.count, first?.repeats, none], [uuid, 1, null, []])
  const between = Date.now()
  await times(200, () => client.refresh())
  const after = Date.now()
  const [one, counted, ...rest] = await afterStop(service, 'refresh')
  assert.deepEqual([one?.id, one?.count, rest], [first?.id, 1, []])
  assert.deepEqual([counted?.count, counted?.client_ip, counted?.object], [200, '127.0.0.1', null])
  const { first: from, last: to, ...more } = (counted && repeatsIn(counted)) ?? { first: '', last: '' }
  assert.deepEqual(more, {})
  assert.ok(Date.parse(from) >= between && Date.parse(from) <= Date.parse(to) && Date.parse(to) <= after)
  assert.ok(Date.parse(one?.time ?? '') >= before && Date.parse(one?.time ?? '') <= between)
})

test('D9 requests at the same time as the first wait for its event', async t => {
  const { service, client } = await started(t)
  await client.csrfPair()
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      await client.refresh()
      assert.ok((await recorded(service, 'refresh')).length >= 1)
    }),
  )
  const events = await afterStop(service, 'refresh')
  assert.deepEqual(
    events.map(({ count }) => count),
    [1, 19],
  )
})

test('D9 short-lived tokens and downloads of one file are counted in the same way', async t => {
  const { service, client } = await started(t)
  const item = await putItem(service, 'letters', anyEperson, [{ name: 'a.txt', content: 'a letter' }])
  const [file] = item.bitstreams
  assert.ok(file)
  await times(30, async () => {
    await client.shortLivedToken()
    assert.equal(await (await client.get(contentOf(file))).text(), 'a letter')
  })
  const events = await afterStop(service, 'short-lived-token', 'download')
  const told = events.map(({ event, object, count }) => [event, object, count])
  assert.deepEqual(told.toSorted(), [
    ['download', file.uuid, 1],
    ['download', file.uuid, 29],
    ['short-lived-token', null, 1],
    ['short-lived-token', null, 29],
  ])
})

test('D9 sessions, kinds, objects and networks are told apart', async t => {
  const { service } = await started(t)
  const { trail } = service.storage
  const different: readonly AuditEvent[] = [
    download('a'),
    download('b'),
    download('a', { session: 2 }),
    download('a', { eperson: another, actor: another }),
    download('a', { clientIp: '2001:db8:0:1::1' }),
    download('a', { clientIp: '2001:db8:0:2::1' }),
    download('a', { reason: 'access token abc' }),
    download('a', { event: 'short-lived-token' }),
    download('a', { actor: another }),
  ]
  for (const event of different) await trail.record(event)
  assert.equal((await recorded(service, 'download', 'short-lived-token')).length, different.length)
  // Another address of the same network.
  await trail.record(download('a', { clientIp: '2001:db8:0:1::ffff' }))
  assert.equal((await recorded(service, 'download', 'short-lived-token')).length, different.length)
  const events = await afterStop(service, 'download', 'short-lived-token')
  assert.equal(sum(events), different.length + 1)
  assert.deepEqual(events.at(-1)?.client_ip, '2001:db8:0:1::/64')
})

test('D9 a session that reads thousands of files adds some tens of events, which name every file', async t => {
  const { service } = await started(t)
  const objects = Array.from({ length: 3_500 }, () => randomUUID())
  for (const round of [1, 2])
    await times(objects.length, at =>
      service.storage.trail.record(download(objects[at] ?? '', { session: round })),
    )
  await times(500, at =>
    service.storage.trail.record(download(objects[0] ?? '', { clientIp: `192.0.2.${at % 200}` })),
  )
  const events = await afterStop(service, 'download')
  assert.ok(events.length <= 2 * 100, `${events.length} events`)
  assert.equal(sum(events), 2 * objects.length + 500)
  const numbers = new Map<string, number>()
  const count = (object: string, number: number) => numbers.set(object, (numbers.get(object) ?? 0) + number)
  for (const event of events) {
    const of = repeatsIn(event)?.objects ?? { [event.object ?? '']: event.count }
    for (const [object, number] of Object.entries(of)) count(object, number)
  }
  assert.deepEqual([...numbers.keys()].toSorted(), objects.toSorted())
  assert.equal(numbers.get(objects[0] ?? ''), 502)
  assert.equal(numbers.get(objects[1] ?? ''), 2)
})

test('D9 when too many sessions are counted, the oldest counts are written and none is lost', async t => {
  const { service } = await started(t)
  const sessions = 60
  const perSession = 500
  await times(sessions * perSession, at =>
    service.storage.trail.record(download(`file ${Math.floor(at / sessions)}`, { session: at % sessions })),
  )
  const events = await afterStop(service, 'download')
  assert.equal(sum(events), sessions * perSession)
  assert.ok(events.length < (sessions * perSession) / 5, `${events.length} events`)
})

test('D9 N1 counts are written once their time is over, and with them when the session was used', async t => {
  const { service, uuid } = await started(t)
  const { sessions } = service.storage
  const own = await sessions.of(uuid)
  assert.ok(own)
  const list = async () => {
    const [listed] = await sessions.list(own)
    assert.ok(listed)
    return listed
  }
  const { begun } = await list()
  // Repetitions are counted for no longer than a token lives.
  const lifetime = 500
  const refresh = async () => {
    const used = Date.now()
    const expires = used + lifetime
    await sessions.refresh(
      { begun, used, expires, stamp: own.stamp },
      download('', { event: 'refresh', eperson: uuid }),
    )
    assert.ok((await list()).expires >= expires, 'the list knows that the token lives')
    return used
  }
  const first = await refresh()
  assert.ok((await list()).used >= first)
  const events = await until(
    'an event that counts refreshes',
    async () => {
      await refresh()
      return recorded(service, 'refresh')
    },
    found => found.some(({ count }) => count > 1),
  )
  const counted = events.find(({ count }) => count > 1)
  const { last = '' } = (counted && repeatsIn(counted)) ?? {}
  assert.ok((await list()).used >= Date.parse(last) - 1)
})

test('D9 N1 a session is kept for as long as its tokens live, also when a refresh before took long', async t => {
  const { service, uuid } = await started(t)
  const { sessions } = service.storage
  const own = await sessions.of(uuid)
  assert.ok(own)
  const { begun } = (await sessions.list(own))[0] ?? { begun: 0 }
  const now = Date.now()
  // The first token has ended before its refresh is recorded.
  for (const used of [now - 700, now]) {
    const event = download('', { event: 'refresh', eperson: uuid })
    await sessions.refresh({ begun, used, expires: used + 500, stamp: own.stamp }, event)
    const [listed] = await sessions.list(own)
    assert.ok(listed && listed.expires >= used + 500, `${listed?.expires} instead of ${used + 500}`)
  }
})

test('D9 T4 N3 a logout between refreshes ends them at once, and what was counted stays true', async t => {
  const { service, client } = await started(t)
  for (let at = 0; at < 5; at++) await client.refresh()
  const old = client.token
  const other = await service.loggedIn(ruth)
  for (let at = 0; at < 3; at++) await other.refresh()
  assert.equal((await client.delete('/api/authn/sessions')).status, 204)
  await assertProblem(await other.post('/api/authn/login'), 401, 'login-failed')
  client.token = await client.refresh()
  assert.equal((await client.post('/api/authn/logout')).status, 204)
  client.token = old
  await assertProblem(await client.post('/api/authn/login'), 401, 'login-failed')
  await client.login(ruth)
  await client.refresh()
  const { uuid } = (await service.storage.people.credentials(ruth)) ?? { uuid: '' }
  const events = await afterStop(service, 'login', 'refresh', 'session.end', 'logout')
  assert.deepEqual(
    events.filter(({ repeats }) => repeats === null).map(({ event }) => event),
    ['login', 'refresh', 'login', 'refresh', 'session.end', 'logout', 'login', 'refresh'],
  )
  assert.equal(sum(events.filter(({ event }) => event === 'refresh')), 5 + 3 + 1 + 1)
  await withStorage(service.dataFolder, async ({ sessions }) => {
    const own = await sessions.of(uuid)
    assert.equal(
      (own && (await sessions.list(own)))?.length,
      1,
      'sessions that were ended are not listed again',
    )
  })
})

test('D9 the number is shown where events are read', async t => {
  const service = await startService(t)
  await service.addEperson('root@example.org', { admin: true })
  await times(12, at =>
    service.storage.trail.record(download(`file ${at % 2}`, { session: Math.floor(at / 8) })),
  )
  await times(40, at => service.storage.trail.record(download(`file ${at}`, { session: 3 })))
  const { dataFolder } = service
  await service.stop()
  const again = await startService(t, { dataFolder })
  const admin = await again.loggedIn('root@example.org')
  const listOf = async (client: Client, query: object) => {
    const response = await client.get(
      `/api/query/v4/audit-events?query=${encodeURIComponent(JSON.stringify(query))}`,
    )
    assert.equal(response.status, 200, await response.clone().text())
    return (await response.json()) as { count: number; repeats: Repeats | null; sum?: number }[]
  }
  assert.deepEqual(
    await listOf(admin, ['extract', [['function', 'sum', 'count']], ['=', 'event', 'download']]),
    [{ sum: 52 }],
  )
  const [counted] = await listOf(admin, ['null?', 'repeats.objects."file 35"', false])
  assert.deepEqual([counted?.count, counted?.repeats?.objects?.['file 39']], [10, 1])

  const found = await admin.get('/api/system/auditevents/search/findByObject?object=file%2035')
  const { _embedded } = (await found.json()) as { _embedded: { auditevents: { detail: string }[] } }
  assert.equal(_embedded.auditevents.length, 1)
  assert.match(_embedded.auditevents[0]?.detail ?? '', /10 times, from \S+Z to \S+Z.*"file 35":1/)

  const exported = await carrel(dataFolder, ['events', 'export'])
  const lines = exported.stdout.trim().split('\n')
  const rows = lines.map(line => JSON.parse(line) as StoredEvent).filter(({ event }) => event === 'download')
  assert.equal(sum(rows), 52)
  assert.ok(rows.some(row => repeatsIn(row)?.objects?.['file 35'] === 1))
})

test('D9 nodes or processes that prune at the same time remove what is too much, once', async t => {
  const first = await startService(t)
  const second = await startService(t, { dataFolder: first.dataFolder })
  const services = [first, second]
  const add = (from: number) =>
    times(400, at => (services[at % 2] ?? first).storage.trail.record(download('a', { session: from + at })))
  await add(0)
  const { bytes } = await first.storage.trail.keepWithin(1e9)
  const cut = new Date().toISOString()
  await add(400)
  const prune = async ({ storage: { trail } }: Service) => {
    while (!(await trail.keepWithin(bytes / 2)).isDone);
    await trail.checkpoint()
    while ((await trail.pruneSome(cut)) > 0);
  }
  await Promise.all([...services, ...services].map(prune))
  const left = await recorded(first, 'download')
  const size = await first.storage.trail.size()
  assert.ok(size <= bytes / 2 && size > bytes / 2 - 2_000, `${size} of ${bytes} bytes`)
  assert.ok(left.length > 190 && left.length <= 200, `${left.length} events`)
  assert.deepEqual((await verify(first.storage)).faults, [])
})
