import assert from 'node:assert/strict'
import { eventsOf } from '../../support/data/events.ts'
import { ruthEmail, startWithRuthLoggedIn } from '../../support/data/ruth.ts'
import { test } from '../../support/service/engines.ts'
import { baseUrl, startService } from '../../support/service/service.ts'

const logout = '/api/authn/logout'
const logoutPage = 'https://ui.example.edu/goodbye?from=carrel'

test('T4 logout ends every token of the user', async t => {
  const service = await startService(t)
  await service.addEperson('ruth@example.org')
  const phone = service.client()
  const laptop = service.client()
  const tokens = [await phone.login('ruth@example.org'), await laptop.login('ruth@example.org')]
  for (const token of tokens) assert.equal(await phone.isLoggedIn(token), true)

  assert.equal((await phone.post('/api/authn/logout')).status, 204)
  for (const token of tokens) assert.equal(await laptop.isLoggedIn(token), false)
})

test('T4 logout ends refreshed and short-lived tokens too and leaves other users alone', async t => {
  const { service, client } = await startWithRuthLoggedIn(t)
  const max = await service.addLoggedIn('max@example.org')
  const refreshed = await client.refresh()
  const short = await client.shortLivedToken()

  assert.equal((await client.post(logout)).status, 204)
  assert.equal(await client.isLoggedIn(refreshed), false)
  const status = await service.client().status(`/api/authn/status?authentication-token=${short}`)
  assert.equal(status.authenticated, false)
  assert.equal(await max.isLoggedIn(), true)
})

test('T4 another node on the same store accepts no earlier token after the 204', async t => {
  const { service, client } = await startWithRuthLoggedIn(t)
  const node = await startService(t, { dataFolder: service.dataFolder })
  const elsewhere = node.client()
  for (let round = 0; round < 5; round++) {
    const token = await client.login(ruthEmail)
    assert.equal(await elsewhere.isLoggedIn(token), true)
    assert.equal((await client.post(logout)).status, 204)
    assert.equal(await elsewhere.isLoggedIn(token), false)
  }
})

test('T4 after a logout the user can log in again and stays so after a restart', async t => {
  const { service, client } = await startWithRuthLoggedIn(t)
  const ended = client.token
  await client.post(logout)
  const token = await client.login(ruthEmail)
  await service.stop()
  const again = (await startService(t, { dataFolder: service.dataFolder })).client()
  assert.equal(await again.isLoggedIn(token), true)
  assert.equal(await again.isLoggedIn(ended), false)
})

test('O1 logout is POST only', async t => {
  const { service, client } = await startWithRuthLoggedIn(t)
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const answer = await client.request(logout, { method })
    assert.equal(answer.status, 405, method)
    assert.equal(answer.headers.get('allow'), 'POST', method)
  }
  assert.equal(await service.client().isLoggedIn(client.token), true)
})

test('O1 logout is 204 without a token, with an invalid one, and again and again', async t => {
  const { service, client } = await startWithRuthLoggedIn(t)
  const stranger = service.client()
  assert.equal((await stranger.post(logout)).status, 204)
  for (const authorization of ['Bearer x', 'Bearer', 'Basic eA==', `Bearer ${client.token}x`])
    assert.equal((await stranger.post(logout, undefined, { authorization })).status, 204, authorization)
  assert.equal(await client.isLoggedIn(), true)

  for (let round = 0; round < 3; round++) {
    const answer = await client.post(logout)
    assert.equal(answer.status, 204)
    assert.equal(await answer.text(), '')
    assert.equal(answer.headers.get('location'), null)
    assert.equal(answer.headers.get('authorization'), null)
  }
})

test('O1 logout is 204 whatever body comes along', async t => {
  const { client } = await startWithRuthLoggedIn(t)
  for (const [type, body] of [
    ['application/json', '{}'],
    ['application/json', '{"broken'],
    ['application/x-www-form-urlencoded', 'a=%zz'],
    ['text/plain', 'bye'],
    ['multipart/form-data; boundary=x', '--x--'],
  ] as const) {
    await client.login(ruthEmail)
    assert.equal((await client.post(logout, body, { 'content-type': type })).status, 204, type)
    assert.equal(await client.isLoggedIn(), false)
  }
})

test('O1 a successful logout leads to the configured page, any other is 204', async t => {
  const { service, client } = await startWithRuthLoggedIn(t, { CARREL_LOGOUT_PAGE_URL: logoutPage })
  const token = client.token
  const stranger = await service.client().post(logout)
  assert.equal(stranger.status, 204)
  assert.equal(stranger.headers.get('location'), null)

  const answer = await client.post(logout)
  assert.equal(answer.status, 302)
  assert.equal(answer.headers.get('location'), logoutPage)
  assert.equal(await answer.text(), '')
  assert.equal(await client.isLoggedIn(token), false)
  assert.equal((await client.post(logout)).status, 204, 'the token is not valid any more')
})

test('O1 a short-lived token logs its user out', async t => {
  const { service, client } = await startWithRuthLoggedIn(t)
  await client.withShortLived(async short => {
    assert.equal((await service.client().post(`${logout}?authentication-token=${short}`)).status, 204)
    // With an expired token, the logout does nothing.
    assert.equal(await client.isLoggedIn(), false)
  })
})

test('O2 action and return are accepted and change nothing', async t => {
  const { client } = await startWithRuthLoggedIn(t)
  const evil = encodeURIComponent('https://evil.example/')
  for (const parameters of [
    `action=logout&return=${evil}`,
    `return=${evil}`,
    'action=finish',
    'action=&return=',
    'action=x&action=y',
  ]) {
    const token = await client.login(ruthEmail)
    const answer = await client.post(`${logout}?${parameters}`)
    assert.equal(answer.status, 204, parameters)
    assert.equal(answer.headers.get('location'), null)
    assert.equal(await client.isLoggedIn(token), false)

    await client.login(ruthEmail)
    assert.equal((await client.postForm(logout, parameters)).status, 204, parameters)
    assert.equal(await client.isLoggedIn(), false)
  }
})

test('O2 return is never redirected to, also where a logout page is configured', async t => {
  const { client } = await startWithRuthLoggedIn(t, { CARREL_LOGOUT_PAGE_URL: logoutPage })
  const back = encodeURIComponent(`${baseUrl}/somewhere`)
  const answer = await client.post(`${logout}?action=logout&return=${back}`)
  assert.equal(answer.status, 302)
  assert.equal(answer.headers.get('location'), logoutPage)
})

test('O3 X-On-Behalf-Of is ignored: an administrator logs out only itself', async t => {
  const { service, uuid, client } = await startWithRuthLoggedIn(t, { CARREL_LOGIN_ON_BEHALF_OF: 'true' })
  const admin = await service.addLoggedIn('admin@example.org', { admin: true })
  const answer = await admin.post(logout, undefined, { 'x-on-behalf-of': uuid })
  assert.equal(answer.status, 204)
  assert.equal(answer.headers.get('x-acting-as'), null)
  assert.equal(await client.isLoggedIn(), true)
  assert.equal(await admin.isLoggedIn(), false)
})

test('O3 X-On-Behalf-Of is ignored whatever it says and no matter who sends it', async t => {
  const { service, client } = await startWithRuthLoggedIn(t)
  for (const value of ['nonsense', '', '00000000-0000-4000-8000-000000000000']) {
    assert.equal((await service.client().post(logout, undefined, { 'x-on-behalf-of': value })).status, 204)
    await client.login(ruthEmail)
    assert.equal((await client.post(logout, undefined, { 'x-on-behalf-of': value })).status, 204)
    assert.equal(await client.isLoggedIn(), false)
  }
})

test('B4 a successful logout is in the audit trail with its fields, others are not', async t => {
  const { service, uuid, client } = await startWithRuthLoggedIn(t)
  await service.addEperson('admin@example.org', { admin: true })
  await service.client().post(logout)
  await client.post(logout)
  await client.post(logout)
  const admin = await service.loggedIn('admin@example.org')
  assert.deepEqual(await eventsOf(admin, 'logout'), [
    {
      outcome: 'success',
      eperson: uuid,
      actor: uuid,
      client_ip: '127.0.0.1',
      method: 'password',
      object: null,
      reason: null,
    },
  ])
})
