import assert from 'node:assert/strict'
import { bearerOf, Client } from '../support/clients/client.ts'
import { secretsOf, spellingsOf } from '../support/clients/jwt.ts'
import { exchange, head } from '../support/clients/raw.ts'
import { test } from '../support/service/engines.ts'
import { serve } from '../support/service/process.ts'
import { passwordOf, startService, temporaryFolder } from '../support/service/service.ts'

const ruth = 'ruth@example.org'
const password = passwordOf(ruth)

test('E2 T10 a service that logs every request never writes a password, a token, a CSRF value or the secret', async t => {
  const dataFolder = temporaryFolder(t)
  const prepared = await startService(t, { dataFolder })
  const { uuid } = await prepared.addEperson(ruth)
  await prepared.addRecords('letters', 'id', [{ id: 1 }], 'eperson')
  const served = await serve(t, dataFolder, { env: { CARREL_LOG_LEVEL: 'info' } })
  const client = new Client(served.address)
  const secrets = new Set<string>()

  const pair = await client.csrfPair()
  secrets.add(pair.value)
  for (const [user, guess] of [
    [ruth, 'a wrong guess'],
    ['nobody@example.org', 'another wrong guess'],
    [password, 'typed into the wrong field'],
  ] as const) {
    secrets.add(guess)
    assert.equal((await client.tryLogin(user, guess)).status, 401)
  }
  // Credentials in wrong places: in the address, in another media type, in broken forms.
  const misplaced = new URLSearchParams({ user: ruth, password }).toString()
  await client.post(`/api/authn/login?${misplaced}`)
  await client.post('/api/authn/login', JSON.stringify({ user: ruth, password }), {
    'content-type': 'application/json',
  })
  await client.post('/api/authn/login', `${misplaced}&x=%zz`, {
    'content-type': 'application/x-www-form-urlencoded',
  })
  await client.get(`/api/nothing?${misplaced}`)

  const login = await client.tryLogin(ruth, password)
  const token = bearerOf(login)
  secrets.add(token)
  client.token = token
  secrets.add((await client.csrfPair()).value)
  const refreshed = await client.post('/api/authn/login')
  secrets.add(bearerOf(refreshed))

  const made = await client.post('/api/authn/tokens', '{"name":"job"}', {
    'content-type': 'application/json',
  })
  const { token: access } = (await made.json()) as { token: string }
  secrets.add(access)
  for (const wrong of [access, access.slice(0, -1), access.toLowerCase()]) {
    await client.get('/api/core/items', { authorization: `Bearer ${wrong}` })
    await client.get('/api/query/v4/letters', { 'x-authentication': wrong })
    await client.get(`/api/authn/status?authentication-token=${wrong}`)
    await client.delete(`/api/authn/tokens/${wrong}`, undefined, { authorization: `Bearer ${token}` })
  }

  const shortLived = await client.shortLivedToken()
  secrets.add(shortLived)
  for (const path of [
    '/api/authn/status',
    '/api/query/v4/letters',
    '/api/query/v4/nothing',
    '/api/nothing',
    '/server/api/authn/status',
    `/api/eperson/epersons/${uuid}`,
    '/api/query/v4/letters?limit=x&y=1',
  ]) {
    const url = `${served.address}${path}${path.includes('?') ? '&' : '?'}authentication-token=${shortLived}`
    await (await fetch(url)).arrayBuffer()
  }
  await client.post(`/api/authn/login?authentication-token=${shortLived}`)
  await client.post(`/api/authn/shortlivedtokens?authentication-token=${shortLived}`)

  const garbage = 'Zm9vYmFyYmF6-garbage-token'
  secrets.add(garbage)
  for (const authorization of [
    `Bearer ${garbage}`,
    `Bearer ${garbage}.${garbage}.${garbage}`,
    `Basic ${garbage}`,
    garbage.repeat(500),
  ])
    await client.get('/api/authn/status', { authorization })
  await client.post('/api/authn/login', undefined, { 'x-xsrf-token': garbage })
  await client.get('/api/authn/status', { 'x-on-behalf-of': garbage, 'x-on-behalf-of-reason': garbage })
  // Requests that Node refuses before the service sees them, and faults of the address.
  for (const request of [
    head('GET /api/authn/status HTTP/1.1', `Authorization: Bearer ${token}`, 'bad header: x'),
    head(`GET /api/%zz?authentication-token=${shortLived} HTTP/1.1`),
    head('GET /api HTTP/1.1', `Authorization: ${token}${'x'.repeat(70_000)}`),
    head(`GET /api?authentication-token=${shortLived}${'x'.repeat(70_000)} HTTP/1.1`),
  ])
    await exchange(served.address, request)
  assert.equal((await client.post('/api/authn/logout')).status, 204)
  assert.equal(await served.stop(), 0)

  const written = served.output.stdout + served.output.stderr
  assert.match(written, /"path":"\/api\/authn\/login"/, 'requests are logged')
  for (const secret of await secretsOf(dataFolder))
    for (const spelling of spellingsOf(secret)) secrets.add(spelling)
  for (const one of [password, encodeURIComponent(password), misplaced, ...secrets]) {
    assert.ok(one.length > 8)
    const at = written.indexOf(one)
    assert.ok(at < 0, `a secret is in the log: ${written.slice(at - 200, at + 40)}`)
    // A usable part must not appear, either.
    const [, payload, signature] = one.split('.')
    for (const part of [payload, signature])
      if (part) assert.ok(!written.includes(part), 'a part of a token is in the log')
  }
})
