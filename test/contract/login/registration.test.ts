import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { assertProblem } from '../../support/clients/answers.ts'
import type { Client } from '../../support/clients/client.ts'
import { change, forgetAttempts } from '../../support/data/attempts.ts'
import { eventsOf } from '../../support/data/events.ts'
import { type Catcher, startSmtpCatcher } from '../../support/providers/smtp-catcher.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { passwordOf, type Service, startService } from '../../support/service/service.ts'

const json = { 'content-type': 'application/json' }
const path = '/api/eperson/registrations'
const known = 'ruth@example.org'
const fresh = 'quite another one'
const ui = 'https://ui.example.edu'

interface World {
  readonly service: Service
  readonly catcher: Catcher
  readonly client: Client
}

async function start(t: TestContext, env: Readonly<Record<string, string>> = {}): Promise<World> {
  const catcher = await startSmtpCatcher(t)
  const service = await startService(t, {
    env: {
      CARREL_SMTP_URL: catcher.url,
      CARREL_MAIL_FROM: 'Archive <archive@example.edu>',
      CARREL_UI_URL: ui,
      ...env,
    },
  })
  await service.addEperson(known)
  return { service, catcher, client: service.client() }
}

const ask = (client: Client, kind: string, email: string) =>
  client.post(`${path}?accountRequestType=${kind}`, JSON.stringify({ email, type: 'registration' }), json)

/** Requests a mail, and reads the token from the link in the mail with this number. */
async function tokenOf({ client, catcher }: World, kind: string, email: string, number = 1): Promise<string> {
  assert.equal((await ask(client, kind, email)).status, 201)
  const { links, to } = await catcher.mail(number)
  assert.deepEqual(to, [email])
  const [link = ''] = links
  assert.ok(link.startsWith(`${ui}/${kind}/`), link)
  return link.slice(`${ui}/${kind}/`.length)
}

const person = (email: string | undefined, password: string) =>
  JSON.stringify({
    ...(email === undefined ? {} : { email }),
    password,
    canLogIn: true,
    requireCertificate: false,
    metadata: { 'eperson.firstname': [{ value: 'Ada' }], 'eperson.lastname': [{ value: 'Lovelace' }] },
  })
const register = (client: Client, token: string, email: string | undefined, password = fresh) =>
  client.post(`/api/eperson/epersons?token=${token}`, person(email, password), json)
const choose = (client: Client, token: string, uuid: string, password = fresh) =>
  client.patch(
    `/api/eperson/epersons/${uuid}?token=${token}`,
    JSON.stringify([{ op: 'add', path: '/password', value: { new_password: password } }]),
    json,
  )

test('V1 a link in a mail makes an account, once, and its owner logs in', async t => {
  const world = await start(t)
  const { service, client, catcher } = world
  const token = await tokenOf(world, 'register', 'new@example.org')
  const mail = await catcher.mail(1)
  assert.equal(mail.from, 'archive@example.edu')
  assert.match(mail.source, /^From: Archive <archive@example\.edu>\r?$/m)

  const found = await client.get(`${path}/search/findByToken?token=${token}`)
  const body = (await found.json()) as Record<string, unknown>
  assert.deepEqual([body.email, body.user, body.type], ['new@example.org', null, 'registration'])

  await assertProblem(await register(client, token, 'other@example.org'), 400, 'bad-request')
  await assertProblem(await register(client, token, 'new@example.org', 'password'), 422, 'password-refused')
  const added = await register(client, token, 'New@Example.org')
  assert.equal(added.status, 201, await added.clone().text())
  const eperson = (await added.json()) as { email: string; metadata: Record<string, { value: string }[]> }
  assert.equal(eperson.email, 'new@example.org')
  assert.equal(eperson.metadata['eperson.firstname']?.[0]?.value, 'Ada')
  assert.equal((await service.client().tryLogin('new@example.org', fresh)).status, 200)

  await assertProblem(await register(client, token, 'new@example.org'), 400, 'mail-token-refused')
  // Without an address, the token's own would be used; this is refused, too.
  for (const one of [token, 'unknown'])
    await assertProblem(await register(client, one, undefined), 400, 'mail-token-refused')
  await assertProblem(await client.get(`${path}/search/findByToken?token=${token}`), 404, 'not-found')
  const admin = await service.addLoggedIn('admin@example.org', { admin: true })
  assert.deepEqual(
    (await eventsOf(admin, 'registration')).map(({ method, object }) => [method, object]),
    [['mail', 'register']],
  )
  assert.ok((await eventsOf(admin, 'eperson.add')).some(({ method }) => method === 'mail'))
})

test('V2 T6 a link in a mail sets a new password, once, and ends every session', async t => {
  const world = await start(t)
  const { service, client } = world
  const session = await service.loggedIn(known)
  const token = await tokenOf(world, 'forgot', known)
  const found = await client.get(`${path}/search/findByToken?token=${token}`)
  const { user, email } = (await found.json()) as { user: string; email: string }
  assert.equal(email, known)
  await assertProblem(await choose(client, token, user, 'short'), 422, 'password-refused')
  const other = await service.addEperson('other@example.org')
  await assertProblem(await choose(client, token, other.uuid), 400, 'mail-token-refused')
  const changed = await choose(client, token, user)
  assert.equal(changed.status, 200, await changed.text())
  assert.equal(await session.isLoggedIn(), false)
  assert.equal((await service.client().tryLogin(known, fresh)).status, 200)
  assert.equal((await service.client().tryLogin(known, passwordOf(known))).status, 401)
  await assertProblem(await choose(client, token, user, 'and one more of them'), 400, 'mail-token-refused')
})

test('V2 a link is worthless once the password was changed in another way, or the account disabled', async t => {
  const world = await start(t)
  const { service, client } = world
  const token = await tokenOf(world, 'forgot', known)
  const { people } = service.storage
  const { uuid } = (await people.credentials(known)) ?? { uuid: '' }
  await people.setEnabled(known, false, { ...nobodysEvent, event: 'eperson.disable' })
  await assertProblem(await choose(client, token, uuid), 400, 'mail-token-refused')
})

test('V2 a link is worthless once the account has another address', async t => {
  const world = await start(t)
  const { service, client } = world
  const { uuid } = await service.addEperson('ada@example.org')
  const admin = await service.addLoggedIn('admin@example.org', { admin: true })
  const token = await tokenOf(world, 'forgot', 'ada@example.org')
  const move = async (email: string) => {
    const operations = JSON.stringify([{ op: 'replace', path: '/email', value: email }])
    assert.equal((await admin.patch(`/api/eperson/epersons/${uuid}`, operations, json)).status, 200)
  }
  await move('ada@elsewhere.example')
  await assertProblem(await choose(client, token, uuid), 400, 'mail-token-refused')
  await move('ADA@example.org')
  assert.equal((await choose(client, token, uuid)).status, 200, 'the same address, written otherwise')
})

test('V3 the answer is the same for every address, and only the owner learns more', async t => {
  const { service, client, catcher } = await start(t)
  await service.addEperson('sso@example.org', { password: null })
  const answerTo = async (kind: string, email: string) => {
    const response = await ask(client, kind, email)
    return [response.status, await response.text(), [...response.headers.keys()].sort().join()]
  }
  const same = await answerTo('forgot', 'nobody@example.org')
  assert.equal(same[0], 201)
  for (const email of [known, 'sso@example.org']) assert.deepEqual(await answerTo('forgot', email), same)
  for (const email of [known, 'unknown@example.org'])
    assert.deepEqual(await answerTo('register', email), same)
  await catcher.mail(3)
  const mails = catcher.mails.map(({ to, source }) => `${to} ${/^Subject: (.*)$/m.exec(source)?.[1]?.trim()}`)
  assert.deepEqual(mails.sort(), [
    `${known} Choose a new password`,
    `${known} You have an account already`,
    'unknown@example.org Finish your registration',
  ])
})

test('V3 L8 mails to one address, and from one network, have a bound', async t => {
  const world = await start(t)
  const { client, catcher, service } = world
  await tokenOf(world, 'forgot', known)
  for (const email of [known, 'a@example.org']) assert.equal((await ask(client, 'forgot', email)).status, 201)
  await change(service.dataFolder, 'UPDATE attempt SET level = 60 WHERE level > 0')
  for (const email of [known, 'b@example.org']) assert.equal((await ask(client, 'forgot', email)).status, 429)
  assert.equal(catcher.mails.length, 1)
  // Logging in is still possible.
  assert.equal((await service.client().tryLogin(known, passwordOf(known))).status, 200)
  await forgetAttempts(service)
})

testOn('sqlite', 'V1 what is no address, or not of the domains that may register, is refused', async t => {
  const { client, catcher } = await start(t, { CARREL_REGISTRATION_DOMAINS: 'example.edu, example.net' })
  for (const email of [
    '',
    'nobody',
    'a@b@c',
    'a b@example.edu',
    'a@example.edu\r\nBcc: b@example.edu',
    'a@example.edu,b@example.edu',
    '<a@example.edu>',
    `${'a'.repeat(250)}@example.edu`,
  ])
    await assertProblem(await ask(client, 'register', email), 400, 'bad-request')
  for (const body of ['', '[]', 'null', '{"email": 1}', '{'])
    await assertProblem(await client.post(path, body, json), 400, 'bad-request')
  await assertProblem(
    await client.post(path, 'email=a@example.edu', { 'content-type': 'text/plain' }),
    415,
    'unsupported-media-type',
  )
  await assertProblem(await ask(client, 'other', 'a@example.edu'), 400, 'bad-parameter')
  await assertProblem(await ask(client, 'register', 'a@example.org'), 403, 'registration-refused')
  await assertProblem(await ask(client, 'register', 'a@sub.example.edu'), 403, 'registration-refused')
  assert.equal((await ask(client, 'register', 'a@Example.NET')).status, 201)
  await catcher.mail(1)
  assert.equal(catcher.mails.length, 1)
})

testOn('sqlite', 'V1 without mail, and where nobody may register, the service says so', async t => {
  const none = await startService(t)
  assert.equal((await ask(none.client(), 'register', 'a@example.edu')).status, 404)
  const { client } = await start(t, { CARREL_REGISTRATION: 'false' })
  await assertProblem(await ask(client, 'register', 'a@example.edu'), 403, 'registration-refused')
  assert.equal((await ask(client, 'forgot', known)).status, 201)
})

testOn('sqlite', 'V4 a login at the mail server holds, and its refusals show no address', async t => {
  const catcher = await startSmtpCatcher(t, { user: 'carrel', password: 'p@ss/word' })
  const service = await startService(t, {
    env: { CARREL_SMTP_URL: catcher.url, CARREL_MAIL_FROM: 'archive@example.edu' },
  })
  assert.equal((await ask(service.client(), 'register', 'new@example.org')).status, 201)
  const { links } = await catcher.mail(1)
  assert.ok(links[0]?.startsWith('http://repo.example.edu/register/'), links.join())
})

const nobodysEvent = {
  outcome: 'success',
  eperson: null,
  actor: null,
  clientIp: null,
  method: null,
  object: null,
  reason: null,
} as const
