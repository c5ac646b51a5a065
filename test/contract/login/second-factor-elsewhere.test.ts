import assert from 'node:assert/strict'
import { after } from 'node:test'
import { assertProblem } from '../../support/clients/answers.ts'
import { bearerOf } from '../../support/clients/client.ts'
import { eventsOf } from '../../support/data/events.ts'
import { enrolTotp, sendJson, tryLogin } from '../../support/data/factors.ts'
import { startDirectory } from '../../support/providers/ldap-directory.ts'
import { addressOf, entries, ruth, withDirectory } from '../../support/providers/ldap-flow.ts'
import { startCompany } from '../../support/providers/openid-company.ts'
import { browserOf, signIn, trade } from '../../support/providers/openid-flow.ts'
import { testOn } from '../../support/service/engines.ts'
import { type Service, startService } from '../../support/service/service.ts'

const { company, start } = await startCompany()
after(() => company.stop())

testOn(
  'sqlite',
  'L12 L17 a directory’s password needs a factor, too, if CARREL_SECOND_FACTOR_LOGINS is all',
  async t => {
    const directory = await startDirectory(t, entries)
    const service = await startService(t, {
      env: {
        ...withDirectory(t, [addressOf(directory)]),
        CARREL_SECOND_FACTOR: 'everybody',
        CARREL_SECOND_FACTOR_LOGINS: 'all',
      },
    })
    const client = service.client()
    const form = { user: ruth.user, password: ruth.password }
    const first = await assertProblem(await tryLogin(client, form), 401, 'second-factor-enrolment-required')
    const { ticket } = first as unknown as { ticket: string }
    const app = await enrolTotp(client, { ticket })
    const logIn = async (fields: Readonly<Record<string, string>>) => {
      client.token = bearerOf(await tryLogin(client, fields))
      assert.equal((await sendJson(client, '/api/authn/tokens', { name: `job ${names++}` })).status, 201)
      assert.ok(await client.refresh())
    }
    let names = 0
    await logIn({ ticket: app.ticket ?? '' })
    const asks = await assertProblem(await tryLogin(client, form), 401, 'second-factor-required')
    await logIn({ ticket: (asks as unknown as { ticket: string }).ticket, totp: app.code() })
    await logIn({ ...form, totp: app.code(1) })
    await assertProblem(await tryLogin(client, { ...form, password: 'wrong' }), 401, 'login-failed')
    // A logout ends the login that waits.
    const waiting = await assertProblem(await tryLogin(client, form), 401, 'second-factor-required')
    await logIn({ ...form, recovery: app.recoveryCodes?.[0] ?? '' })
    assert.equal((await client.post('/api/authn/logout')).status, 204)
    const [, recovery = ''] = app.recoveryCodes ?? []
    const late = { ticket: (waiting as unknown as { ticket: string }).ticket, recovery }
    await assertProblem(await tryLogin(client, late), 401, 'login-failed')
  },
)

testOn(
  'sqlite',
  'L12 L17 a single sign-on is traded for a ticket first, if CARREL_SECOND_FACTOR_LOGINS is all',
  async t => {
    const service = await start(t, {
      env: { CARREL_SECOND_FACTOR: 'everybody', CARREL_SECOND_FACTOR_LOGINS: 'all' },
    })
    const browser = browserOf(service)
    await signIn(browser)
    const first = await assertProblem(await trade(browser), 401, 'second-factor-enrolment-required')
    const client = service.client()
    const app = await enrolTotp(client, { ticket: (first as unknown as { ticket: string }).ticket })
    await signIn(browser)
    const asks = await assertProblem(await trade(browser), 401, 'second-factor-required')
    const { ticket } = asks as unknown as { ticket: string }
    client.token = bearerOf(await tryLogin(client, { ticket, totp: app.code() }))
    const status = (await client.status()) as unknown as { authenticationMethod: string }
    assert.equal(status.authenticationMethod, 'oidc')
    // A logout at the provider ends the login that waits, as it would its session.
    const other = browserOf(service)
    await signIn(other)
    const waits = await assertProblem(await trade(other), 401, 'second-factor-required')
    const before = company.backChannel.length
    await other.submit(await other.open(`${company.issuer}/session/end`))
    assert.deepEqual(company.backChannel.slice(before), [200])
    const late = { ticket: (waits as unknown as { ticket: string }).ticket, totp: app.code(1) }
    await assertProblem(await tryLogin(client, late), 401, 'login-failed')
  },
)

testOn(
  'sqlite',
  'L12 N1 a login that a directory or a provider vouches for begins its session once the factor is proved',
  async t => {
    const directory = await startDirectory(t, entries)
    const env = { CARREL_SECOND_FACTOR: 'optional', CARREL_SECOND_FACTOR_LOGINS: 'all' }
    const campus = await startService(t, { env: { ...withDirectory(t, [addressOf(directory)]), ...env } })
    const form = { user: ruth.user, password: ruth.password }
    const byPassword = () => tryLogin(campus.client(), form)
    await beginsOnce(campus, 'ldap', byPassword, (_, code) => tryLogin(campus.client(), { ...form, ...code }))

    const remote = await start(t, { env })
    const browser = browserOf(remote)
    const bySignOn = async () => {
      await signIn(browser)
      return trade(browser)
    }
    await beginsOnce(remote, 'oidc', bySignOn, (ticket, code) =>
      tryLogin(remote.client(), { ticket, ...code }),
    )
  },
)

/** Logs in without a factor, enrols one, and logs in again in two steps. */
async function beginsOnce(
  service: Service,
  method: string,
  vouch: () => Promise<Response>,
  prove: (ticket: string, code: { readonly totp: string }) => Promise<Response>,
) {
  const admin = service.client()
  const client = service.client()
  await service.addEperson('root@example.org', { admin: true })
  await admin.login('root@example.org')
  client.token = bearerOf(await vouch())
  const app = await enrolTotp(client, { proof: {} })
  const begun = async () => {
    const sessions = (await (await client.get('/api/authn/sessions')).json()) as { page: object }
    const logins = (await eventsOf(admin, 'login')).filter(one => one.method === method)
    return { outcomes: logins.map(({ outcome }) => outcome), page: sessions.page }
  }
  const page = (totalElements: number) => ({ number: 0, size: 20, totalPages: 1, totalElements })
  assert.deepEqual(await begun(), { outcomes: ['success'], page: page(1) })
  const asks = await assertProblem(await vouch(), 401, 'second-factor-required')
  assert.deepEqual(await begun(), { outcomes: ['success'], page: page(1) })
  const { ticket } = asks as unknown as { ticket: string }
  assert.equal((await prove(ticket, { totp: app.code() })).status, 200)
  assert.deepEqual(await begun(), { outcomes: ['success', 'success'], page: page(2) })
}
