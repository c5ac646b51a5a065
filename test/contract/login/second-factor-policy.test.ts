import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import { assertProblem } from '../../support/clients/answers.ts'
import { bearerOf, type Client } from '../../support/clients/client.ts'
import { sendHalf } from '../../support/clients/half-sent.ts'
import {
  asked,
  enrolTotp,
  factorsPath,
  origin,
  passwordForm,
  sendJson,
  tryLogin,
} from '../../support/data/factors.ts'
import { ruthEmail } from '../../support/data/ruth.ts'
import { startDirectory } from '../../support/providers/ldap-directory.ts'
import { addressOf, entries, ruth as person, withDirectory } from '../../support/providers/ldap-flow.ts'
import { test } from '../../support/service/engines.ts'
import { passwordOf, type Service, startService } from '../../support/service/service.ts'

const adminEmail = 'admin@example.org'
const password = { password: passwordOf(ruthEmail) }
const peoplePath = '/api/eperson/epersons'
const join = ({ storage }: Service) =>
  storage.people.join('Administrator', ruthEmail, commandEvent('group.join'))

const started = (t: TestContext, setting: string, more: Parameters<typeof startService>[1] = {}) =>
  startService(t, { ...more, env: { CARREL_BASE_URL: origin, CARREL_SECOND_FACTOR: setting, ...more.env } })

/** Another service on the same store, with another setting. */
async function withSetting(t: TestContext, service: Service, setting: string): Promise<Service> {
  await service.stop()
  return started(t, setting, {
    dataFolder: service.dataFolder,
    env: { CARREL_LOGIN_ON_BEHALF_OF: 'true' },
  })
}

const at = ({ client }: Service, { token }: Client): Client => Object.assign(client(), { token })

/** What only administrators may do, in every way in which a request is given the right. */
const administrators: Readonly<Record<string, (client: Client, uuid: string) => Promise<Response>>> = {
  'a list': client => client.get(peoplePath),
  'the factors of another': (client, uuid) => client.get(`${peoplePath}/${uuid}/factors`),
  'a reset': (client, uuid) => sendJson(client, `${peoplePath}/${uuid}/factors/reset`, { proof: {} }),
  'the end of sessions': (client, uuid) => client.delete(`${peoplePath}/${uuid}/sessions`),
  'a group': client => sendJson(client, '/api/eperson/groups', { name: 'Herons' }),
  'acting on behalf': (client, uuid) => client.get(`${peoplePath}/${uuid}`, { 'x-on-behalf-of': uuid }),
}

test('L17 a session without the factor has no right of an administrator from the moment its eperson is one', async t => {
  const service = await started(t, 'administrators', { env: { CARREL_LOGIN_ON_BEHALF_OF: 'true' } })
  await service.addEperson(ruthEmail)
  const { uuid } = await service.addEperson('other@example.org')
  await service.addRecords('secrets', 'id', [{ id: 1 }], 'admin')
  const ruth = await service.loggedIn(ruthEmail)
  const shortLived = async () => ruth.shortLivedToken()
  await join(service)
  for (const [what, ask] of Object.entries(administrators))
    assert.equal(
      (await assertProblem(await ask(ruth, uuid), 401, 'second-factor-enrolment-required')).status,
      401,
      what,
    )
  // Where others see less, so does she; and all that is her own goes on.
  await assertProblem(await ruth.get('/api/query/v4/secrets'), 401, 'second-factor-enrolment-required')
  assert.equal((await ruth.get(`${peoplePath}/${(await ruth.status())._embedded.eperson?.uuid}`)).status, 200)
  const app = await enrolTotp(ruth, { proof: password })
  for (const ask of Object.values(administrators))
    await assertProblem(await ask(ruth, uuid), 401, 'second-factor-required')
  const asks = `${peoplePath}?authentication-token=${await shortLived()}`
  assert.equal((await service.client().get(asks)).status, 401)
  await assertProblem(await ruth.post('/api/authn/login'), 401, 'second-factor-required')
  ruth.token = bearerOf(await tryLogin(ruth, { ...passwordForm(ruthEmail), totp: app.code() }))
  assert.equal((await ruth.get(peoplePath)).status, 200)
  assert.equal((await ruth.get('/api/query/v4/secrets')).status, 200)
  assert.ok(await ruth.refresh())
})

test('L17 L18 an administrator who removes the last factor has the rights of one only after enrolling another', async t => {
  const service = await started(t, 'administrators')
  await service.addEperson(ruthEmail, { admin: true })
  const ruth = service.client()
  const asks = await assertProblem(
    await tryLogin(ruth, passwordForm(ruthEmail)),
    401,
    'second-factor-enrolment-required',
  )
  const { ticket } = asks as unknown as { ticket: string }
  const app = await enrolTotp(ruth, { ticket })
  ruth.token = bearerOf(await tryLogin(ruth, { ticket: app.ticket ?? '' }))
  assert.equal((await ruth.get(peoplePath)).status, 200)
  const proof = { totp: app.code() }
  assert.equal((await sendJson(ruth, `${factorsPath}/${app.id}/removal`, { proof })).status, 204)
  await assertProblem(await ruth.get(peoplePath), 401, 'second-factor-enrolment-required')
  await assertProblem(await ruth.post('/api/authn/login'), 401, 'second-factor-enrolment-required')
  await assertProblem(
    await sendJson(ruth, '/api/authn/tokens', { name: 'a job' }),
    403,
    'second-factor-missing',
  )
})

test('L17 a setting holds for sessions that began before it: without the factor, a token counts as none', async t => {
  const before = await started(t, 'optional', { env: { CARREL_LOGIN_ON_BEHALF_OF: 'true' } })
  const { uuid } = await before.addEperson(ruthEmail)
  const admins = await before.addLoggedIn(adminEmail, { admin: true })
  const own = await before.loggedIn(ruthEmail)
  const made = await asked<{ token: string }>(
    admins,
    '/api/authn/tokens',
    { name: 'a job', parts: ['people'] },
    201,
  )
  const all = await withSetting(t, before, 'everybody')
  const ruth = at(all, own)
  assert.equal(await ruth.isLoggedIn(), false)
  for (const answer of [
    await ruth.get(factorsPath),
    await ruth.get('/api/authn/sessions'),
    await ruth.post('/api/authn/shortlivedtokens'),
    await ruth.post('/api/authn/login'),
    await at(all, admins).get(peoplePath, { 'x-on-behalf-of': uuid }),
  ])
    await assertProblem(answer, 401, 'second-factor-enrolment-required')
  // An access token is no session, and goes on; `carrel doctor` lists it.
  const program = Object.assign(all.client(), { token: made.token })
  assert.equal((await program.get(peoplePath)).status, 200)
  const optional = await withSetting(t, all, 'optional')
  assert.equal(await at(optional, own).isLoggedIn(), true)
  const some = await withSetting(t, optional, 'administrators')
  assert.equal(await at(some, own).isLoggedIn(), true)
  await assertProblem(await at(some, admins).get(peoplePath), 401, 'second-factor-enrolment-required')
  // A logout ends the session all the same.
  assert.equal((await at(some, admins).post('/api/authn/logout')).status, 204)
})

test('L17 B3 an administrator with the factor acts for those without one, whose changes ask for no factor', async t => {
  const service = await started(t, 'everybody', { env: { CARREL_LOGIN_ON_BEHALF_OF: 'true' } })
  await service.addEperson(adminEmail, { admin: true })
  const { uuid } = await service.addEperson(ruthEmail)
  const admin = service.client()
  const asks = await assertProblem(
    await tryLogin(admin, passwordForm(adminEmail)),
    401,
    'second-factor-enrolment-required',
  )
  const app = await enrolTotp(admin, { ticket: (asks as unknown as { ticket: string }).ticket })
  admin.token = bearerOf(await tryLogin(admin, { ticket: app.ticket ?? '' }))
  const headers = { 'x-on-behalf-of': uuid }
  const wanted = { type: 'application/json', body: '{"name":"Herons"}', headers }
  const sent = await sendHalf(admin, '/api/eperson/groups', wanted)
  const group = await asked<{ id: string }>(admin, '/api/eperson/groups', { name: 'Rails' }, 201)
  const member = await admin.post(
    `/api/eperson/groups/${group.id}/epersons`,
    `${service.address}/api/eperson/epersons/${uuid}`,
    { 'content-type': 'text/uri-list' },
  )
  assert.equal(member.status, 204)
  const { status, code } = await sent.end()
  assert.deepEqual([status, code], [403, 'access-denied'])
})

test('L17 CARREL_SECOND_FACTOR_LOGINS holds for a directory’s sessions that began before it', async t => {
  const directory = await startDirectory(t, entries)
  const env = withDirectory(t, [addressOf(directory)])
  const before = await started(t, 'everybody', { env })
  const client = before.client()
  const form = { user: person.user, password: person.password }
  client.token = bearerOf(await tryLogin(client, form))
  assert.equal(await client.isLoggedIn(), true)
  await before.stop()
  const after = await started(t, 'everybody', {
    dataFolder: before.dataFolder,
    env: { ...env, CARREL_SECOND_FACTOR_LOGINS: 'all' },
  })
  await assertProblem(
    await at(after, client).get('/api/authn/sessions'),
    401,
    'second-factor-enrolment-required',
  )
  const again = after.client()
  const asks = await assertProblem(await tryLogin(again, form), 401, 'second-factor-enrolment-required')
  const app = await enrolTotp(again, { ticket: (asks as unknown as { ticket: string }).ticket })
  // Enrolling makes no earlier session one that has proved the factor.
  await assertProblem(await at(after, client).get('/api/authn/sessions'), 401, 'second-factor-required')
  again.token = bearerOf(await tryLogin(again, { ticket: app.ticket ?? '' }))
  assert.equal(await again.isLoggedIn(), true)
  assert.ok(await again.refresh())
})

test('L15 N3 whoever enrols a factor may end all other sessions in the same step', async t => {
  const service = await started(t, 'optional')
  await service.addEperson(ruthEmail)
  const ruth = await service.loggedIn(ruthEmail)
  const other = await service.loggedIn(ruthEmail)
  const begun = await asked<{ enrolment: string; secret: string }>(
    ruth,
    `${factorsPath}/enrolments`,
    { kind: 'totp', name: 'My phone', proof: password },
    201,
  )
  const { TOTP } = await import('otpauth')
  const totp = new TOTP({ secret: begun.secret }).generate()
  const { enrolment } = begun
  await asked(ruth, factorsPath, { enrolment, totp, endOtherSessions: true }, 201)
  assert.deepEqual([await ruth.isLoggedIn(), await other.isLoggedIn()], [true, false])
})
