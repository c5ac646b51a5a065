import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import type { AllowedSessions } from '../../../src/model/sessions.ts'
import { assertProblem, assertUnauthorized } from '../../support/clients/answers.ts'
import type { Client } from '../../support/clients/client.ts'
import { metricsOf, scraper } from '../../support/clients/metrics.ts'
import { postJson } from '../../support/clients/people.ts'
import { eventsOf } from '../../support/data/events.ts'
import { anyEperson, contentOf, putItem } from '../../support/data/repository.ts'
import { startCampus } from '../../support/providers/ldap-flow.ts'
import { startCompany } from '../../support/providers/openid-company.ts'
import { browserOf, signIn, trade } from '../../support/providers/openid-flow.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { passwordOf, type Service, startService, temporaryFolder } from '../../support/service/service.ts'

/** Epersons whose sessions a system-wide alert allows or ends (docs/decisions/0053). */
const [adminEmail, ruthEmail, maxEmail] = ['admin@example.org', 'ruth@example.org', 'max@example.org']
const alerts = '/api/system/systemwidealerts'

async function started(t: TestContext) {
  const dataFolder = temporaryFolder(t)
  const service = await startService(t, {
    dataFolder,
    env: { CARREL_LOGIN_ON_BEHALF_OF: 'true', ...scraper.env },
  })
  await service.addEperson(adminEmail, { admin: true })
  const { uuid } = await service.addEperson(ruthEmail)
  await service.addEperson(maxEmail)
  const admin = await service.loggedIn(adminEmail)
  const ruth = await service.loggedIn(ruthEmail)
  return { service, dataFolder, admin, ruth, uuid }
}

/** Changes the alert as an administrator. */
async function allow(admin: Client, allowSessions: AllowedSessions, active = true): Promise<void> {
  const alert = { message: 'We move house.', allowSessions, active }
  const there = await admin.get(`${alerts}/1`)
  const headers = { 'content-type': 'application/json' }
  const answer =
    there.status === 404
      ? await admin.post(alerts, JSON.stringify(alert), headers)
      : await admin.put(`${alerts}/1`, JSON.stringify(alert), headers)
  assert.ok(answer.ok, await answer.text())
}

const logIn = (service: Service, email: string, password = passwordOf(email)) =>
  service.client().tryLogin(email, password)

/** Returns a client with an access token of the owner. */
async function program(service: Service, owner: Client): Promise<Client> {
  const client = service.client()
  const made = await postJson(owner, '/api/authn/tokens', { name: 'nightly' })
  assert.equal(made.status, 201)
  client.token = ((await made.json()) as { token: string }).token
  return client
}

test('S5 while the alert allows current sessions, only administrators log in, and the others go on', async t => {
  const { service, admin, ruth } = await started(t)
  const script = await program(service, ruth)
  await allow(admin, 'current')
  await assertProblem(await logIn(service, ruthEmail), 403, 'logins-closed')
  await assertProblem(await logIn(service, maxEmail), 403, 'logins-closed')
  // L5: without the right password, the answer is the usual one.
  await assertProblem(await logIn(service, ruthEmail, 'wrong'), 401, 'login-failed')
  await assertProblem(await logIn(service, 'nobody@example.org'), 401, 'login-failed')
  assert.equal((await logIn(service, adminEmail)).status, 200)
  assert.equal(await ruth.isLoggedIn(), true)
  ruth.token = await ruth.refresh()
  assert.equal(await ruth.isLoggedIn(), true)
  assert.equal(await script.isLoggedIn(), true)
  const failed = (await eventsOf(admin, 'login')).filter(({ outcome }) => outcome === 'failure')
  assert.equal(failed.filter(({ reason }) => reason === 'the system-wide alert').length, 2)

  await allow(admin, 'current', false)
  assert.equal((await logIn(service, maxEmail)).status, 200, 'the alert isn’t active')
  await allow(admin, 'all')
  assert.equal((await logIn(service, maxEmail)).status, 200)
})

test('S5 while the alert allows administrators only, no token of anybody else is valid, on any node', async t => {
  const { service, dataFolder, admin, ruth, uuid } = await started(t)
  const other = await startService(t, { dataFolder })
  const { bitstreams } = await putItem(service, 'letter', anyEperson, [{ name: 'a.txt', content: 'hello' }])
  const [file] = bitstreams
  assert.ok(file)
  const content = contentOf(file)
  const script = await program(service, ruth)
  const downloaded = async (token: string) => {
    const answer = await service.client().get(`${content}?authentication-token=${token}`)
    assert.equal(answer.status, 200)
    return answer
  }
  const download = await ruth.withShortLived(downloaded)
  const lease = download.headers.getSetCookie().find(one => one.startsWith('CARREL-LEASE=')) ?? ''
  const cookie = lease.split(';')[0] ?? ''
  const elsewhere = other.client()
  elsewhere.token = ruth.token
  assert.equal(await elsewhere.isLoggedIn(), true)
  const short = await ruth.shortLivedToken()

  await allow(admin, 'admin')
  for (const client of [ruth, elsewhere, script]) assert.equal(await client.isLoggedIn(), false)
  await assertUnauthorized(await ruth.get('/api/authn/sessions'))
  await assertUnauthorized(await service.client().get(`${content}?authentication-token=${short}`))
  await assertUnauthorized(await service.client().get(content, { cookie }))
  await assertProblem(await ruth.post('/api/authn/login'), 401, 'login-failed')
  await assertProblem(await logIn(other, ruthEmail), 403, 'logins-closed')
  const { of } = await metricsOf(service.address)
  assert.ok(of('carrel_tokens_refused_total', { kind: 'login', reason: 'alert' }) > 0)
  assert.ok(of('carrel_tokens_refused_total', { kind: 'access', reason: 'alert' }) > 0)
  // Content that is open to everyone stays readable, with or without a token.
  assert.equal((await ruth.get(`${alerts}/search/active`)).status, 200)

  const again = other.client()
  again.token = admin.token
  assert.equal(await again.isLoggedIn(), true)
  const acting = await admin.get('/api/authn/status', { 'x-on-behalf-of': uuid })
  assert.equal(acting.headers.get('x-acting-as'), uuid, 'an administrator may act as someone')
  await admin.withShortLived(downloaded, { 'x-on-behalf-of': uuid })

  await allow(admin, 'admin', false)
  for (const client of [ruth, elsewhere, script]) assert.equal(await client.isLoggedIn(), true)
  assert.equal((await service.client().get(content, { cookie })).status, 200)
})

test('S5 T4 a logout while the alert allows administrators only ends the session for good', async t => {
  const { admin, ruth } = await started(t)
  const token = ruth.token
  await allow(admin, 'admin')
  assert.equal((await ruth.post('/api/authn/logout')).status, 204)
  await allow(admin, 'all')
  ruth.token = token
  assert.equal(await ruth.isLoggedIn(), false)
})

test('S5 an eperson who becomes an administrator, or is none any more, counts as what they are now', async t => {
  const { service, admin, ruth } = await started(t)
  const { people } = service.storage
  await allow(admin, 'admin')
  assert.equal(await ruth.isLoggedIn(), false)
  await people.join('Administrator', ruthEmail, commandEvent('group.join'))
  assert.equal(await ruth.isLoggedIn(), true)
  await people.leave('Administrator', ruthEmail, commandEvent('group.leave'))
  assert.equal(await ruth.isLoggedIn(), false)
  await assertProblem(await logIn(service, ruthEmail), 403, 'logins-closed')
})

testOn('sqlite', 'S5 X2 LD1 logins by single sign-on and at a directory are closed, too', async t => {
  const campus = await startCampus(t)
  const alert = { message: 'x', allowSessions: 'current', countdownTo: null, active: true } as const
  await campus.service.storage.alerts.add(alert, commandEvent('alert.change'))
  assert.equal(await campus.logIn(), '403 logins-closed')
  assert.equal(await campus.logIn('ruth', 'wrong'), '401 login-failed')

  const { company, start } = await startCompany()
  t.after(() => company.stop())
  const service = await start(t)
  await service.storage.alerts.add(alert, commandEvent('alert.change'))
  const browser = browserOf(service)
  await signIn(browser)
  await assertProblem(await trade(browser), 403, 'logins-closed')
})
