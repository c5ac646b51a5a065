import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bearerOf } from '../../support/clients/client.ts'
import { claimsOf } from '../../support/clients/jwt.ts'
import { metricsOf, scraper } from '../../support/clients/metrics.ts'
import { eventsOf } from '../../support/data/events.ts'
import { identity } from '../../support/providers/certificates.ts'
import { startDirectory } from '../../support/providers/ldap-directory.ts'
import {
  account,
  addressOf,
  boundTo,
  entries,
  groups,
  loginsTo,
  people,
  person,
  ruth,
  startCampus,
  withDirectory,
} from '../../support/providers/ldap-flow.ts'
import { test } from '../../support/service/engines.ts'
import { passwordOf, startService, temporaryFolder } from '../../support/service/service.ts'

const byName = { search: undefined, dn: `uid={user},${people}` }
const [failed, unavailable] = ['401 login-failed', '503 directory-unavailable']

test('LD1 LD4 a net id and the password of the directory give a token with special groups, at the first login too', async t => {
  const { service, directory } = await startCampus(t, {
    provider: {
      groups: [
        { group: 'Staff', attribute: 'memberOf', value: `cn=staff,${groups}` },
        { group: 'Nobody', attribute: 'memberOf', value: 'cn=none' },
      ],
    },
    file: { specialGroups: { method: [{ group: 'University', method: 'ldap' }] } },
  })
  const client = service.client()
  const response = await client.tryLogin(ruth.user, ruth.password)
  assert.deepEqual([response.status, await response.text()], [200, ''])
  client.token = bearerOf(response)
  assert.deepEqual(Object.keys(claimsOf(client.token)).toSorted(), ['eid', 'exp', 'sg'])
  const status = (await client.status()) as {
    authenticationMethod?: string
    _embedded: { eperson?: unknown }
  }
  assert.equal(status.authenticationMethod, 'ldap')
  assert.equal((status._embedded.eperson as { email: string }).email, ruth.email)
  assert.deepEqual(await client.specialGroups(), ['Staff', 'University'])
  client.token = await client.refresh()
  assert.deepEqual(await client.specialGroups(), ['Staff', 'University'])
  assert.deepEqual(boundTo(directory), [ruth.dn])
  // The email address leads to the same person.
  const again = await service.client().tryLogin(ruth.email.toUpperCase(), ruth.password)
  assert.equal(claimsOf(bearerOf(again)).eid, claimsOf(client.token).eid)
  assert.equal((await client.post('/api/authn/logout')).status, 204)
  assert.equal(await client.isLoggedIn(), false)
})

test('LD1 L4 to clients it is a password like any other, also where epersons have none of their own', async t => {
  for (const methods of [undefined, ['ldap'], ['ldap', 'password']]) {
    const { service, logIn } = await startCampus(t, { singleSignOn: methods ? { methods } : {} })
    const { headers } = await service.client().get('/api/authn/status')
    assert.equal(headers.get('www-authenticate'), 'password realm="Carrel"')
    assert.equal(await logIn(), '200')
  }
})

test('LD1 the password of an eperson who has one here is not sent to the directory, nor taken from it', async t => {
  const { service, directory, logIn } = await startCampus(t, { provider: { email: { match: true } } })
  await service.addEperson(ruth.email)
  assert.equal(await logIn(ruth.email, passwordOf(ruth.email)), '200')
  assert.equal(await logIn(ruth.email.toUpperCase(), ruth.password), failed, 'the directory’s')
  assert.deepEqual(directory.asked, [])
  // The directory's password doesn't open that account under another name, although addresses are matched.
  assert.equal(await logIn(ruth.user, ruth.password), failed)
  assert.deepEqual(boundTo(directory), [ruth.dn])
})

test('LD1 passwords of the service itself count for nothing where only ldap is a method', async t => {
  const { service, logIn } = await startCampus(t, { singleSignOn: { methods: ['ldap'] } })
  await service.addEperson('max@example.org')
  assert.equal(await logIn('max@example.org', passwordOf('max@example.org')), failed)
})

test('LD1 where ldap is no method, nobody asks the directory', async t => {
  const { service, directory, logIn } = await startCampus(t, { singleSignOn: { methods: ['password'] } })
  await service.addEperson('max@example.org')
  assert.equal(await logIn('max@example.org', passwordOf('max@example.org')), '200')
  assert.equal(await logIn(), failed)
  assert.deepEqual(directory.asked, [])
})

test('LD2 a template gives the name of the entry, and the person reads it', async t => {
  const { directory, logIn } = await startCampus(t, { provider: byName })
  assert.equal(await logIn(), '200')
  assert.equal(await logIn('ruth', 'wrong'), failed)
  assert.equal(await logIn('nobody'), failed)
  assert.deepEqual(boundTo(directory), [ruth.dn, ruth.dn, `uid=nobody,${people}`])
})

test('LD4 groups that list their members give special groups', async t => {
  const rules = [{ group: 'Curators', attribute: 'memberOf', value: `cn=curators,${groups}` }]
  for (const provider of [{}, byName]) {
    const { service } = await startCampus(t, {
      provider: { ...provider, groups: rules, groupSearch: { base: groups } },
    })
    for (const [user, expected] of [
      ['ruth', ['Curators']],
      ['max', []],
    ] as const) {
      const client = service.client()
      client.token = bearerOf(await client.tryLogin(user, ruth.password))
      assert.deepEqual(await client.specialGroups(), expected)
    }
  }
})

test('LD4 a changed password of the directory holds at once, and tokens stay', async t => {
  const { service, directory, logIn } = await startCampus(t)
  const client = service.client()
  client.token = bearerOf(await client.tryLogin(ruth.user, ruth.password))
  directory.entries = [...entries.filter(({ dn }) => dn !== ruth.dn), person('ruth', { password: 'new' })]
  assert.equal(await logIn(), failed)
  assert.equal(await logIn('ruth', 'new'), '200')
  assert.equal(await client.isLoggedIn(), true)
})

test('LD3 with ldaps and with StartTLS everything is encrypted, and the certificate must be trusted and be the host’s', async t => {
  const ca = join(temporaryFolder(t, 'sqlite'), 'ca.pem')
  const [good, other] = [identity('localhost'), identity('elsewhere.example.edu')]
  writeFileSync(ca, good.certificate + other.certificate)
  const cases = [
    { tls: true, certificate: good, trusted: ca, host: 'localhost', expected: '200' },
    { tls: false, certificate: good, trusted: ca, host: 'localhost', expected: '200' },
    { tls: true, certificate: good, trusted: undefined, host: 'localhost', expected: unavailable },
    { tls: false, certificate: good, trusted: undefined, host: 'localhost', expected: unavailable },
    { tls: true, certificate: other, trusted: ca, host: 'localhost', expected: unavailable },
    { tls: false, certificate: other, trusted: ca, host: 'localhost', expected: unavailable },
    { tls: true, certificate: good, trusted: ca, host: '127.0.0.1', expected: unavailable },
  ]
  for (const { tls, certificate, trusted, host, expected } of cases) {
    const directory = await startDirectory(t, entries, { tls, certificate })
    const address = `${tls ? 'ldaps' : 'ldap'}://${host}:${directory.port}`
    const env = withDirectory(t, [address], { provider: { startTls: true, ...(trusted && { ca: trusted }) } })
    assert.equal(await loginsTo(await startService(t, { env }))(), expected, JSON.stringify([tls, host]))
    const open = directory.asked.filter(({ isEncrypted }) => !isEncrypted)
    assert.ok(
      open.every(({ kind }) => kind === 'start-tls'),
      JSON.stringify(open),
    )
  }
})

test('LD3 the next server is asked when one fails, at first and later, and a wrong password is no failure', async t => {
  const [first, second] = [await startDirectory(t, entries), await startDirectory(t, entries)]
  const env = withDirectory(t, [addressOf(first), addressOf(second)])
  const logIn = loginsTo(await startService(t, { env }))
  assert.equal(await logIn('ruth', 'wrong'), failed)
  assert.equal(second.asked.length, 0)
  // Code 52 means unavailable.
  first.twist = (asked, { result }) => {
    if (asked.kind !== 'bind' || asked.dn !== ruth.dn) return false
    result(0x61, 52)
    return true
  }
  assert.equal(await logIn(), '200')
  assert.ok(second.asked.length > 0)
  // The failed server is now tried last.
  const before = first.asked.length
  assert.equal(await logIn(), '200')
  assert.equal(first.asked.length, before)
  await second.stop()
  first.twist = undefined
  assert.equal(await logIn(), '200', 'rather than nobody')
  await first.stop()
  const client = (await startService(t, { env })).client()
  const response = await client.tryLogin(ruth.user, ruth.password)
  assert.deepEqual([response.status, response.headers.get('retry-after')], [503, '10'])
})

test('LD3 a directory that fails keeps nobody out who has a password here', async t => {
  const { service, directory, logIn } = await startCampus(t)
  await service.addEperson('max@example.org')
  await directory.stop()
  assert.equal(await logIn(), unavailable)
  assert.equal(await logIn('max@example.org', passwordOf('max@example.org')), '200')
})

test('LD6 the audit trail and the metrics have the method ldap and the provider', async t => {
  const { service, logIn } = await startCampus(t, { env: scraper.env })
  await service.addEperson('admin@example.org', { admin: true })
  assert.deepEqual(
    [await logIn(), await logIn('ruth', 'wrong'), await logIn('nobody')],
    ['200', failed, failed],
  )
  const admin = await service.loggedIn('admin@example.org')
  const logins = (await eventsOf(admin, 'login')).filter(({ method }) => method === 'ldap')
  const [success] = logins
  assert.ok(success?.eperson)
  assert.deepEqual(
    logins.map(({ outcome, eperson, actor, object }) => [outcome, eperson, actor, object]),
    [
      ['success', success.eperson, success.eperson, 'uni'],
      ['failure', success.eperson, null, 'uni'],
      ['failure', null, null, 'uni'],
    ],
  )
  const metrics = await metricsOf(service.address)
  assert.equal(metrics.of('carrel_logins_total', { method: 'ldap', outcome: 'success' }), 1)
  assert.equal(metrics.of('carrel_logins_total', { method: 'ldap', outcome: 'failure' }), 2)
  assert.equal(metrics.of('carrel_queue_running', { queue: 'directory' }), 0)
  assert.ok(metrics.series.some(name => name.includes('queue="directory"')))
  // The account that searches can't log in.
  assert.equal(await logIn(account.dn, account.password), failed)
})
