import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import { assertProblem, assertUnauthorized } from '../../support/clients/answers.ts'
import type { Client, Status } from '../../support/clients/client.ts'
import { claimsOf } from '../../support/clients/jwt.ts'
import { exchange, head } from '../../support/clients/raw.ts'
import { eventsOf } from '../../support/data/events.ts'
import { addItem, membersOf } from '../../support/data/repository.ts'
import { from, withSpecialGroups } from '../../support/service/configuration.ts'
import { test } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

const allowed = { CARREL_LOGIN_ON_BEHALF_OF: 'true' }
const ruthEmail = 'ruth@example.org'
const adminEmail = 'admin@example.org'

const as = (uuid: string, reason?: string): Record<string, string> => ({
  'x-on-behalf-of': uuid,
  ...(reason === undefined ? {} : { 'x-on-behalf-of-reason': reason }),
})

/** Starts a service with an administrator and an eperson, both logged in. */
async function startWithBoth(t: TestContext, env: Readonly<Record<string, string>> = allowed) {
  const service = await startService(t, { env })
  const ruth = await service.addEperson(ruthEmail)
  const boss = await service.addEperson(adminEmail, { admin: true })
  const admin = await service.loggedIn(adminEmail)
  const client = await service.loggedIn(ruthEmail)
  return { service, ruth, boss, admin, client }
}

const own = (uuid: string) => `/api/eperson/epersons/${uuid}`

test('B1 the request of an administrator is processed as the eperson', async t => {
  const { service, ruth, admin } = await startWithBoth(t)
  await service.storage.people.ensureGroups(['Staff'])
  await service.addRecords('shelves', 'id', [{ id: 1 }], 'group:Staff')
  const shelves = () => admin.get('/api/query/v4/shelves', as(ruth.uuid))

  const status = await admin.status('/api/authn/status', as(ruth.uuid))
  assert.equal(status._embedded.eperson?.uuid, ruth.uuid)
  assert.equal((await admin.get(own(ruth.uuid), as(ruth.uuid.toUpperCase()))).status, 200)
  assert.equal((await shelves()).status, 403)
  await service.storage.people.join('Staff', ruthEmail, commandEvent('group.join'))
  assert.equal((await shelves()).status, 200)
  assert.equal(
    (await admin.status())._embedded.eperson?.email,
    adminEmail,
    'without the header all is as before',
  )
})

test('B1 the header is looked at on every endpoint of authentication, query and epersons', async t => {
  const { ruth, admin } = await startWithBoth(t)
  for (const path of [
    '/api/authn/status',
    '/api/authn/status/specialGroups',
    '/api/query/v4',
    '/api/query/v4/epersons',
    own(ruth.uuid),
    '/server/api/authn/status',
  ])
    await assertProblem(await admin.get(path, as('nobody')), 400, 'bad-on-behalf-of')
  const short = await admin.post('/api/authn/shortlivedtokens', undefined, as('nobody'))
  await assertProblem(short, 400, 'bad-on-behalf-of')
})

for (const path of ['/api', '/api/authn', '/api/security/csrf'])
  test(`B1 the header is looked at on any request, ${path} too`, async t => {
    const { ruth, admin, client } = await startWithBoth(t)
    await assertProblem(await admin.get(path, as('nobody')), 400, 'bad-on-behalf-of')
    await assertProblem(await client.get(path, as(ruth.uuid)), 403, 'on-behalf-of-refused')
    assert.equal((await admin.get(path, as(ruth.uuid))).headers.get('x-acting-as'), ruth.uuid)
  })

test('B1 acting is off by default', async t => {
  const { ruth, admin } = await startWithBoth(t, {})
  await assertProblem(await admin.get('/api/authn/status', as(ruth.uuid)), 403, 'on-behalf-of-refused')
})

test('B2 a malformed value is 400 for everyone, also where acting is off', async t => {
  for (const env of [allowed, {}]) {
    const { service, ruth, admin, client } = await startWithBoth(t, env)
    for (const value of [
      '',
      'ruth@example.org',
      ruth.uuid.slice(1),
      `${ruth.uuid}0`,
      `{${ruth.uuid}}`,
      ruth.uuid.replaceAll('-', ''),
      `${ruth.uuid}, ${ruth.uuid}`,
      `${ruth.uuid}%00`,
      'z'.repeat(36),
      '1',
    ])
      for (const one of [admin, client, service.client()])
        await assertProblem(await one.get('/api/authn/status', as(value)), 400, 'bad-on-behalf-of')
  }
})

test('B2 two headers are malformed', async t => {
  const { service, ruth, admin } = await startWithBoth(t)
  const header = `X-On-Behalf-Of: ${ruth.uuid}`
  const request = head(
    'GET /api/authn/status HTTP/1.1',
    `Authorization: Bearer ${admin.token}`,
    header,
    header,
  )
  assert.equal((await exchange(service.address, request))?.status, 400)
})

/** Asserts that every caller gets the same answer for every target. */
async function assertRefusedAlike(clients: readonly Client[], uuids: readonly string[]): Promise<void> {
  const details = new Set<string>()
  for (const client of clients)
    for (const uuid of uuids) {
      const response = await client.get('/api/authn/status', as(uuid))
      details.add((await assertProblem(response, 403, 'on-behalf-of-refused')).detail)
    }
  assert.equal(details.size, 1)
}

test('B2 a caller who may not act gets 403 and does not learn who exists', async t => {
  const { service, ruth, boss, client } = await startWithBoth(t)
  await assertRefusedAlike([client, service.client()], [ruth.uuid, boss.uuid, randomUUID()])
  const expired = await service
    .client()
    .get('/api/authn/status', { ...as(ruth.uuid), authorization: 'Bearer x' })
  await assertProblem(expired, 403, 'on-behalf-of-refused')
})

test('B2 where acting is off nobody learns who exists, not even an administrator', async t => {
  const { service, ruth, boss, admin } = await startWithBoth(t, {})
  await assertRefusedAlike([admin, service.client()], [ruth.uuid, boss.uuid, randomUUID()])
})

test('B2 an administrator learns that there is no such eperson: 400', async t => {
  const { service, admin } = await startWithBoth(t)
  await assertProblem(await admin.get('/api/authn/status', as(randomUUID())), 400, 'bad-on-behalf-of')
  const gone = await service.addEperson('gone@example.org')
  await service.storage.people.deleteEperson('gone@example.org', commandEvent('eperson.delete'))
  await assertProblem(await admin.get('/api/authn/status', as(gone.uuid)), 400, 'bad-on-behalf-of')
})

test('B2 nobody acts as an administrator, not even as itself', async t => {
  const { service, boss, admin } = await startWithBoth(t)
  const other = await service.addEperson('other-admin@example.org', { admin: true })
  for (const uuid of [boss.uuid, other.uuid])
    await assertProblem(await admin.get('/api/authn/status', as(uuid)), 403, 'on-behalf-of-refused')
})

test('B5 the header beside a short-lived token that acts as the same eperson is accepted', async t => {
  const { service, ruth, admin } = await startWithBoth(t)
  const max = await service.addEperson('max@example.org')
  const { files } = await addItem(service, {
    identifier: 'x/1',
    files: [{ name: 'a.txt', content: 'for Ruth', readers: membersOf('Readers') }],
  })
  await service.storage.people.ensureGroups(['Readers'])
  await service.storage.people.join('Readers', ruthEmail, commandEvent('group.join'))
  const content = `/api/core/bitstreams/${files.get('a.txt')?.uuid}/content`
  const browser = service.client()
  // The token is sent as DSpace's Python client does, and in a link.
  for (const requestOf of [
    (short: string) => [content, { authorization: short }] as const,
    (short: string) => [`${content}?authentication-token=${short}`, {}] as const,
  ])
    await admin.withShortLived(
      async short => {
        const [path, headers] = requestOf(short)
        const answer = await browser.get(path, { ...headers, ...as(ruth.uuid.toUpperCase()) })
        assert.deepEqual([answer.status, answer.headers.get('x-acting-as')], [200, ruth.uuid])
        assert.equal(await answer.text(), 'for Ruth')
        const other = await browser.get(path, { ...headers, ...as(max.uuid) })
        await assertProblem(other, 403, 'on-behalf-of-refused')
      },
      as(ruth.uuid, 'a question about a download'),
    )
})

test('B2 acting can not be chained', async t => {
  const { service, ruth, admin } = await startWithBoth(t)
  const max = await service.addEperson('max@example.org')
  await admin.withShortLived(async short => {
    const path = `/api/authn/status?authentication-token=${short}`
    await assertProblem(await service.client().get(path, as(max.uuid)), 403, 'on-behalf-of-refused')
  }, as(ruth.uuid))
})

test('B2 a former administrator may not act from that moment on', async t => {
  const { service, ruth, admin } = await startWithBoth(t)
  assert.equal((await admin.get('/api/authn/status', as(ruth.uuid))).status, 200)
  await service.storage.people.leave('Administrator', adminEmail, commandEvent('group.leave'))
  await assertProblem(await admin.get('/api/authn/status', as(ruth.uuid)), 403, 'on-behalf-of-refused')
})

test('B3 administrator rights are dropped while acting', async t => {
  const { service, ruth, admin } = await startWithBoth(t)
  const max = await service.addEperson('max@example.org')
  await service.addRecords('secrets', 'id', [{ id: 1 }], 'admin')
  for (const path of [
    '/api/query/v4/groups',
    '/api/query/v4/epersons',
    '/api/query/v4/secrets',
    own(max.uuid),
  ]) {
    assert.equal((await admin.get(path)).status, 200)
    await assertProblem(await admin.get(path, as(ruth.uuid)), 403, 'access-denied')
  }
})

test('B3 special groups of the request stay while acting, those of the login do not', async t => {
  const env = {
    ...allowed,
    ...withSpecialGroups(t, {
      ip: [{ group: 'Campus', ranges: ['10.0.0.0/8'] }],
      method: [{ group: 'Local', method: 'password' }],
    }),
  }
  const { ruth, admin } = await startWithBoth(t, env)
  assert.deepEqual(await admin.specialGroups(from('10.1.2.3')), ['Campus', 'Local'])
  assert.deepEqual(await admin.specialGroups({ ...as(ruth.uuid), ...from('10.1.2.3') }), ['Campus'])
  assert.deepEqual(await admin.specialGroups({ ...as(ruth.uuid), ...from('192.0.2.1') }), [])
})

test('B3 a short-lived token made on behalf of someone is of that eperson', async t => {
  const { service, ruth, admin, client } = await startWithBoth(t)
  const status = await admin.withShortLived(async short => {
    assert.equal(claimsOf(short).eid, ruth.uuid)
    const status = `/api/authn/status?authentication-token=${short}`
    assert.equal((await service.client().status(status))._embedded.eperson?.uuid, ruth.uuid)
    const others = await service.client().get(`/api/query/v4/epersons?authentication-token=${short}`)
    await assertProblem(others, 403, 'access-denied')
    return status
  }, as(ruth.uuid))
  await client.post('/api/authn/logout')
  assert.equal(
    (await service.client().status(status)).authenticated,
    false,
    'it ends when that eperson logs out',
  )
})

test('B2 a short-lived token that acts as an eperson ends when the eperson becomes an administrator', async t => {
  const { service, ruth, admin } = await startWithBoth(t)
  const accepted = async (short: string) =>
    (await service.client().status(`/api/authn/status?authentication-token=${short}`)).authenticated
  const made = await admin.withShortLived(async short => {
    assert.equal(await accepted(short), true)
    return short
  }, as(ruth.uuid))
  await service.storage.people.join('Administrator', ruthEmail, commandEvent('group.join'))
  assert.equal(await accepted(made), false)
})

test('B3 an administrator may act by a short-lived token of its own', async t => {
  const { service, ruth, admin } = await startWithBoth(t)
  await admin.withShortLived(async short => {
    const path = `/api/authn/status?authentication-token=${short}`
    const status = await service.client().get(path, as(ruth.uuid))
    assert.equal(status.status, 200)
    assert.equal(((await status.json()) as Status)._embedded.eperson?.uuid, ruth.uuid)
  })
})

test('B4 the answer says as whom it was processed, errors included', async t => {
  const { ruth, admin } = await startWithBoth(t)
  for (const path of ['/api/authn/status', '/api/query/v4/audit-events', '/api/query/v4/nothing'])
    assert.equal(
      (await admin.get(path, as(ruth.uuid.toUpperCase()))).headers.get('x-acting-as'),
      ruth.uuid,
      path,
    )
  const short = await admin.post('/api/authn/shortlivedtokens', undefined, as(ruth.uuid))
  assert.equal(short.headers.get('x-acting-as'), ruth.uuid)
  assert.equal((await admin.get('/api/authn/status')).headers.get('x-acting-as'), null)
  assert.equal((await admin.get('/api/authn/status', as(randomUUID()))).headers.get('x-acting-as'), null)
})

test('B4 every event names who acted, as whom, and why', async t => {
  const { ruth, boss, admin } = await startWithBoth(t)
  await admin.get('/api/authn/status', as(ruth.uuid, 'Ticket 42: can not see "Shelf 7"'))
  await admin.get('/api/authn/status', as(ruth.uuid))
  await admin.post('/api/authn/shortlivedtokens', undefined, as(ruth.uuid, 'Ticket 43'))
  const event = {
    outcome: 'success',
    eperson: ruth.uuid,
    actor: boss.uuid,
    client_ip: '127.0.0.1',
    method: 'password',
    object: null,
    reason: null,
  }
  assert.deepEqual(await eventsOf(admin, 'on-behalf-of'), [
    { ...event, reason: 'Ticket 42: can not see "Shelf 7"' },
    event,
    { ...event, reason: 'Ticket 43' },
  ])
  assert.deepEqual(await eventsOf(admin, 'short-lived-token'), [{ ...event, reason: 'Ticket 43' }])
})

test('B4 a refused attempt of a known eperson is in the audit trail', async t => {
  const { service, ruth, boss, admin, client } = await startWithBoth(t)
  await client.get('/api/authn/status', as(boss.uuid, 'curious'))
  await admin.get('/api/authn/status', as(boss.uuid))
  await service.client().get('/api/authn/status', as(boss.uuid))
  const event = {
    outcome: 'failure',
    eperson: boss.uuid,
    client_ip: '127.0.0.1',
    method: 'password',
    object: null,
  }
  assert.deepEqual(await eventsOf(admin, 'on-behalf-of'), [
    { ...event, actor: ruth.uuid, reason: 'curious' },
    { ...event, actor: boss.uuid, reason: null },
  ])
})

test('B4 a reason in UTF-8 is kept as it was written', async t => {
  const { service, ruth, admin } = await startWithBoth(t)
  const reason = 'Überprüfung – 図書館'
  const request = head(
    'GET /api/authn/status HTTP/1.1',
    `Authorization: Bearer ${admin.token}`,
    `X-On-Behalf-Of: ${ruth.uuid}`,
    `X-On-Behalf-Of-Reason: ${reason}`,
  )
  assert.equal((await exchange(service.address, Buffer.from(request)))?.status, 200)
  assert.equal((await eventsOf(admin, 'on-behalf-of'))[0]?.reason, reason)
})

test('B4 the reason can be made mandatory', async t => {
  const { service, ruth, boss, admin, client } = await startWithBoth(t, {
    ...allowed,
    CARREL_ON_BEHALF_OF_REASON: 'required',
  })
  await assertProblem(await admin.get('/api/authn/status', as(ruth.uuid)), 400, 'reason-required')
  await assertProblem(await admin.get('/api/authn/status', as(ruth.uuid, '  ')), 400, 'reason-required')
  assert.equal((await admin.get('/api/authn/status', as(ruth.uuid, 'Ticket 1'))).status, 200)

  // The checks of B2 come first.
  await assertProblem(await client.get('/api/authn/status', as(ruth.uuid)), 403, 'on-behalf-of-refused')
  await assertProblem(
    await service.client().get('/api/authn/status', as(ruth.uuid)),
    403,
    'on-behalf-of-refused',
  )
  await assertProblem(await admin.get('/api/authn/status', as(randomUUID())), 400, 'bad-on-behalf-of')
  await assertProblem(await admin.get('/api/authn/status', as(boss.uuid)), 403, 'on-behalf-of-refused')
})

test('B4 refreshing is in the audit trail with its fields', async t => {
  const { ruth, admin, client } = await startWithBoth(t)
  await client.refresh()
  await assertUnauthorized(
    await client.post('/api/authn/login', undefined, { authorization: 'Bearer x' }),
    'login-failed',
  )
  assert.deepEqual(await eventsOf(admin, 'refresh'), [
    {
      outcome: 'success',
      eperson: ruth.uuid,
      actor: ruth.uuid,
      client_ip: '127.0.0.1',
      method: 'password',
      object: null,
      reason: null,
    },
  ])
})
