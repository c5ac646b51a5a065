import assert from 'node:assert/strict'
import { bearerOf } from '../../support/clients/client.ts'
import { claimsOf } from '../../support/clients/jwt.ts'
import { exchange, head } from '../../support/clients/raw.ts'
import { eventsOf } from '../../support/data/events.ts'
import { from, withSpecialGroups } from '../../support/service/configuration.ts'
import { test } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

const email = 'ruth@example.org'
const campus = { ip: [{ group: 'Campus', ranges: ['10.0.0.0/8'] }] }

test('G1 ranges of IPv4 and IPv6, single addresses, networks and exceptions give groups', async t => {
  const ranges: Record<string, readonly string[]> = {
    Single: ['192.0.2.1', '2001:db8::1'],
    Campus: ['10.0.0.0/8', '!10.9.0.0/16', '!10.1.2.3'],
    'Odd prefix': ['172.16.0.0/13', '2001:db8:8000::/33'],
    'Host bits set': ['198.51.100.77/24'],
    Six: ['2001:db8::/32', '!2001:db8:ffff::/48'],
    'All of IPv4': ['0.0.0.0/0'],
  }
  const env = withSpecialGroups(t, {
    ip: Object.entries(ranges).map(([group, list]) => ({ group, ranges: list })),
  })
  const client = (await startService(t, { env })).client()
  const expected: Record<string, readonly string[]> = {
    '192.0.2.1': ['All of IPv4', 'Single'],
    '192.0.2.2': ['All of IPv4'],
    '192.0.2.10': ['All of IPv4'],
    '10.0.0.0': ['All of IPv4', 'Campus'],
    '10.255.255.255': ['All of IPv4', 'Campus'],
    '11.0.0.0': ['All of IPv4'],
    '9.255.255.255': ['All of IPv4'],
    '10.9.0.0': ['All of IPv4'],
    '10.9.255.255': ['All of IPv4'],
    '10.10.0.0': ['All of IPv4', 'Campus'],
    '10.1.2.3': ['All of IPv4'],
    '172.16.0.1': ['All of IPv4', 'Odd prefix'],
    '172.23.255.255': ['All of IPv4', 'Odd prefix'],
    '172.24.0.0': ['All of IPv4'],
    '198.51.100.1': ['All of IPv4', 'Host bits set'],
    '2001:db8::1': ['Single', 'Six'],
    '2001:0DB8:0000:0000:0000:0000:0000:0001': ['Single', 'Six'],
    '2001:db8::2': ['Six'],
    '2001:db8:7fff::1': ['Six'],
    '2001:db8:8000::1': ['Odd prefix', 'Six'],
    '2001:db8:ffff::1': ['Odd prefix'],
    '2001:db9::1': [],
    '::1': [],
  }
  for (const [address, groups] of Object.entries(expected))
    assert.deepEqual(await client.specialGroups(from(address)), groups, address)
})

test('G1 IPv4 in IPv6 is the IPv4 address, in each spelling', async t => {
  const env = withSpecialGroups(t, { ip: [{ group: 'Campus', ranges: ['10.0.0.0/8', '!10.9.0.0/16'] }] })
  const client = (await startService(t, { env })).client()
  for (const inside of ['::ffff:10.1.2.3', '::FFFF:10.1.2.3', '::ffff:a01:203', '0:0:0:0:0:ffff:10.1.2.3'])
    assert.deepEqual(await client.specialGroups(from(inside)), ['Campus'], inside)
  for (const outside of ['::ffff:10.9.2.3', '::ffff:a09:203', '::ffff:192.0.2.1', '::10.1.2.3'])
    assert.deepEqual(await client.specialGroups(from(outside)), [], outside)
})

test('G1 a proxy may send the port of the client with its address', async t => {
  const env = withSpecialGroups(t, { ip: [{ group: 'Campus', ranges: ['10.0.0.0/8', '2001:db8::/32'] }] })
  const client = (await startService(t, { env })).client()
  for (const inside of ['10.1.2.3:5123', '[2001:db8::1]:5123', '[2001:db8::1]', '[::ffff:10.1.2.3]:5123'])
    assert.deepEqual(await client.specialGroups(from(inside)), ['Campus'], inside)
  for (const outside of ['192.0.2.1:5123', '[2001:db9::1]:5123'])
    assert.deepEqual(await client.specialGroups(from(outside)), [], outside)
})

test('G1 X-Forwarded-For is ignored where no proxy is trusted', async t => {
  const env = { ...withSpecialGroups(t, campus), CARREL_TRUSTED_PROXIES: '' }
  const client = (await startService(t, { env })).client()
  assert.deepEqual(await client.specialGroups(from('10.1.2.3')), [])
})

test('G1 X-Forwarded-For is ignored from an address that is no trusted proxy', async t => {
  const env = { ...withSpecialGroups(t, campus), CARREL_TRUSTED_PROXIES: '192.0.2.7,10.0.0.0/8' }
  const client = (await startService(t, { env })).client()
  assert.deepEqual(await client.specialGroups(from('10.1.2.3')), [])
})

test('G1 the right-most untrusted hop is the client', async t => {
  const env = { ...withSpecialGroups(t, campus), CARREL_TRUSTED_PROXIES: '127.0.0.1,192.0.2.0/24' }
  const client = (await startService(t, { env })).client()
  for (const [hops, groups] of [
    ['10.1.2.3', ['Campus']],
    ['198.51.100.1, 10.1.2.3', ['Campus']],
    ['10.1.2.3, 198.51.100.1', []],
    ['10.1.2.3, 192.0.2.9', ['Campus']],
    ['10.1.2.3,192.0.2.9,192.0.2.8', ['Campus']],
    ['10.1.2.3, 198.51.100.1, 192.0.2.9', []],
    ['198.51.100.1, 10.1.2.3, 192.0.2.9', ['Campus']],
    ['10.1.2.3, 127.0.0.1', ['Campus']],
  ] as const)
    assert.deepEqual(await client.specialGroups(from(hops)), groups, hops)
})

test('G1 of several X-Forwarded-For headers the last one counts most', async t => {
  const service = await startService(t, { env: withSpecialGroups(t, campus) })
  const groupsOf = async (...hops: string[]) => {
    const lines = hops.map(hop => `X-Forwarded-For: ${hop}`)
    const answer = await exchange(service.address, head('GET /api/authn/status HTTP/1.1', ...lines))
    return /"totalElements":(\d+)/.exec(answer?.body ?? '')?.[1]
  }
  assert.equal(await groupsOf('198.51.100.1', '10.1.2.3'), '1')
  assert.equal(await groupsOf('10.1.2.3', '198.51.100.1'), '0')
})

test('G1 a hop that is no address is nobody: no group, no error', async t => {
  const env = withSpecialGroups(t, { ip: [{ group: 'Everyone', ranges: ['0.0.0.0/0', '::/0'] }] })
  const client = (await startService(t, { env })).client()
  for (const hop of [
    'unknown',
    '10.1.2.3, unknown',
    '10.1.2.300',
    '10.1.2',
    '10.1.2.3/8',
    '010.1.2.3',
    '0x0a010203',
    '2130706433',
    '10.1.2.3:',
    '10.1.2.3:8080:1',
    '[2001:db8::1',
    '[10.1.2.300]:8080',
    '::ffff:10.1.2.300',
    '<script>',
    "' OR 1=1",
    'x'.repeat(5_000),
  ])
    assert.deepEqual(await client.specialGroups(from(hop)), [], hop)
  assert.deepEqual(await client.specialGroups(from('2001:db8::1')), ['Everyone'])
})

test('G1 an address with a zone is no error', async t => {
  const env = withSpecialGroups(t, { ip: [{ group: 'Link', ranges: ['fe80::/10'] }] })
  const client = (await startService(t, { env })).client()
  assert.equal((await client.get('/api/authn/status', from('fe80::1%eth0'))).status, 200)
})

test('G1 groups by address are evaluated on every request and never frozen into sg', async t => {
  const service = await startService(t, { env: withSpecialGroups(t, campus) })
  await service.addEperson(email)
  const client = service.client()
  const inside = from('10.1.2.3')
  const form = new URLSearchParams({ user: email, password: `secret of ${email}` })
  const answer = await client.post('/api/authn/login', form, inside)
  const token = bearerOf(answer)
  client.token = token
  const refreshed = await client.post('/api/authn/login', undefined, inside)
  const short = await client.shortLivedToken(inside)
  for (const one of [token, bearerOf(refreshed), short]) assert.deepEqual(claimsOf(one).sg, [])

  for (let round = 0; round < 3; round++) {
    assert.deepEqual(await client.specialGroups(inside), ['Campus'])
    assert.deepEqual(await client.specialGroups(from('192.0.2.1')), [])
    assert.deepEqual(await client.specialGroups(), [])
  }
})

test('G1 a group by address opens what the group may read, for anonymous too', async t => {
  const service = await startService(t, { env: withSpecialGroups(t, campus) })
  await service.addRecords('papers', 'id', [{ id: 1 }], 'group:Campus')
  await service.addEperson(email)
  const client = service.client()
  const statusFrom = async (address: string) =>
    (await client.get('/api/query/v4/papers', from(address))).status
  assert.equal(await statusFrom('10.1.2.3'), 200)
  assert.equal(await statusFrom('192.0.2.1'), 401)
  await client.login(email)
  assert.equal(await statusFrom('10.1.2.3'), 200)
  assert.equal(await statusFrom('192.0.2.1'), 403)
})

test('G1 the audit trail names the client address that was believed', async t => {
  const service = await startService(t, { env: withSpecialGroups(t, campus) })
  await service.addEperson('admin@example.org', { admin: true })
  const form = () => new URLSearchParams({ user: 'nobody@example.org', password: 'x' })
  const addresses = ['10.1.2.3', '::ffff:192.0.2.1', '2001:db8::1', 'unknown']
  for (const address of addresses) await service.client().post('/api/authn/login', form(), from(address))
  const admin = await service.loggedIn('admin@example.org')
  const seen = (await eventsOf(admin, 'login')).map(event => event.client_ip)
  assert.deepEqual(seen, ['10.1.2.3', '192.0.2.1', '2001:db8::1', null, '127.0.0.1'])
})

test('G1 G2 no way of arriving makes an administrator', async t => {
  for (const specialGroups of [
    { ip: [{ group: 'Administrator', ranges: ['10.0.0.0/8'] }] },
    { method: [{ group: 'Administrator', method: 'password' as const }] },
  ])
    await assert.rejects(startService(t, { env: withSpecialGroups(t, specialGroups) }), /Administrator/)
})

test('G2 the login method gives groups, which are in sg, in the status, and kept on refresh', async t => {
  const env = withSpecialGroups(t, {
    method: [
      { group: 'Local', method: 'password' },
      { group: 'Readers', method: 'password' },
      { group: 'Local', method: 'password' },
    ],
  })
  const service = await startService(t, { env })
  await service.addEperson(email)
  const groups = await service.storage.people.ensureGroups(['Local', 'Readers'])
  const uuids = groups.map(group => group.uuid)
  const client = service.client()
  assert.deepEqual(await client.specialGroups(), [])
  const token = await client.login(email)
  assert.deepEqual(claimsOf(token).sg, uuids)
  assert.deepEqual(claimsOf(await client.refresh()).sg, uuids)
  assert.deepEqual(claimsOf(await client.shortLivedToken()).sg, uuids)
  assert.deepEqual(await client.specialGroups(), ['Local', 'Readers'])
})

test('G2 a refresh keeps sg, also when the configuration gives no groups any more', async t => {
  const env = withSpecialGroups(t, { method: [{ group: 'Local', method: 'password' }] })
  const service = await startService(t, { env })
  await service.addEperson(email)
  const old = await service.client().login(email)
  await service.stop()

  const again = await startService(t, { dataFolder: service.dataFolder })
  const client = again.client()
  client.token = old
  const refreshed = await client.refresh()
  assert.deepEqual(claimsOf(refreshed).sg, claimsOf(old).sg)
  assert.equal(claimsOf(old).sg.length, 1)
  client.token = refreshed
  assert.deepEqual(await client.specialGroups(), ['Local'])
  assert.deepEqual(
    claimsOf(await client.login(email)).sg,
    [],
    'a new login gets what the configuration gives now',
  )
})

test('G2 a group that the method and the address give is there once', async t => {
  const env = withSpecialGroups(t, {
    ip: [
      { group: 'Local', ranges: ['10.0.0.0/8'] },
      { group: 'Local', ranges: ['10.1.0.0/16'] },
    ],
    method: [{ group: 'Local', method: 'password' }],
  })
  const service = await startService(t, { env })
  await service.addEperson(email)
  const client = service.client()
  assert.deepEqual(await client.specialGroups(from('10.1.2.3')), ['Local'])
  await client.login(email)
  assert.deepEqual(await client.specialGroups(from('10.1.2.3')), ['Local'])
})

test('G2 the group of a method opens what the group may read', async t => {
  const env = withSpecialGroups(t, { method: [{ group: 'Local', method: 'password' }] })
  const service = await startService(t, { env })
  await service.addRecords('papers', 'id', [{ id: 1 }], 'group:Local')
  await service.addEperson(email)
  const client = service.client()
  assert.equal((await client.get('/api/query/v4/papers')).status, 401)
  await client.login(email)
  assert.equal((await client.get('/api/query/v4/papers')).status, 200)
  await client.withShortLived(async short => {
    const papers = await service.client().get(`/api/query/v4/papers?authentication-token=${short}`)
    assert.equal(papers.status, 200)
  })
})
