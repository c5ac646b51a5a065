import assert from 'node:assert/strict'
import { assertProblem, assertUnauthorized } from '../../support/clients/answers.ts'
import type { Client } from '../../support/clients/client.ts'
import { claimsOf, keyOf, signedHere } from '../../support/clients/jwt.ts'
import { eventsOf } from '../../support/data/events.ts'
import { ruthEmail, startWithRuthLoggedIn } from '../../support/data/ruth.ts'
import { test } from '../../support/service/engines.ts'
import { baseUrl, passwordOf } from '../../support/service/service.ts'
import { assertAcceptedUntil } from '../../support/service/waiting.ts'

const path = '/api/authn/shortlivedtokens'
const withToken = (token: string, to = '/api/authn/status') => `${to}?authentication-token=${token}`

const isAccepted = async (client: Client, token: string) =>
  (await client.status(withToken(token))).authenticated

test('H1 POST gives a token with its type and link', async t => {
  const { client, stranger } = await startWithRuthLoggedIn(t)
  const answer = await client.post(path)
  assert.equal(answer.status, 200)
  assert.match(answer.headers.get('cache-control') ?? '', /no-store/)
  assert.equal(answer.headers.get('authorization'), null)
  const { token, ...rest } = (await answer.json()) as { token: string }
  assert.equal(typeof token, 'string')
  assert.deepEqual(rest, { type: 'shortlivedtoken', _links: { self: { href: baseUrl + path } } })
  await client.withShortLived(async made => assert.equal(await isAccepted(stranger, made), true))
})

test('H1 without a logged-in user the answer is 401', async t => {
  const { client, stranger } = await startWithRuthLoggedIn(t)
  await assertUnauthorized(await stranger.post(path))
  await assertUnauthorized(await stranger.post(path, undefined, { authorization: 'Bearer x' }))
  const { token } = client
  await client.post('/api/authn/logout')
  await assertUnauthorized(await stranger.post(path, undefined, { authorization: `Bearer ${token}` }))
})

test('H1 empty and {} JSON bodies are fine', async t => {
  const { client } = await startWithRuthLoggedIn(t)
  for (const body of [undefined, '', '{}'])
    assert.equal(
      (await client.post(path, body, { 'content-type': 'application/json' })).status,
      200,
      String(body),
    )
})

test('H2 every method but POST is 405', async t => {
  const { client } = await startWithRuthLoggedIn(t)
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const answer = await client.request(path, { method })
    assert.equal(answer.status, 405, method)
    assert.equal(answer.headers.get('allow'), 'POST', method)
  }
})

test('T2 a short-lived token lives 2 seconds at most and 1.9 at least', async t => {
  for (const [env, life] of [
    [{}, 2_000],
    [{ CARREL_SHORT_TOKEN_LIFETIME: '1.9' }, 1_900],
  ] as const) {
    const { client } = await startWithRuthLoggedIn(t, env)
    const before = Date.now()
    const { exp } = claimsOf(await client.shortLivedToken())
    const after = Date.now()
    assert.ok(exp * 1000 >= before + life && exp * 1000 <= after + life, `${life}`)
  }
})

test('T2 T3 a short-lived token is accepted until exp and not a moment longer', async t => {
  const { client, stranger } = await startWithRuthLoggedIn(t)
  const token = await client.shortLivedToken()
  await assertAcceptedUntil(claimsOf(token).exp, () => isAccepted(stranger, token))
})

test('T5 a short-lived token is useless as a bearer token', async t => {
  const { client, stranger } = await startWithRuthLoggedIn(t)
  const headers = { authorization: `Bearer ${await client.shortLivedToken()}` }
  assert.equal((await stranger.status('/api/authn/status', headers)).authenticated, false)
  await assertUnauthorized(await stranger.post(path, undefined, headers))
  await assertUnauthorized(await stranger.post('/api/authn/login', undefined, headers), 'login-failed')
})

test('T5 a login token is useless as authentication-token', async t => {
  const { service, uuid, token, stranger } = await startWithRuthLoggedIn(t)
  assert.equal(await isAccepted(stranger, token), false)
  await assertUnauthorized(await stranger.get(withToken(token, `/api/eperson/epersons/${uuid}`)))

  // Even a login token with the lifetime of a short-lived one is refused here.
  const claims = JSON.stringify({ eid: uuid, sg: [], exp: Date.now() / 1000 + 2 })
  assert.equal(await isAccepted(stranger, signedHere(claims, await keyOf(service, uuid))), false)
})

test('T10 authentication-token authenticates GET and POST on every other endpoint', async t => {
  const { service, uuid, client, stranger } = await startWithRuthLoggedIn(t)
  await service.addRecords('shelves', 'id', [{ id: 1 }], 'eperson')
  for (const to of [
    `/api/eperson/epersons/${uuid}`,
    `/server/api/eperson/epersons/${uuid}`,
    '/api/query/v4/shelves',
    '/api/query/v4',
  ])
    await client.withShortLived(async token => {
      assert.equal((await stranger.get(withToken(token, to))).status, 200, to)
    })
  await client.withShortLived(async token => {
    assert.equal((await stranger.post(withToken(token, '/api/authn/logout'))).status, 204)
    assert.equal(await client.isLoggedIn(), false)
  })
})

test('T10 a short-lived token may be used more than once while it lives', async t => {
  const { client, stranger } = await startWithRuthLoggedIn(t)
  await client.withShortLived(async token => {
    for (let round = 0; round < 3; round++) assert.equal(await isAccepted(stranger, token), true)
  })
})

test('T10 login and shortlivedtokens refuse the parameter, whatever comes along', async t => {
  const { client, stranger } = await startWithRuthLoggedIn(t)
  const form = `user=${ruthEmail}&password=${encodeURIComponent(passwordOf(ruthEmail))}`
  for (const to of ['/api/authn/login', path, `/server${path}`]) {
    const address = withToken(await client.shortLivedToken(), to)
    for (const answer of [
      await stranger.post(address),
      await client.post(address),
      await stranger.postForm(address, form),
      await client.post(withToken('nonsense', to)),
      await client.post(withToken('', to)),
      await client.post(`${to}?authentication-token`),
      await client.post(`${to}?a=1&authentication%2Dtoken=x`),
    ]) {
      await assertProblem(answer, 403, 'short-lived-token-refused')
      assert.equal(answer.headers.get('authorization'), null)
    }
  }
})

for (const to of ['/api/authn/login', path])
  test(`T10 ${to} refuses the parameter in a malformed query, too`, async t => {
    const { client } = await startWithRuthLoggedIn(t)
    const short = await client.shortLivedToken()
    for (const query of [`a=%zz&authentication-token=${short}`, 'authentication-token=%ff']) {
      const answer = await client.post(`${to}?${query}`)
      // Malformed (E2) or refused (T10): in both cases no token is issued.
      assert.ok([400, 403].includes(answer.status), `${query.slice(0, 30)}: ${answer.status}`)
      assert.equal(answer.headers.get('authorization'), null)
    }
  })

test('T10 where header and parameter are both there the header decides', async t => {
  const { service, client, stranger } = await startWithRuthLoggedIn(t)
  const max = await service.addLoggedIn('max@example.org')
  const short = await client.shortLivedToken()
  assert.equal((await max.status(withToken(short)))._embedded.eperson?.email, 'max@example.org')
  assert.equal((await max.status(withToken('nonsense')))._embedded.eperson?.email, 'max@example.org')
  for (const authorization of ['Bearer x', 'Bearer', '', 'Basic eA=='])
    assert.equal(
      (await stranger.status(withToken(short), { authorization })).authenticated,
      false,
      authorization,
    )
})

test('T10 a malformed, foreign or repeated parameter is no valid token', async t => {
  const { client, stranger } = await startWithRuthLoggedIn(t)
  const short = await client.shortLivedToken()
  assert.equal(await isAccepted(stranger, short), true)
  for (const query of [
    `authentication-token=${short}&authentication-token=${short}`,
    `authentication-token=&authentication-token=${short}`,
    `authentication-token=${short}=`,
    `authentication-token=${short}.`,
    `authentication-token=%20${short}`,
    `authentication-token=Bearer%20${short}`,
    'authentication-token=%00',
    'authentication-token=',
    'authentication-token',
    `Authentication-Token=${short}`,
    `authentication_token=${short}`,
  ])
    assert.equal((await stranger.status(`/api/authn/status?${query}`)).authenticated, false, query)
})

test('T10 the answers keep the address to themselves', async t => {
  const { uuid, client, stranger } = await startWithRuthLoggedIn(t)
  for (const to of [
    '/api/authn/status',
    `/api/eperson/epersons/${uuid}`,
    '/api/nothing',
    '/api/query/v4/audit-events',
  ]) {
    const answer = await stranger.get(withToken(await client.shortLivedToken(), to))
    assert.equal(answer.headers.get('referrer-policy'), 'no-referrer', to)
    assert.equal(answer.headers.get('cache-control'), 'private, no-store', to)
  }
})

test('T10 the token is in no link, no header and no error body', async t => {
  const { service, client, stranger } = await startWithRuthLoggedIn(t)
  await service.addRecords('shelves', 'id', [{ id: 1 }, { id: 2 }, { id: 3 }])
  const short = await client.shortLivedToken()
  for (const to of [
    '/api/authn/status?',
    '/api/authn/status/specialGroups?page=0&',
    '/api/authn/status/specialGroups?page=x&',
    '/api/query/v4/shelves?limit=1&offset=1&include_total=true&',
    '/api/query/v4/shelves?limit=0&',
    '/api/query/v4/shelves?unknown=1&',
    '/api/query/v4/nothing?',
    '/api/query/v4/audit-events?',
    '/api/nothing?',
    '/api/%zz?',
    '/api?',
  ]) {
    const answer = await stranger.get(`${to}authentication-token=${short}`)
    const text = `${await answer.text()}${JSON.stringify([...answer.headers])}`
    for (const part of short.split('.').slice(1)) assert.ok(!text.includes(part), to)
    assert.ok(!text.includes('authentication-token'), to)
  }
  const refused = await stranger.post(withToken(short, '/api/authn/login'))
  assert.ok(!(await refused.text()).includes(short))
})

test('B4 making a short-lived token is in the audit trail with its fields', async t => {
  const { service, uuid, client } = await startWithRuthLoggedIn(t)
  await service.addEperson('admin@example.org', { admin: true })
  await client.shortLivedToken()
  const admin = await service.loggedIn('admin@example.org')
  assert.deepEqual(await eventsOf(admin, 'short-lived-token'), [
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
