import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { stepOf } from '../../../src/authn/factor-codes.ts'
import { commandEvent } from '../../../src/cli/store.ts'
import { assertProblem, assertUnauthorized, wholeAnswer } from '../../support/clients/answers.ts'
import { Authenticator } from '../../support/clients/authenticator.ts'
import { bearerOf, type Client } from '../../support/clients/client.ts'
import { allEvents } from '../../support/data/events.ts'
import {
  asked,
  challenge,
  enrolPasskey,
  enrolTotp,
  factorsPath,
  origin,
  passwordForm,
  sendJson,
  tryLogin,
} from '../../support/data/factors.ts'
import { ruthEmail } from '../../support/data/ruth.ts'
import { test } from '../../support/service/engines.ts'
import { passwordOf, startService } from '../../support/service/service.ts'

const adminEmail = 'admin@example.org'
const password = { password: passwordOf(ruthEmail) }
const given = 'password realm="Carrel"'
const webauthn = `webauthn realm="Carrel", location="${origin}/api/authn/challenges"`

async function started(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const service = await startService(t, {
    env: { CARREL_BASE_URL: origin, CARREL_LOG_LEVEL: 'error', ...env },
  })
  const { uuid } = await service.addEperson(ruthEmail)
  await service.addEperson(adminEmail, { admin: true })
  return { service, uuid, ruth: await service.loggedIn(ruthEmail), admin: service.client() }
}

interface Asked {
  readonly ticket: string
  readonly factors: readonly string[]
  readonly detail: string
}

async function askedFor(answer: Response, schemes: readonly string[]): Promise<Asked> {
  assert.equal(answer.headers.get('authorization'), null)
  assert.equal(answer.headers.get('www-authenticate'), [given, ...schemes].join(', '))
  return (await assertProblem(answer, 401, 'second-factor-required')) as unknown as Asked
}

/** Logs the client in with the answer's token. */
async function loggedIn(client: Client, answer: Response): Promise<void> {
  assert.equal(answer.status, 200, await answer.text())
  client.token = bearerOf(answer)
  assert.ok(await client.isLoggedIn())
}

const listOf = async (client: Client) => {
  const answer = await client.get(factorsPath)
  assert.equal(answer.status, 200)
  return (await answer.json()) as {
    _embedded: { factors: { id: string; name: string; kind: string; lastUsed: string | null }[] }
    recoveryCodes: number
    required: boolean
    hasPassword: boolean
    passkeys: boolean
  }
}

test('L12 after enrolling TOTP, a login says that it needs the code and takes it with the password or the ticket', async t => {
  const { ruth } = await started(t)
  const app = await enrolTotp(ruth, { proof: password })
  assert.equal(app.recoveryCodes?.length, 10)
  assert.equal(new Set(app.recoveryCodes).size, 10)

  const asks = await askedFor(await tryLogin(ruth, passwordForm(ruthEmail)), ['totp realm="Carrel"'])
  assert.deepEqual(asks.factors, ['totp', 'recovery'])
  await loggedIn(ruth, await tryLogin(ruth, { ticket: asks.ticket, totp: app.code() }))
  assert.equal(
    ((await ruth.status()) as unknown as Asked & { authenticationMethod: string }).authenticationMethod,
    'password',
  )
  const sessions = (await (await ruth.get('/api/authn/sessions')).json()) as {
    _embedded: { sessions: { method: string }[] }
  }
  assert.deepEqual(sessions._embedded.sessions.map(({ method }) => method).toSorted(), [
    'password',
    'two-factor',
  ])
  const { _embedded, recoveryCodes } = await listOf(ruth)
  assert.equal(recoveryCodes, 10)
  assert.ok(_embedded.factors[0]?.lastUsed)
  await loggedIn(ruth, await tryLogin(ruth, { ...passwordForm(ruthEmail), totp: app.code(1) }))
  // A ticket works once.
  await assertProblem(await tryLogin(ruth, { ticket: asks.ticket, totp: app.code(1) }), 401, 'login-failed')
})

test('L12 a code works once, a wrong one gets another ticket, and neither does anything without the password', async t => {
  const { ruth } = await started(t)
  const app = await enrolTotp(ruth, { proof: password })
  // The code that confirmed the enrolment is used up.
  let { ticket } = await askedFor(await tryLogin(ruth, { ...passwordForm(ruthEmail), totp: app.code(-1) }), [
    'totp realm="Carrel"',
  ])
  const code = app.code()
  const answers = await Promise.all(
    [1, 2, 3].map(() => tryLogin(ruth, { ...passwordForm(ruthEmail), totp: code })),
  )
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 401, 401])
  const again = await askedFor(await tryLogin(ruth, { ticket, totp: code }), ['totp realm="Carrel"'])
  ;({ ticket } = again)
  const [unknown, wrong, wrongWithCode] = await Promise.all(
    [
      { user: 'nobody@example.org', password: 'wrong password' },
      { user: ruthEmail, password: 'wrong password' },
      { user: ruthEmail, password: 'wrong password', totp: app.code(1) },
    ].map(async form => wholeAnswer(await tryLogin(ruth, form))),
  )
  assert.deepEqual(unknown, wrong)
  assert.deepEqual(wrong, wrongWithCode)
  await loggedIn(ruth, await tryLogin(ruth, { ticket, totp: app.code(1) }))
})

test('L12 the codes of one step to either side are taken, and no others (RFC 6238)', () => {
  const secret = Buffer.from('12345678901234567890')
  // RFC 6238, appendix B, of which the last six digits are taken.
  for (const [time, code] of [
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_234_567_890, '005924'],
    [20_000_000_000, '353130'],
  ] as const) {
    const step = Math.floor(time / 30)
    for (const [late, found] of [
      [-60, undefined],
      [-30, step],
      [0, step],
      [30, step],
      [60, undefined],
    ] as const)
      assert.equal(stepOf(secret, code, (time + late) * 1000), found, `${time} ${late}`)
  }
  for (const code of ['', '28708', '2870820', '287082 0', '28708Z'])
    assert.equal(stepOf(secret, code, 59_000), undefined)
})

test('L12 a code is taken as apps show it and people type it: at the login, at enrolment, and as a proof', async t => {
  const { ruth } = await started(t)
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const shown = (code: string) => `${code.slice(0, 3)} ${code.slice(3)}`
  const app = await enrolTotp(ruth, { proof: password }, shown)
  const { token } = ruth
  await loggedIn(ruth, await tryLogin(ruth, { ...passwordForm(ruthEmail), totp: shown(app.code()) }))
  ruth.token = token
  // With a hyphen, in wide digits, and between spaces that don't break.
  const typed = shown(app.code(1))
    .replace(' ', '-')
    .replaceAll(/\d/g, digit => String.fromCodePoint(0xff10 + Number(digit)))
  const proof = { totp: `\u00a0${typed}\u202f` }
  const { recoveryCodes } = await asked<{ recoveryCodes: string[] }>(ruth, `${factorsPath}/recovery-codes`, {
    proof,
  })
  const recovery = ` ${recoveryCodes[0]?.toUpperCase().replaceAll('-', ' – ')}`
  await loggedIn(ruth, await tryLogin(ruth, { ...passwordForm(ruthEmail), recovery }))
  assert.equal((await listOf(ruth)).recoveryCodes, 9)
})

test('L12 an app and a browser show the factor under the name of the repository, not under its realm', async t => {
  const name = 'Archive: “Q & A”'
  const { ruth } = await started(t, { CARREL_NAME: name, CARREL_REALM: 'Realm' })
  const begin = (kind: string) =>
    asked<{ uri: string; publicKey: { rp: object } }>(
      ruth,
      `${factorsPath}/enrolments`,
      { kind, name: 'Mine', proof: password },
      201,
    )
  const uri = new URL((await begin('totp')).uri)
  assert.equal(decodeURIComponent(uri.pathname), `/${name}:${ruthEmail}`)
  assert.ok(uri.pathname.startsWith('/Archive%3A'))
  assert.equal(uri.searchParams.get('issuer'), name)
  const { hostname } = new URL(origin)
  assert.deepEqual((await begin('passkey')).publicKey.rp, { id: hostname, name })
})

test('L13 a thief of the password has five guesses of codes, which lock the owner out of nothing else', async t => {
  const { service, ruth } = await started(t)
  const app = await enrolTotp(ruth, { proof: password })
  const thief = service.client()
  let { ticket } = await askedFor(await tryLogin(thief, passwordForm(ruthEmail)), ['totp realm="Carrel"'])
  for (let guess = 0; guess < 5; guess++)
    ({ ticket } = await askedFor(await tryLogin(thief, { ticket, totp: '000000' }), ['totp realm="Carrel"']))
  for (const form of [{ ticket }, passwordForm(ruthEmail)]) {
    const answer = await tryLogin(thief, { ...form, totp: app.code() })
    assert.ok(Number(answer.headers.get('retry-after')) > 3_000)
    await assertProblem(answer, 429, 'too-many-attempts')
  }
  const [code = ''] = app.recoveryCodes ?? []
  await loggedIn(ruth, await tryLogin(ruth, { ...passwordForm(ruthEmail), recovery: code.toUpperCase() }))
  await askedFor(await tryLogin(ruth, { ...passwordForm(ruthEmail), recovery: code }), [
    'totp realm="Carrel"',
  ])
  const events = await allEvents(await administrator(service.client()))
  assert.deepEqual(
    events.filter(({ event }) => event === 'factor.recover').map(({ object, outcome }) => [object, outcome]),
    [['9 left', 'success']],
  )
  const failures = events.filter(({ event, method }) => event === 'login' && method === 'two-factor')
  assert.ok(failures.some(({ reason, outcome }) => reason === 'the code' && outcome === 'failure'))
})

test('L13 a right code ends the count, and a double click on it is neither a guess nor a second login', async t => {
  const { ruth } = await started(t)
  // The codes stay those of the present, however slow the machine is.
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const app = await enrolTotp(ruth, { proof: password })
  const form = { ...passwordForm(ruthEmail) }
  const wrong = async (count: number) => {
    for (let guess = 0; guess < count; guess++)
      await askedFor(await tryLogin(ruth, { ...form, totp: '000000' }), ['totp realm="Carrel"'])
  }
  await wrong(4)
  const totp = app.code()
  const clicks = await Promise.all(Array.from({ length: 6 }, () => tryLogin(ruth, { ...form, totp })))
  assert.deepEqual(clicks.map(({ status }) => status).toSorted(), [200, 401, 401, 401, 401, 401])
  await wrong(1)
  await loggedIn(ruth, await tryLogin(ruth, { ...form, totp: app.code(1) }))
  // A code that was used before looks like a wrong one, whatever is left of the guesses.
  const bodyOf = async (code: string) => {
    const { detail, factors } = await askedFor(await tryLogin(ruth, { ...form, totp: code }), [
      'totp realm="Carrel"',
    ])
    return { detail, factors }
  }
  assert.deepEqual(await bodyOf(totp), await bodyOf('000000'))
  await wrong(4)
  for (const code of [totp, '000000'])
    await assertProblem(await tryLogin(ruth, { ...form, totp: code }), 429, 'too-many-attempts')
})

test('L13 the codes of a new app work although the guesses for a removed one were used up', async t => {
  const { service, ruth } = await started(t)
  const app = await enrolTotp(ruth, { proof: password })
  const thief = service.client()
  for (let guess = 0; guess < 6; guess++)
    await tryLogin(thief, { ...passwordForm(ruthEmail), totp: '000000' })
  const [recovery = ''] = app.recoveryCodes ?? []
  const removal = await sendJson(ruth, `${factorsPath}/${app.id}/removal`, { proof: { recovery } })
  assert.equal(removal.status, 204)
  const next = await enrolTotp(ruth, { proof: password })
  await loggedIn(ruth, await tryLogin(ruth, { ...passwordForm(ruthEmail), totp: next.code() }))
})

async function administrator(client: Client): Promise<Client> {
  await client.login(adminEmail)
  return client
}

test('L14 a passkey is a second factor: its challenge, origin, site, owner and counter are checked', async t => {
  const { service, ruth } = await started(t)
  const { device } = await enrolPasskey(ruth, { proof: password })
  const ask = async () => askedFor(await tryLogin(ruth, passwordForm(ruthEmail)), [webauthn])
  const { ticket, factors } = await ask()
  assert.deepEqual(factors, ['webauthn', 'recovery'])
  const options = await challenge(ruth, { ticket })
  assert.deepEqual(options.allowCredentials, [{ id: device.id, type: 'public-key' }])
  const right = device.get(options)
  await loggedIn(ruth, await tryLogin(ruth, { ticket, webauthn: JSON.stringify(right) }))
  const token = ruth.token

  const refused = async (answer: object) =>
    askedFor(await tryLogin(ruth, { ...passwordForm(ruthEmail), webauthn: JSON.stringify(answer) }), [
      webauthn,
    ])
  await refused(right)
  const fresh = async () => challenge(ruth, { ticket: (await ask()).ticket })
  await refused(device.get(await fresh(), { origin: 'https://repo.example.edu.evil.example' }))
  await refused(device.get(await fresh(), { rpId: 'evil.example' }))
  await refused(device.get(await fresh(), { userHandle: 'AAAA' }))
  await refused(device.get(await challenge(ruth)))
  await refused(new Authenticator(origin).get(await fresh()))
  await refused({ ...device.get(await fresh()), response: {} })
  await refused({ id: 7 })
  const copied = await refused(device.get(await fresh(), { counter: 2 }))
  assert.match(copied.detail, /counter/)
  await assertProblem(
    await tryLogin(ruth, { ...passwordForm(ruthEmail), webauthn: 'no JSON' }),
    400,
    'bad-request',
  )
  // A challenge for a login is none for a change.
  ruth.token = token
  const proof = {
    webauthn: device.get(await challenge(ruth, { ticket: (await ask()).ticket }), { counter: 50 }),
  }
  ruth.token = token
  await assertProblem(await sendJson(ruth, `${factorsPath}/recovery-codes`, { proof }), 403, 'proof-refused')
  // Nor is one of another session.
  const asked = device.get(await challenge(ruth, { purpose: 'proof' }), { counter: 62 })
  const renewed = { proof: { webauthn: asked } }
  const { ticket: second } = await ask()
  const answer = device.get(await challenge(ruth, { ticket: second }), { counter: 61 })
  await loggedIn(ruth, await tryLogin(ruth, { ticket: second, webauthn: JSON.stringify(answer) }))
  await assertProblem(await sendJson(ruth, `${factorsPath}/recovery-codes`, renewed), 403, 'proof-refused')
  const events = await allEvents(await administrator(service.client()))
  assert.ok(events.some(({ reason }) => reason === 'the passkey: its signature counter went back'))
})

test('L16 a passkey that stands alone logs in without a password, and only then is it offered', async t => {
  const { service, ruth, uuid } = await started(t)
  const offer = async () => (await service.client().get('/api/authn/status')).headers.get('www-authenticate')
  assert.equal(await offer(), given)
  const second = await enrolPasskey(ruth, { proof: password })
  const proof = { webauthn: second.device.get(await challenge(ruth, { purpose: 'proof' })) }
  const alone = await enrolPasskey(ruth, { alone: true, name: 'My laptop', proof })
  assert.equal(alone.recoveryCodes, undefined)
  // The page after a logout offers it without a second look.
  assert.equal(await offer(), `${given}, ${webauthn}`)

  const withPasskey = async (device: Authenticator, lies = {}) =>
    tryLogin(ruth, { webauthn: JSON.stringify(device.get(await challenge(ruth), lies)) })
  await loggedIn(ruth, await withPasskey(alone.device))
  assert.equal((await ruth.status())._embedded.eperson?.uuid, uuid)
  for (const answer of [
    await withPasskey(second.device),
    await withPasskey(alone.device, { verifiesUser: false }),
    await withPasskey(alone.device, { userHandle: null }),
    await withPasskey(new Authenticator(origin)),
  ])
    await assertProblem(answer, 401, 'login-failed')
  // A session that began this way may make access tokens.
  await loggedIn(ruth, await withPasskey(alone.device))
  assert.equal((await sendJson(ruth, '/api/authn/tokens', { name: 'a script' })).status, 201)
  await service.storage.people.setEnabled(ruthEmail, false, commandEvent('eperson.disable'))
  await assertProblem(await withPasskey(alone.device), 401, 'login-failed')
})

test('L15 every change of factors asks for a factor again, and is recorded', async t => {
  const { service, ruth } = await started(t)
  for (const proof of [{}, { password: 'wrong password' }, { totp: '000000' }])
    await assertProblem(
      await sendJson(ruth, `${factorsPath}/enrolments`, { kind: 'totp', name: 'A phone', proof }),
      403,
      'proof-refused',
    )
  const app = await enrolTotp(ruth, { proof: password })
  const path = `${factorsPath}/${app.id}`
  const changes = [
    () => sendJson(ruth, path, { name: 'Another name', proof: password }, 'patch'),
    () => sendJson(ruth, `${path}/removal`, { proof: password }),
    () => sendJson(ruth, `${factorsPath}/recovery-codes`, { proof: password }),
    () => sendJson(ruth, `${factorsPath}/enrolments`, { kind: 'totp', name: 'Mine', proof: password }),
  ]
  for (const change of changes) await assertProblem(await change(), 403, 'proof-refused')

  const renamed = await sendJson(ruth, path, { name: 'Old phone', proof: { totp: app.code() } }, 'patch')
  assert.equal(((await renamed.json()) as { name: string }).name, 'Old phone')
  const codes = await asked<{ recoveryCodes: string[] }>(ruth, `${factorsPath}/recovery-codes`, {
    proof: { totp: app.code(1) },
  })
  assert.equal(codes.recoveryCodes.length, 10)
  const [old = ''] = app.recoveryCodes ?? []
  const [recovery = ''] = codes.recoveryCodes
  await assertProblem(
    await sendJson(ruth, `${path}/removal`, { proof: { recovery: old } }),
    403,
    'proof-refused',
  )
  assert.equal((await sendJson(ruth, `${path}/removal`, { proof: { recovery } })).status, 204)
  assert.deepEqual((await listOf(ruth))._embedded.factors, [])
  assert.equal((await listOf(ruth)).recoveryCodes, 0)
  await ruth.login(ruthEmail)
  const events = (await allEvents(await administrator(service.client()))).filter(
    ({ event, outcome }) => event.startsWith('factor.') && outcome === 'success',
  )
  assert.deepEqual(
    events.map(({ event }) => event),
    ['factor.add', 'factor.change', 'factor.codes', 'factor.recover', 'factor.remove'],
  )
  assert.ok(!JSON.stringify(events).includes(recovery))
})

test('L15 an enrolment is the caller’s own, used once, and void when factors have changed since', async t => {
  const { service, ruth, admin } = await started(t)
  await admin.login(adminEmail)
  const begin = (name: string) =>
    asked<{ enrolment: string; secret: string }>(
      ruth,
      `${factorsPath}/enrolments`,
      { kind: 'totp', name, proof: password },
      201,
    )
  const begun = await begin('a thief’s')
  const { enrolment } = begun
  await assertProblem(await sendJson(ruth, factorsPath, { enrolment, totp: '000000' }), 422, 'factor-refused')
  await assertProblem(
    await sendJson(service.client(), factorsPath, { enrolment, totp: '000000' }),
    401,
    'authentication-required',
  )
  await assertProblem(
    await sendJson(admin, factorsPath, { enrolment, totp: '000000' }),
    422,
    'factor-refused',
  )
  await enrolTotp(ruth, { proof: password })
  const { TOTP } = await import('otpauth')
  const code = new TOTP({ secret: begun.secret }).generate()
  const answer = await sendJson(ruth, factorsPath, { enrolment, totp: code })
  assert.match((await assertProblem(answer, 422, 'factor-refused')).detail, /added or removed since/)
  await assertProblem(await sendJson(ruth, factorsPath, { enrolment, totp: code }), 422, 'factor-refused')
})

test('L17 administrators who must have a factor enrol one before they get a session, and keep none without it', async t => {
  const { service, ruth, admin } = await started(t, { CARREL_SECOND_FACTOR: 'administrators' })
  const answer = await tryLogin(admin, passwordForm(adminEmail))
  assert.equal(answer.headers.get('www-authenticate'), given)
  const problem = await assertProblem(answer, 401, 'second-factor-enrolment-required')
  const { ticket } = problem as unknown as Asked
  await assertProblem(await tryLogin(admin, { ticket, totp: '000000' }), 401, 'login-failed')
  const app = await enrolTotp(admin, { ticket })
  assert.equal(app.recoveryCodes?.length, 10)
  await loggedIn(admin, await tryLogin(admin, { ticket: app.ticket ?? '' }))
  const list = await listOf(admin)
  assert.deepEqual([list.required, list.hasPassword, list.passkeys], [true, true, true])
  // The ticket of the login enrols no second one, now that there is a factor.
  const begun = await sendJson(admin, `${factorsPath}/enrolments`, { kind: 'totp', name: 'More', ticket })
  await assertProblem(begun, 401, 'login-failed')

  // Ruth becomes an administrator: her session isn't refreshed any more.
  await service.storage.people.join('Administrator', ruthEmail, commandEvent('group.join'))
  await assertProblem(await ruth.post('/api/authn/login'), 401, 'second-factor-enrolment-required')
  const tokens = await sendJson(ruth, '/api/authn/tokens', { name: 'a script' })
  await assertProblem(tokens, 403, 'second-factor-missing')
})

test('L17 an administrator resets the factors of another with a proof of their own, which ends all sessions', async t => {
  const { ruth, admin, uuid } = await started(t)
  await enrolTotp(ruth, { proof: password })
  await admin.login(adminEmail)
  const path = `/api/eperson/epersons/${uuid}/factors`
  const seen = (await (await admin.get(path)).json()) as { _embedded: { factors: { name: string }[] } }
  assert.deepEqual(
    seen._embedded.factors.map(({ name }) => name),
    ['My phone'],
  )
  await assertProblem(await ruth.get(path), 403, 'access-denied')
  await assertProblem(await sendJson(admin, `${path}/reset`, { proof: {} }), 403, 'proof-refused')
  const { uuid: own } = (await admin.status())._embedded.eperson ?? { uuid: '' }
  const proof = { password: passwordOf(adminEmail) }
  await assertProblem(
    await sendJson(admin, `/api/eperson/epersons/${own}/factors/reset`, { proof }),
    403,
    'access-denied',
  )
  assert.equal((await sendJson(admin, `${path}/reset`, { proof })).status, 204)
  assert.equal(await ruth.isLoggedIn(), false)
  await ruth.login(ruthEmail)
  const events = await allEvents(admin)
  assert.deepEqual(
    events
      .filter(({ event, outcome }) => event === 'factor.reset' && outcome === 'success')
      .map(one => one.eperson),
    [uuid],
  )
})

test('L18 an access token is made only in a session that began with the factor that the account has', async t => {
  const { ruth } = await started(t)
  const before = ruth.token
  const app = await enrolTotp(ruth, { proof: password })
  await assertProblem(
    await sendJson(ruth, '/api/authn/tokens', { name: 'a script' }),
    403,
    'second-factor-missing',
  )
  // The session itself goes on.
  assert.ok(await ruth.refresh())
  await loggedIn(ruth, await tryLogin(ruth, { ...passwordForm(ruthEmail), totp: app.code() }))
  assert.notEqual(ruth.token, before)
  assert.equal((await sendJson(ruth, '/api/authn/tokens', { name: 'a script' })).status, 201)
})

test('L12 without the setting, nobody is asked, and a password alone logs in', async t => {
  const { service, ruth } = await started(t)
  await enrolTotp(ruth, { proof: password })
  await service.stop()
  const off = await startService(t, {
    dataFolder: service.dataFolder,
    env: { CARREL_BASE_URL: origin, CARREL_SECOND_FACTOR: 'off' },
  })
  const client = await off.loggedIn(ruthEmail)
  await assertProblem(
    await sendJson(client, `${factorsPath}/enrolments`, { kind: 'totp', name: 'A phone', proof: password }),
    403,
    'access-denied',
  )
  await assertUnauthorized(await tryLogin(client, { user: ruthEmail, password: 'wrong' }), 'login-failed')
})
