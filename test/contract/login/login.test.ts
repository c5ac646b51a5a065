import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { commandEvent } from '../../../src/cli/store.ts'
import { assertProblem, assertUnauthorized, wholeAnswer } from '../../support/clients/answers.ts'
import { bearerOf, type Client } from '../../support/clients/client.ts'
import { claimsOf, keyOf, signedHere } from '../../support/clients/jwt.ts'
import { exchange, head } from '../../support/clients/raw.ts'
import { eventsOf } from '../../support/data/events.ts'
import { ruthEmail, startWithRuth, weakHashOf } from '../../support/data/ruth.ts'
import { test } from '../../support/service/engines.ts'
import { hashOf, passwordOf, type Service, startService } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

const login = '/api/authn/login'

/** Percent-encodes every byte, so that any bytes can be a password. */
const encoded = (bytes: Uint8Array | string) => Buffer.from(bytes).toString('hex').replace(/../g, '%$&')
const formOf = (user: string, password: Uint8Array | string) =>
  `user=${encoded(user)}&password=${encoded(password)}`

/** @returns the status of a login with these bytes */
const statusOf = async (client: Client, user: string, password: Uint8Array | string) =>
  (await client.postForm(login, formOf(user, password))).status

async function assertFails(response: Response): Promise<void> {
  await assertUnauthorized(response, 'login-failed')
  assert.equal(response.headers.get('authorization'), null)
}

test('L1 login is POST only', async t => {
  const service = await startService(t)
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const answer = await fetch(service.address + login, { method })
    assert.equal(answer.status, 405, method)
    assert.equal(answer.headers.get('allow'), 'POST', method)
  }
})

test('L2 user and password give 200, no body, and the token in the header Authorization', async t => {
  const { uuid, client } = await startWithRuth(t)
  const answer = await client.tryLogin(ruthEmail, passwordOf(ruthEmail))
  assert.equal(answer.status, 200)
  assert.equal(await answer.text(), '')
  assert.equal(answer.headers.get('www-authenticate'), null)
  assert.match(answer.headers.get('cache-control') ?? '', /no-store/)
  const token = bearerOf(answer)
  assert.equal(claimsOf(token).eid, uuid)
  assert.equal(await client.isLoggedIn(token), true)
})

test('L2 the e-mail address is taken in any case', async t => {
  const { uuid, client } = await startWithRuth(t)
  for (const user of ['RUTH@EXAMPLE.ORG', 'Ruth@Example.org']) {
    const answer = await client.tryLogin(user, passwordOf(ruthEmail))
    assert.equal(claimsOf(bearerOf(answer)).eid, uuid)
  }
})

test('L2 the e-mail address is taken in any case beyond ASCII, too', async t => {
  const service = await startService(t)
  await service.addEperson('änne@example.org')
  assert.equal(await statusOf(service.client(), 'ÄNNE@example.org', passwordOf('änne@example.org')), 200)
})

test('L2 credentials in the query string are never read', async t => {
  const { service, client } = await startWithRuth(t)
  const good = formOf(ruthEmail, passwordOf(ruthEmail))
  await assertFails(await client.post(`${login}?${good}`))
  await assertFails(await client.postForm(`${login}?${good}`, ''))
  await assertFails(await client.postForm(`${login}?${good}`, formOf(ruthEmail, 'wrong')))
  await assertFails(
    await client.postForm(
      `${login}?password=${encoded(passwordOf(ruthEmail))}`,
      `user=${encoded(ruthEmail)}`,
    ),
  )
  assert.equal((await client.postForm(`${login}?user=x&password=y`, good)).status, 200)

  // With a token, the request refreshes the token of its owner and is not a login.
  const { uuid } = await service.addEperson('max@example.org')
  await client.login('max@example.org')
  assert.equal(claimsOf(bearerOf(await client.post(`${login}?${good}`))).eid, uuid)
})

test('L2 the form is read as the URL standard says', async t => {
  const { client } = await startWithRuth(t)
  const password = encodeURIComponent(passwordOf(ruthEmail)).replaceAll('%20', '+')
  for (const form of [
    `password=${password}&user=${ruthEmail}`,
    `user=ruth%40example.org&password=${password}`,
    `user=ruth%40example%2eorg&password=${password}&more=1`,
    `&&user=${ruthEmail}&password=${password}&`,
    `%75ser=${ruthEmail}&p%61ssword=${password}`,
  ])
    assert.equal((await client.postForm(login, form)).status, 200, form)
  const charset = { 'content-type': 'Application/X-WWW-Form-URLencoded; charset=UTF-8' }
  assert.equal((await client.postForm(login, `user=${ruthEmail}&password=${password}`, charset)).status, 200)
})

test('L3 a bearer token and no other parameters refresh the session', async t => {
  const { service, uuid, client } = await startWithRuth(t)
  await client.login(ruthEmail)
  const json = { 'content-type': 'application/json' }
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const cases: readonly (readonly [body: string | undefined, headers: Record<string, string>])[] = [
    [undefined, {}],
    [undefined, json],
    [undefined, form],
    ['', json],
    ['', form],
    ['&', form],
    ['{}', json],
    [' {\r\n} ', { 'content-type': 'application/json; charset=utf-8' }],
  ]
  for (const [body, headers] of cases) {
    const answer = await client.post(login, body, headers)
    assert.equal(answer.status, 200, `${body} ${JSON.stringify(headers)}`)
    assert.equal(await answer.text(), '')
    const token = bearerOf(answer)
    assert.equal(claimsOf(token).eid, uuid)
    assert.equal(await service.client().isLoggedIn(token), true)
  }
})

test('L3 a refreshed token can be refreshed again', async t => {
  const { client } = await startWithRuth(t)
  await client.login(ruthEmail)
  for (let round = 0; round < 5; round++) client.token = await client.refresh()
  assert.equal(await client.isLoggedIn(), true)
})

test('L3 a bearer token with other parameters is no refresh', async t => {
  const { client } = await startWithRuth(t)
  await client.login(ruthEmail)
  for (const form of ['refresh=1', `user=${ruthEmail}`, 'password=x', 'user=&password='])
    await assertFails(await client.postForm(login, form))
})

test('L4 failure is 401 with the ways to log in', async t => {
  const { client } = await startWithRuth(t)
  await assertFails(await client.post(login))
  await assertFails(await client.tryLogin(ruthEmail, 'wrong'))
  await assertFails(await client.tryLogin('nobody@example.org', passwordOf(ruthEmail)))
  await assertFails(await client.tryLogin('', ''))
  await assertFails(await client.postForm(login, `user=${ruthEmail}`))
  await assertFails(await client.post(login, undefined, { authorization: 'Bearer x' }))
  await assertFails(await client.post(login, undefined, { authorization: 'Basic eA==' }))
})

test('L4 the realm is the configured one, quoted', async t => {
  const service = await startService(t, { env: { CARREL_REALM: 'The "Library" \\ Reading room' } })
  const answer = await service.client().post(login)
  assert.equal(answer.headers.get('www-authenticate'), 'password realm="The \\"Library\\" \\\\ Reading room"')
})

test('L5 unknown user, wrong password, disabled account and account without password get the same answer', async t => {
  const { service, client } = await startWithRuth(t, {}, true)
  const { people } = service.storage
  await service.addEperson('disabled@example.org')
  await people.setEnabled('disabled@example.org', false, commandEvent('eperson.disable'))
  await service.addEperson('none@example.org', { password: null })
  await service.addEperson('deleted@example.org')
  await people.deleteEperson('deleted@example.org', commandEvent('eperson.delete'))

  const expected = await wholeAnswer(await client.tryLogin('nobody@example.org', 'any password'))
  assert.equal(expected.status, 401)
  for (const [user, password] of [
    [ruthEmail, 'wrong'],
    [ruthEmail, ''],
    [ruthEmail, `${passwordOf(ruthEmail)} `],
    [ruthEmail, passwordOf(ruthEmail).toUpperCase()],
    ['disabled@example.org', passwordOf('disabled@example.org')],
    ['disabled@example.org', 'wrong'],
    ['none@example.org', 'wrong'],
    ['none@example.org', ''],
    ['none@example.org', 'null'],
    ['deleted@example.org', passwordOf('deleted@example.org')],
    ["' OR 1=1 --", 'x'],
  ] as const)
    assert.deepEqual(
      await wholeAnswer(await client.tryLogin(user, password)),
      expected,
      `${user} ${password}`,
    )
})

test('L5 the audit trail tells the failures apart by eperson and holds nothing of what was typed', async t => {
  const { service, uuid, client } = await startWithRuth(t, {}, true)
  await service.addEperson('admin@example.org', { admin: true })
  await client.tryLogin('typed-name@example.org', 'typed-password')
  await client.tryLogin(ruthEmail, 'typed-password')
  await client.login(ruthEmail)
  const admin = await service.loggedIn('admin@example.org')

  const [unknown, wrong, right] = await eventsOf(admin, 'login')
  const failure = {
    outcome: 'failure',
    actor: null,
    client_ip: '127.0.0.1',
    method: 'password',
    object: null,
    reason: null,
  }
  assert.deepEqual(unknown, { ...failure, eperson: null })
  assert.deepEqual(wrong, { ...failure, eperson: uuid })
  assert.deepEqual(right, { ...failure, outcome: 'success', eperson: uuid, actor: uuid })
  assert.doesNotMatch(await (await admin.get('/api/query/v4/audit-events')).text(), /typed/)
})

test('L6 credentials beat a valid bearer token', async t => {
  const { service, uuid, client } = await startWithRuth(t)
  await service.addEperson('max@example.org')
  await client.login('max@example.org')
  assert.equal(claimsOf(bearerOf(await client.tryLogin(ruthEmail, passwordOf(ruthEmail)))).eid, uuid)
  await assertFails(await client.tryLogin(ruthEmail, 'wrong'))
  assert.equal(await client.isLoggedIn(), true, 'the token is still valid')
})

test('L6 an expired token alone fails, and does no harm to good credentials', async t => {
  const { service, uuid, client } = await startWithRuth(t)
  const claims = JSON.stringify({ eid: uuid, sg: [], exp: Date.now() / 1000 - 1 })
  client.token = signedHere(claims, await keyOf(service, uuid))
  await assertFails(await client.post(login))
  assert.equal((await client.tryLogin(ruthEmail, passwordOf(ruthEmail))).status, 200)
})

test('L7 a body over 16 kB is 413, one of 16 kB is read', async t => {
  const { service, client } = await startWithRuth(t)
  const good = formOf(ruthEmail, passwordOf(ruthEmail))
  const filled = (length: number) => `${good}&more=${'x'.repeat(length - good.length - 6)}`
  assert.equal((await client.postForm(login, filled(16 * 1024))).status, 200)
  await assertProblem(await client.postForm(login, filled(16 * 1024 + 1)), 413, 'body-too-large')
  await assertProblem(
    await client.post(login, filled(16 * 1024 + 1), { 'content-type': 'application/json' }),
    413,
    'body-too-large',
  )

  const { cookie, value } = await client.csrfPair()
  const chunked = `${head(
    'POST /api/authn/login HTTP/1.1',
    `Cookie: ${cookie}`,
    `X-XSRF-TOKEN: ${value}`,
    'Content-Type: application/x-www-form-urlencoded',
    'Transfer-Encoding: chunked',
  )}${`1000\r\n${'x'.repeat(0x1000)}\r\n`.repeat(5)}0\r\n\r\n`
  assert.equal((await exchange(service.address, chunked))?.status, 413)
})

test('L7 any other content type with a body is 415', async t => {
  const { client } = await startWithRuth(t)
  const credentials = JSON.stringify({ user: ruthEmail, password: passwordOf(ruthEmail) })
  const good = formOf(ruthEmail, passwordOf(ruthEmail))
  for (const [type, body] of [
    ['application/json', credentials],
    ['application/json', '[]'],
    ['application/json', '{"user":'],
    ['application/json', '{}{}'],
    ['text/plain', good],
    ['text/plain', '{}'],
    ['application/x-www-form-urlencoded-not', good],
    ['application/xml', '<user/>'],
    [
      'multipart/form-data; boundary=x',
      '--x\r\ncontent-disposition: form-data; name="user"\r\n\r\nx\r\n--x--\r\n',
    ],
    ['nonsense', good],
  ] as const)
    await assertProblem(
      await client.post(login, body, { 'content-type': type }),
      415,
      'unsupported-media-type',
    )
})

test('L7 a body without a content type is 415', async t => {
  const { service, client } = await startWithRuth(t)
  const { cookie, value } = await client.csrfPair()
  const body = formOf(ruthEmail, passwordOf(ruthEmail))
  const request = head(
    'POST /api/authn/login HTTP/1.1',
    `Cookie: ${cookie}`,
    `X-XSRF-TOKEN: ${value}`,
    `Content-Length: ${body.length}`,
  )
  assert.equal((await exchange(service.address, request + body))?.status, 415)
})

test('L7 a malformed form is 400', async t => {
  const { client } = await startWithRuth(t)
  const good = formOf(ruthEmail, passwordOf(ruthEmail))
  for (const form of [
    `user=${ruthEmail}&password=%`,
    `user=${ruthEmail}&password=%4`,
    `user=${ruthEmail}&password=%zz`,
    `user=%&password=x`,
    `%=1&${good}`,
    `${good}&password=other`,
    `${good}&user=${ruthEmail}`,
  ])
    await assertProblem(await client.postForm(login, form), 400, 'bad-request')
})

test('L7 passwords of any bytes are taken byte-exactly', async t => {
  const service = await startService(t)
  const client = service.client()
  const passwords: Record<string, Uint8Array | string> = {
    'nul@example.org': 'a\0b',
    'only-nul@example.org': '\0',
    'long@example.org': randomBytes(4_096),
    'invalid@example.org': Uint8Array.of(0xff, 0xfe),
    'also-invalid@example.org': Uint8Array.of(0xff, 0xfd),
    'replaced@example.org': '\ufffd\ufffd',
    'composed@example.org': 'caf\u00e9',
    'decomposed@example.org': 'cafe\u0301',
    'emoji@example.org': '👩🏽‍🔬🗝️',
    'plus@example.org': 'a+b c%20d&e=f',
    'every@example.org': Uint8Array.from({ length: 256 }, (_, byte) => byte),
  }
  await Promise.all(
    Object.entries(passwords).map(async ([user, password]) => {
      await service.addEperson(user, { password })
      assert.equal(await statusOf(service.client(), user, password), 200, user)
    }),
  )
  for (const [user, near] of [
    ['nul@example.org', 'a'],
    ['only-nul@example.org', ''],
    ['only-nul@example.org', '\0\0'],
    ['long@example.org', Buffer.from(passwords['long@example.org'] ?? '').subarray(0, -1)],
    ['plus@example.org', 'a b c d&e=f'],
  ] as const)
    assert.equal(await statusOf(client, user, near), 401, `${user} with nearly its password`)
  for (const [one, other] of [
    ['invalid@example.org', 'also-invalid@example.org'],
    ['invalid@example.org', 'replaced@example.org'],
    ['composed@example.org', 'decomposed@example.org'],
  ] as const) {
    assert.equal(await statusOf(client, one, passwords[other] ?? ''), 401, `${one} with that of ${other}`)
    assert.equal(await statusOf(client, other, passwords[one] ?? ''), 401, `${other} with that of ${one}`)
  }
})

test('L7 raw bytes that are not percent-encoded are the same password as encoded ones', async t => {
  const service = await startService(t)
  await service.addEperson(ruthEmail, { password: Uint8Array.of(0xff, 0x00, 0xc3) })
  const raw = Buffer.concat([Buffer.from(`user=${ruthEmail}&password=`), Uint8Array.of(0xff, 0x00, 0xc3)])
  const answer = await service
    .client()
    .post(login, Uint8Array.from(raw), { 'content-type': 'application/x-www-form-urlencoded' })
  assert.equal(answer.status, 200)
})

test('L7 strange names are unknown names', async t => {
  const { client } = await startWithRuth(t)
  const bytes = (...values: number[]) => Uint8Array.from(values)
  for (const user of [
    encoded(`${ruthEmail}\0`),
    encoded(`\0${ruthEmail}`),
    encoded(bytes(0xff, 0xfe)),
    encoded('\u{1f511}'.repeat(1_000)),
    'x'.repeat(4_000),
    encoded('İ@example.org'),
    encoded(` ${ruthEmail}`),
  ])
    await assertFails(await client.postForm(login, `user=${user}&password=${encoded(passwordOf(ruthEmail))}`))
})

test('L9 X-On-Behalf-Of on login is refused, with credentials and with a token', async t => {
  const { service, uuid } = await startWithRuth(t, { CARREL_LOGIN_ON_BEHALF_OF: 'true' })
  const admin = await service.addLoggedIn('admin@example.org', { admin: true })
  const asRuth = { 'x-on-behalf-of': uuid }
  for (const answer of [
    await admin.post(login, undefined, asRuth),
    await admin.postForm(login, formOf('admin@example.org', passwordOf('admin@example.org')), asRuth),
    await admin.postForm(login, formOf(ruthEmail, passwordOf(ruthEmail)), asRuth),
    await admin.post(login, undefined, {
      'x-on-behalf-of': (await service.addEperson('o@example.org')).uuid,
    }),
  ]) {
    await assertProblem(answer, 403, 'on-behalf-of-refused')
    assert.equal(answer.headers.get('authorization'), null)
    assert.equal(answer.headers.get('x-acting-as'), null)
  }
})

test('L5 a hash with weaker parameters is renewed at login and the tokens stay valid', async t => {
  const { service, client } = await startWithRuth(t, {}, true)
  const { people } = service.storage
  const phc = weakHashOf('the old password')
  await people.setPassword({ email: ruthEmail }, phc, commandEvent('eperson.password'))

  await assertFails(await client.tryLogin(ruthEmail, 'wrong'))
  assert.equal((await people.credentials(ruthEmail))?.passwordHash, phc, 'a wrong password renews nothing')
  const first = bearerOf(await client.tryLogin(ruthEmail, 'the old password'))
  const renewed = (await people.credentials(ruthEmail))?.passwordHash
  assert.match(renewed ?? '', /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)

  const second = bearerOf(await client.tryLogin(ruthEmail, 'the old password'))
  assert.equal((await people.credentials(ruthEmail))?.passwordHash, renewed, 'once is enough')
  for (const token of [first, second]) assert.equal(await client.isLoggedIn(token), true)
})

test('L2 the newest password is the one that counts', async t => {
  const { service, client } = await startWithRuth(t)
  const { people } = service.storage
  await people.setPassword({ email: ruthEmail }, await hashOf('a new one'), commandEvent('eperson.password'))
  assert.equal(await statusOf(client, ruthEmail, passwordOf(ruthEmail)), 401)
  assert.equal(await statusOf(client, ruthEmail, 'a new one'), 200)
})

test('L7 when too many passwords are checked already the answer is 503 with Retry-After', async t => {
  const env = { CARREL_PASSWORD_CONCURRENCY: '1', CARREL_PASSWORD_QUEUE: '0' }
  const { service } = await startWithRuth(t, env, true)
  const clients = Array.from({ length: 8 }, () => service.client())
  for (const client of clients) await client.csrfPair()
  const refused = await until(
    'a login that is refused, of eight at once',
    async () => {
      const logins = clients.map(client => client.tryLogin(ruthEmail, passwordOf(ruthEmail)))
      return (await Promise.all(logins)).filter(({ status }) => status !== 200)
    },
    answers => answers.length > 0,
  )
  assert.ok(refused.length < clients.length)
  for (const answer of refused) {
    assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
    await assertProblem(answer, 503, 'busy')
  }
  assert.equal(
    await statusOf(service.client(), ruthEmail, passwordOf(ruthEmail)),
    200,
    'the way is free again',
  )
})

test('L7 those who have a place in the queue wait and are let in', async t => {
  const env = { CARREL_PASSWORD_CONCURRENCY: '1', CARREL_PASSWORD_QUEUE: '10' }
  const { service }: { service: Service } = await startWithRuth(t, env, true)
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => service.client().tryLogin(ruthEmail, passwordOf(ruthEmail))),
  )
  assert.deepEqual(
    answers.map(answer => answer.status),
    answers.map(() => 200),
  )
})
