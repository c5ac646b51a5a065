import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import { assertProblem, assertUnauthorized, pairOf, wholeAnswer } from '../../support/clients/answers.ts'
import { bearerOf, Client } from '../../support/clients/client.ts'
import { claimsOf, derivedKey, secretsOf, signedHere } from '../../support/clients/jwt.ts'
import { exchange, head } from '../../support/clients/raw.ts'
import { forgetAttempts } from '../../support/data/attempts.ts'
import { eventsOf } from '../../support/data/events.ts'
import { contentOf, everybody, putItem } from '../../support/data/repository.ts'
import { ruthEmail } from '../../support/data/ruth.ts'
import { repeats } from '../../support/scale.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { serve } from '../../support/service/process.ts'
import {
  baseUrl,
  hashOf,
  passwordOf,
  type Service,
  startService,
  temporaryFolder,
} from '../../support/service/service.ts'

const adminEmail = 'admin@example.org'
const nobody = '00000000-0000-4000-8000-000000000000'
const old = passwordOf(ruthEmail)
const fresh = 'quite another one'
const json = { 'content-type': 'application/json' }

const addressOf = (uuid: string) => `/api/eperson/epersons/${uuid}`
const patchOf = (current: unknown, wanted: unknown = fresh) =>
  JSON.stringify([
    { op: 'add', path: '/password', value: { new_password: wanted, current_password: current } },
  ])
const change = (client: Client, uuid: string, current: string, wanted = fresh, headers = {}) =>
  client.patch(addressOf(uuid), patchOf(current, wanted), { ...json, ...headers })

async function started(t: TestContext, env: Readonly<Record<string, string>> = {}, realPasswords = false) {
  const service = await startService(t, {
    env: { CARREL_LOGIN_ON_BEHALF_OF: 'true', ...env },
    realPasswords,
  })
  const { uuid } = await service.addEperson(ruthEmail)
  const { uuid: adminId } = await service.addEperson(adminEmail, { admin: true })
  const client = service.client()
  const token = await client.login(ruthEmail)
  const admin = await service.loggedIn(adminEmail)
  return { service, uuid, client, token, admin, adminId }
}

const logsIn = async (service: Service, password: string, email = ruthEmail) =>
  (await service.client().tryLogin(email, password)).status === 200

/** Asserts that refused requests have changed nothing about the account. */
async function assertUntouched(service: Service, client: Client): Promise<void> {
  assert.equal(await client.isLoggedIn(), true, 'the token still counts')
  assert.equal(await logsIn(service, old), true, 'the old password still counts')
  assert.equal(await logsIn(service, fresh), false)
}

test('T6 the current password gives a new one: 200 with the eperson, and every token ends but those of this session', async t => {
  const { service, uuid, client, token, admin } = await started(t)
  const refreshed = await client.refresh()
  const elsewhere = await service.loggedIn(ruthEmail)
  const shortLived = await elsewhere.shortLivedToken()

  const answer = await change(client, uuid, old)
  assert.equal(answer.status, 200)
  const body = await answer.text()
  assert.deepEqual(JSON.parse(body), await (await admin.get(addressOf(uuid))).json())
  assert.ok(!body.includes(fresh) && !body.includes(old), 'DSpace once repeated the password here')
  assert.equal(answer.headers.get('authorization'), null)

  assert.equal(await client.isLoggedIn(elsewhere.token), false)
  for (const left of [token, refreshed, await client.refresh()])
    assert.equal(await client.isLoggedIn(left), true)
  // DSpace's interface reads the eperson again, and reported no success if that was a 401.
  assert.equal((await client.get(addressOf(uuid))).status, 200)
  const status = await service.client().status(`/api/authn/status?authentication-token=${shortLived}`)
  assert.equal(status.authenticated, false)
  assert.equal(await logsIn(service, old), false)
  assert.equal(await logsIn(service, fresh), true)
  assert.equal(await admin.isLoggedIn(), true, 'of nobody else')
  assert.equal((await client.post('/api/authn/logout')).status, 204)
  assert.equal(await client.isLoggedIn(), false)
})

test('T6 both media types are taken, below every prefix, the uuid in any case, and members that RFC 6902 ignores', async t => {
  const { service, uuid, client } = await started(t)
  let current = old
  for (const [type, path] of [
    ['application/json; charset=utf-8', addressOf(uuid)],
    ['application/json-patch+json', `/server${addressOf(uuid)}`],
    ['APPLICATION/JSON', addressOf(uuid.toUpperCase())],
    ['application/json-patch+json;charset=UTF-8', `${addressOf(uuid)}?projection=full`],
  ] as const) {
    const wanted = `another for ${type}`
    const [operation] = JSON.parse(patchOf(current, wanted)) as object[]
    const body = JSON.stringify([{ ...operation, comment: 1 }])
    const answer = await client.patch(path, body, { 'content-type': type })
    assert.equal(answer.status, 200, `${type}: ${await answer.text()}`)
    assert.equal(await logsIn(service, wanted), true, type)
    assert.equal(await client.isLoggedIn(), true, type)
    current = wanted
  }
})

test('T6 the audit trail names who and whom, what was refused too, and nothing of what was sent', async t => {
  const { service, uuid, client, admin, adminId } = await started(t)
  await change(client, uuid, 'wrong')
  await change(client, adminId, passwordOf(adminEmail))
  await change(client, nobody, old)
  await change(admin, uuid, old, fresh, { 'x-on-behalf-of': uuid, 'x-on-behalf-of-reason': 'a call' })
  await client.patch(addressOf(uuid), '{', json)
  await change(client, uuid, old, 'short')
  assert.equal((await change(client, uuid, old)).status, 200)

  const event = { client_ip: '127.0.0.1', method: 'password', object: null, reason: null }
  const failure = { ...event, outcome: 'failure' }
  assert.deepEqual(await eventsOf(admin, 'eperson.password'), [
    { ...failure, eperson: uuid, actor: uuid },
    { ...failure, eperson: adminId, actor: uuid },
    { ...failure, eperson: null, actor: uuid },
    { ...failure, eperson: uuid, actor: adminId, reason: 'a call' },
    { ...event, outcome: 'success', eperson: uuid, actor: uuid },
  ])
  const all = await (await admin.get('/api/query/v4/audit-events')).text()
  for (const secret of [old, fresh, 'short', 'wrong']) assert.ok(!all.includes(secret))
  assert.equal(await logsIn(service, fresh), true)
})

test('T6 a token alone takes no account over: without the right current password it is 403', async t => {
  const { service, uuid, client, admin, adminId } = await started(t)
  for (const wrong of ['wrong', '', `${old} `, old.toUpperCase(), passwordOf(adminEmail), fresh])
    await assertProblem(await change(client, uuid, wrong), 403, 'wrong-password')
  await assertUntouched(service, client)
  // Administrators must send their own current password, too.
  await assertProblem(await change(admin, adminId, old), 403, 'wrong-password')
  assert.equal((await change(admin, adminId, passwordOf(adminEmail))).status, 200)
})

test('T6 nobody but an administrator changes the password of someone else, or learns who there is', async t => {
  const { service, client, adminId } = await started(t)
  const expected = await wholeAnswer(await change(client, nobody, old))
  assert.equal(expected.status, 403)
  const withoutPath = ({ status, body }: Awaited<ReturnType<typeof wholeAnswer>>) => {
    const { path: _path, ...rest } = JSON.parse(body) as { path: string }
    return { status, rest }
  }
  for (const [who, whom, current] of [
    [client, adminId, passwordOf(adminEmail)],
    [client, 'x', old],
  ] as const)
    assert.deepEqual(withoutPath(await wholeAnswer(await change(who, whom, current))), withoutPath(expected))
  await assertProblem(await client.patch(addressOf(adminId), 'not looked at', json), 403, 'access-denied')
  await assertUntouched(service, client)
  assert.equal(await logsIn(service, passwordOf(adminEmail), adminEmail), true)
})

test('T10 B1 a short-lived token, someone who acts on behalf, and a stranger change no password', async t => {
  const { service, uuid, client, admin } = await started(t)
  const shortLived = await client.shortLivedToken()
  const withShort = `${addressOf(uuid)}?authentication-token=${shortLived}`
  for (const one of [client, service.client()])
    await assertProblem(await one.patch(withShort, patchOf(old), json), 403, 'short-lived-token-refused')
  const bare = service.client()
  for (const authorization of [shortLived, `Bearer ${shortLived}`])
    await assertUnauthorized(await bare.patch(addressOf(uuid), patchOf(old), { ...json, authorization }))
  const acting = { 'x-on-behalf-of': uuid }
  await assertProblem(await change(admin, uuid, old, fresh, acting), 403, 'on-behalf-of-refused')
  await assertProblem(
    await change(admin, uuid, passwordOf(adminEmail), fresh, acting),
    403,
    'on-behalf-of-refused',
  )
  const byActing = await admin.shortLivedToken(acting)
  await assertProblem(
    await bare.patch(`${addressOf(uuid)}?authentication-token=${byActing}`, patchOf(old), json),
    403,
    'short-lived-token-refused',
  )
  const stranger = service.client()
  await assertUnauthorized(await change(stranger, uuid, old))
  // The body of an anonymous request is not read.
  await assertUnauthorized(
    await stranger.patch(addressOf(uuid), 'x'.repeat(20_000), { 'content-type': 'x/y' }),
  )
  await assertUntouched(service, client)
})

/** Creates a token of a session that began this way, without the service. */
async function tokenOf(service: Service, uuid: string, method: string): Promise<string> {
  const session = await service.storage.sessions.of(uuid)
  const [secret] = await secretsOf(service.dataFolder)
  assert.ok(session && secret)
  const claims = JSON.stringify({ eid: uuid, sg: [], exp: Math.floor(Date.now() / 1000) + 600 })
  return signedHere(claims, derivedKey(secret, `login/${method}`, session.sessionKey))
}

function onlyProxy(t: TestContext): Readonly<Record<string, string>> {
  const file = join(temporaryFolder(t), 'carrel.json')
  const provider = {
    id: 'apache',
    kind: 'proxy',
    addresses: ['127.0.0.1'],
    secretHeader: 'X-Proxy-Secret',
    secret: { env: 'PROXY_SECRET' },
    attributes: { subject: 'X-Id', email: 'X-Mail' },
  }
  writeFileSync(file, JSON.stringify({ singleSignOn: { methods: ['shibboleth'], providers: [provider] } }))
  return {
    CARREL_CONFIG: file,
    CARREL_ALLOWED_ORIGINS: 'http://ui.example.edu',
    PROXY_SECRET: 'known to the proxy and the service',
  }
}

test('T6 where there is no password, or no login by it, there is nothing to change: 403, and no feature', async t => {
  const canChange = async (client: Client, eperson: string) => {
    const asked = { uri: baseUrl + addressOf(eperson), feature: 'canChangePassword', eperson }
    const found = await client.get(`/api/authz/authorizations/search/object?${new URLSearchParams(asked)}`)
    return ((await found.json()) as { page: { totalElements: number } }).page.totalElements > 0
  }
  const { service, uuid, client } = await started(t)
  assert.equal(await canChange(client, uuid), true)
  const { uuid: noPassword } = await service.addEperson('none@example.org', { password: null })
  client.token = await tokenOf(service, noPassword, 'password')
  assert.equal(await client.isLoggedIn(), true)
  assert.equal(await canChange(client, noPassword), false)
  for (const current of ['', 'null', 'a guess']) {
    const answer = await change(client, noPassword, current)
    await assertProblem(answer, 403, 'access-denied')
  }
  assert.equal(await logsIn(service, fresh, 'none@example.org'), false)

  const without = await startService(t, { env: onlyProxy(t) })
  const max = 'max@example.org'
  const { uuid: maxId } = await without.addEperson(max)
  const other = without.client()
  other.token = await tokenOf(without, maxId, 'shibboleth')
  assert.equal(await other.isLoggedIn(), true)
  assert.equal(await canChange(other, maxId), false)
  await assertProblem(await change(other, maxId, passwordOf(max)), 403, 'access-denied')
  const kept = await without.storage.people.credentials(max)
  assert.equal(kept?.passwordHash, await hashOf(passwordOf(max)))
})

test('E2 everything but the one operation is 422 and says what is right; what is no JSON is 400', async t => {
  const { service, uuid, client } = await started(t)
  const operation = (more: object) => JSON.stringify([{ op: 'add', path: '/password', ...more }])
  const value = { new_password: fresh, current_password: old }
  for (const body of [
    'null',
    '1',
    '"x"',
    '{}',
    '[]',
    '[null]',
    '[[]]',
    JSON.stringify({ op: 'add', path: '/password', value }),
    JSON.stringify(value),
    operation({ value, op: 'replace' }),
    operation({ value, op: 'Add' }),
    operation({ value, op: ['add'] }),
    operation({ value, path: 'password' }),
    operation({ value, path: '/password/' }),
    // The form of DSpace before 7.6: the value is a string, and the current password an operation of its own.
    operation({ value: fresh }),
    JSON.stringify([
      { op: 'add', path: '/password', value: fresh },
      { op: 'add', path: '/challenge', value: old },
    ]),
    JSON.stringify([
      { op: 'add', path: '/password', value },
      { op: 'replace', path: '/email', value: 'ruth@example.com' },
    ]),
    JSON.stringify([
      { op: 'add', path: '/password', value },
      { op: 'add', path: '/password', value },
    ]),
    operation({}),
    operation({ value: null }),
    operation({ value: [value] }),
    operation({ value: { new_password: fresh } }),
    operation({ value: { current_password: old } }),
    operation({ value: { ...value, challenge: old } }),
    operation({ value: JSON.parse(`{"__proto__":${JSON.stringify(value)}}`) }),
    JSON.stringify([{ __proto__: null, constructor: value }]),
    patchOf(null),
    patchOf(old, null),
    patchOf(1),
    patchOf(old, 12345678),
    patchOf([old]),
    patchOf(old, { toString: fresh }),
    patchOf('\ud800'),
    patchOf(old, `${fresh}\udc00`),
    `${'['.repeat(8_000)}${']'.repeat(8_000)}`,
  ]) {
    const problem = await assertProblem(await client.patch(addressOf(uuid), body, json), 422, 'patch-refused')
    for (const secret of [old, fresh]) assert.ok(!problem.detail.includes(secret), body)
  }
  for (const body of [
    '',
    ' ',
    '{',
    `[{"op":"add","path":"/password","value":{"new_password":"${fresh}`,
    `${patchOf(old)}x`,
    `\ufeff${patchOf(old)}`,
    patchOf(old).replaceAll('"', "'"),
    Buffer.concat([Buffer.from(patchOf(old).slice(0, -30)), Buffer.of(0xff), Buffer.from('"}}]')]),
    Buffer.from(patchOf(old), 'utf16le'),
    randomBytes(100),
  ]) {
    const bytes = Uint8Array.from(Buffer.from(body))
    const problem = await assertProblem(await client.patch(addressOf(uuid), bytes, json), 400, 'bad-request')
    for (const secret of [old, fresh]) assert.ok(!problem.detail.includes(secret))
  }
  assert.equal((await client.patch(addressOf(uuid))).status, 415)
  await assertUntouched(service, client)
})

test('E2 a body of another type is 415, one over 16 kB is 413', async t => {
  const { service, uuid, client } = await started(t)
  for (const type of [
    'application/x-www-form-urlencoded',
    'text/plain',
    'application/jsonx',
    'application/merge-patch+json',
    'application/json-patch+jsonx',
    'nonsense',
  ])
    await assertProblem(
      await client.patch(addressOf(uuid), patchOf(old), { 'content-type': type }),
      415,
      'unsupported-media-type',
    )
  const filled = (length: number) => patchOf(old).padEnd(length)
  await assertProblem(await client.patch(addressOf(uuid), filled(16 * 1024 + 1), json), 413, 'body-too-large')
  const { cookie, value } = await client.csrfPair()
  const chunked = `${head(
    `PATCH ${addressOf(uuid)} HTTP/1.1`,
    `Authorization: Bearer ${client.token}`,
    `Cookie: ${cookie}`,
    `X-XSRF-TOKEN: ${value}`,
    'Content-Type: application/json-patch+json',
    'Transfer-Encoding: chunked',
  )}${`1000\r\n${' '.repeat(0x1000)}\r\n`.repeat(5)}0\r\n\r\n`
  assert.equal((await exchange(service.address, chunked))?.status, 413)
  await assertUntouched(service, client)
  assert.equal((await client.patch(addressOf(uuid), filled(16 * 1024), json)).status, 200)
})

test('L10 a new password has 8 to 4,096 characters of any script, and fits into a login', async t => {
  const { service, uuid, client } = await started(t)
  const tooLong = ['x'.repeat(4_097), '漢'.repeat(1_667)]
  for (const refused of ['', '1234567', '🗝️🗝️🗝️', 'éééééé', ...tooLong])
    await assertProblem(await change(client, uuid, old, refused), 422, 'password-refused')
  await assertUntouched(service, client)
  let current = old
  for (const wanted of [
    '8 symbol',
    '漢字漢字漢字漢字',
    '%'.repeat(4_096),
    '漢'.repeat(1_666),
    ' '.repeat(8),
  ]) {
    assert.equal((await change(client, uuid, current, wanted)).status, 200)
    const login = await client.tryLogin(ruthEmail, wanted)
    assert.equal(login.status, 200)
    client.token = bearerOf(login)
    current = wanted
  }
})

test('L10 a new password is none of the most common ones, nor the e-mail address', async t => {
  const { service, uuid, client } = await started(t)
  await service.addEperson('librarian@example.org')
  for (const common of ['password', '12345678', 'PassWord123', 'qwertyuiop', 'iloveyou', 'trustno1']) {
    const problem = await assertProblem(await change(client, uuid, old, common), 422, 'password-refused')
    assert.match(problem.detail, /one of the most common/)
  }
  for (const own of [ruthEmail, 'RUTH@EXAMPLE.org'])
    assert.match(
      (await assertProblem(await change(client, uuid, old, own), 422, 'password-refused')).detail,
      /email address/,
    )
  await assertUntouched(service, client)
  const librarian = service.client()
  const token = await librarian.login('librarian@example.org')
  const { eid } = claimsOf(token)
  const answer = await change(librarian, String(eid), passwordOf('librarian@example.org'), 'Librarian')
  assert.match((await assertProblem(answer, 422, 'password-refused')).detail, /before the @/)
  assert.equal((await change(client, uuid, old, `${ruthEmail}, and more`)).status, 200)
})

test('L10 a password that the rules would refuse today still logs in', async t => {
  const service = await startService(t)
  await service.addEperson(ruthEmail, { password: 'abc' })
  await service.addEperson('max@example.org', { password: 'password' })
  assert.equal(await logsIn(service, 'abc'), true)
  assert.equal(await logsIn(service, 'password', 'max@example.org'), true)
})

test('L7 both passwords are taken byte-exactly, NUL and any Unicode, as at login', async t => {
  const { service, uuid, client } = await started(t)
  let current = old
  for (const [wanted, near] of [
    ['a\0b\0c\0d\0', 'a\0b\0c\0d'],
    ['\0'.repeat(8), '\0'.repeat(9)],
    ['caf\u00e9 caf\u00e9', 'cafe\u0301 cafe\u0301'],
    ['\ufffd'.repeat(8), '\ufffd'.repeat(7)],
    ['👩🏽‍🔬🗝️👩🏽‍🔬🗝️', '👩🏽‍🔬🗝️👩🏽‍🔬🗝'],
    ['a+b c%20d&e="\\', 'a b c d&e="\\'],
    [' in spaces\r\n', 'in spaces'],
  ] as const) {
    assert.equal((await change(client, uuid, current, wanted)).status, 200, JSON.stringify(wanted))
    assert.equal(await logsIn(service, near), false, JSON.stringify(near))
    client.token = bearerOf(await client.tryLogin(ruthEmail, wanted))
    await assertProblem(await change(client, uuid, near), 403, 'wrong-password')
    current = wanted
  }
  const escaped = JSON.stringify([
    { op: 'add', path: '/password', value: { new_password: 'ESCAPED!', current_password: current } },
  ]).replace('ESCAPED!', '\\u0041\\ud83d\\udddd\\u0000\\/1234')
  assert.equal((await client.patch(addressOf(uuid), escaped, json)).status, 200)
  assert.equal(await logsIn(service, 'A🗝\0/1234'), true)
})

test('C6 a changed password hands out a new pair; what is refused does not', async t => {
  const { uuid, client } = await started(t)
  const { value } = await client.csrfPair()
  for (const [current, wanted] of [
    ['wrong', fresh],
    [old, 'short'],
  ] as const)
    assert.equal(pairOf(await change(client, uuid, current, wanted)), undefined)
  const pair = pairOf(await change(client, uuid, old))
  assert.ok(pair && pair.value !== value)
})

test('C1 C5 a change of a password needs a CSRF pair, before anything else is looked at but the origin', async t => {
  const { service, uuid, client } = await started(t)
  const authorization = `Bearer ${client.token}`
  const ask = (headers: Readonly<Record<string, string>>, path = addressOf(uuid)) =>
    fetch(service.address + path, { method: 'PATCH', body: patchOf(old), headers: { ...json, ...headers } })
  const { cookie, value } = await client.csrfPair()
  const strange = { cookie: 'DSPACE-XSRF-COOKIE=made-up', 'x-xsrf-token': 'made-up' }
  for (const [headers, code] of [
    [{ authorization }, 'csrf-cookie-missing'],
    [{ authorization, cookie }, 'csrf-header-missing'],
    [{ authorization, cookie, 'x-xsrf-token': `${value}x` }, 'csrf-mismatch'],
    [{ authorization, ...strange }, 'csrf-not-ours'],
    [{ 'content-type': 'nonsense' }, 'csrf-cookie-missing'],
    [{ 'x-on-behalf-of': 'nobody' }, 'csrf-cookie-missing'],
    [{ authorization, cookie, origin: 'https://evil.example' }, 'origin-not-allowed'],
  ] as const) {
    const answer = await ask(headers)
    const isFresh = pairOf(answer) !== undefined
    await assertProblem(answer, 403, code)
    assert.equal(isFresh, code.startsWith('csrf'), code)
  }
  await assertProblem(await ask({}, `${addressOf(uuid)}?authentication-token=x`), 403, 'csrf-cookie-missing')
  await assertUntouched(service, client)
})

test('T6 of many changes at once exactly one counts', async t => {
  const { service, uuid, client } = await started(t, {}, true)
  const wanted = Array.from({ length: 6 }, (_, at) => `the new one, number ${at}`)
  const answers = await Promise.all(wanted.map(one => change(client, uuid, old, one)))
  const won = answers.flatMap(({ status }, at) => (status === 200 ? [at] : []))
  assert.equal(won.length, 1)
  // The other requests fail because their token or their current password is no longer valid.
  for (const { status } of answers) assert.ok([200, 401, 403].includes(status), String(status))
  const counting = await Promise.all([old, ...wanted].map(one => logsIn(service, one)))
  assert.deepEqual(
    counting.flatMap((counts, at) => (counts ? [at - 1] : [])),
    won,
  )
})

test('T6 a change that was under way when the operator set another password does not overrule it', async t => {
  const { service, uuid, client, admin } = await started(t, {}, true)
  const { people } = service.storage
  const known = await people.credentials(ruthEmail)
  assert.ok(known)
  const byOperator = await hashOf('what the operator set', true)
  for (let round = 0; round < repeats(1, 5); round++) {
    await people.setPassword({ email: ruthEmail }, await hashOf(old, true), commandEvent('eperson.password'))
    await client.login(ruthEmail)
    const changing = change(client, uuid, old)
    await people.setPassword({ email: ruthEmail }, byOperator, commandEvent('eperson.password'))
    // The change succeeds only if it finished before. Usually its two hashes take longer than the operator's
    // single write.
    const { status } = await changing
    assert.ok([200, 401, 403].includes(status), String(status))
    assert.equal(await logsIn(service, 'what the operator set'), true)
    assert.equal(await logsIn(service, fresh), false)
  }
  const event = { ...commandEvent('eperson.password'), eperson: uuid, actor: uuid }
  const before = (await eventsOf(admin, 'eperson.password')).length
  assert.equal(await people.setPassword({ email: ruthEmail }, 'none', event, known), 'unchanged')
  const now = await people.credentials(ruthEmail)
  assert.ok(now)
  assert.equal(
    await people.setPassword({ email: ruthEmail }, 'none', event, { ...now, uuid: nobody }),
    'unchanged',
  )
  assert.equal((await eventsOf(admin, 'eperson.password')).length, before)
  assert.equal(await people.setPassword({ email: ruthEmail }, byOperator, event, now), 'changed')
})

testOn('sqlite', 'L5 a wrong current password costs what a wrong login costs, in the same queue', async t => {
  const { service, uuid, client } = await started(
    t,
    { CARREL_PASSWORD_CONCURRENCY: '1', CARREL_PASSWORD_QUEUE: '0' },
    true,
  )
  /** Measures processor time, which other work on the machine doesn't change. */
  const costOf = async (ask: () => Promise<Response>) => {
    const before = process.cpuUsage()
    await (await ask()).arrayBuffer()
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
  let [login, guess] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let round = 0; round < repeats(5, 12); round++) {
    login = Math.min(login, await costOf(() => client.tryLogin(ruthEmail, 'a wrong guess')))
    guess = Math.min(guess, await costOf(() => change(client, uuid, 'a wrong guess')))
    await forgetAttempts(service)
  }
  // Two hashes would take twice as long, and none almost no time.
  assert.ok(guess > login * 0.5 && guess < login * 1.75, `${guess} and ${login} µs`)

  const other = service.client()
  await other.csrfPair()
  const answers = await Promise.all([
    ...Array.from({ length: 6 }, () => change(client, uuid, 'a wrong guess')),
    ...Array.from({ length: 6 }, () => other.tryLogin(ruthEmail, 'a wrong guess')),
  ])
  const busy = answers.filter(({ status }) => status === 503)
  assert.ok(busy.length >= 6, 'one place for both')
  for (const answer of busy) await assertProblem(answer, 503, 'busy')
  await assertUntouched(service, client)
})

test('E2 a service that logs every request writes neither password of a change, whatever became of it', async t => {
  const dataFolder = temporaryFolder(t)
  const prepared = await startService(t, { dataFolder })
  const { uuid } = await prepared.addEperson(ruthEmail)
  const served = await serve(t, dataFolder, { env: { CARREL_LOG_LEVEL: 'info' } })
  const client = new Client(served.address)
  await client.login(ruthEmail)
  const secrets = [old, fresh, 'a wrong guess', 'too few']
  const answers = [
    await change(client, uuid, 'a wrong guess'),
    await change(client, uuid, old, 'too few'),
    await change(client, nobody, old),
    await client.patch(addressOf(uuid), `${patchOf(old)}x`, json),
    await client.patch(addressOf(uuid), patchOf(old).replace('add', fresh), json),
    await client.patch(addressOf(uuid), patchOf(old), { 'content-type': 'text/plain' }),
    await client.patch(addressOf(uuid), patchOf(old).padEnd(20_000), json),
    await change(client, uuid, old),
  ]
  assert.deepEqual(
    answers.map(({ status }) => status),
    [403, 422, 403, 400, 422, 415, 413, 200],
  )
  const bodies = await Promise.all(answers.map(answer => answer.text()))
  await served.stop()
  const written = served.output.stdout + served.output.stderr
  assert.ok(written.includes(`"path":"${addressOf(uuid)}"`), 'requests are logged')
  for (const text of [written, ...bodies])
    for (const secret of secrets) assert.ok(!text.includes(secret), text)
})

test('E2 HEAD of what has no content says no length of it', async t => {
  const { service, admin } = await started(t)
  const ask = (path: string) =>
    exchange(service.address, head(`HEAD ${path} HTTP/1.1`, `Authorization: Bearer ${admin.token}`), 'HEAD')
  for (const path of ['/api/security/csrf', '/api/eperson/epersons/search/byEmail?email=nobody']) {
    const answer = await ask(path)
    assert.equal(answer?.status, 204, path)
    assert.equal(answer.headers.has('content-length'), false, path)
  }
  const { bitstreams } = await putItem(service, 'test/1', everybody, [{ name: 'a.txt', content: 'a file' }])
  const file = contentOf(bitstreams[0] ?? { uuid: '' })
  const whole = await ask(file)
  assert.equal(whole?.headers.get('content-length'), '6')
  const known = head(`HEAD ${file} HTTP/1.1`, `If-None-Match: ${whole.headers.get('etag')}`)
  const same = await exchange(service.address, known, 'HEAD')
  assert.equal(same?.status, 304)
  assert.notEqual(same.headers.get('content-length'), '0')
  const root = await service.client().get('/api')
  assert.equal((await ask('/api'))?.headers.get('content-length'), String((await root.text()).length))
})
