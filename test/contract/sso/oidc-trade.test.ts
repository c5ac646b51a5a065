import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import { assertProblem } from '../../support/clients/answers.ts'
import { bearerOf } from '../../support/clients/client.ts'
import { cookieOf, ticketIn, tradeCookie, tradeCookieOf } from '../../support/clients/cookie-jar.ts'
import { claimsOf } from '../../support/clients/jwt.ts'
import {
  cookiesIn,
  emails,
  epersons,
  ruth,
  startCompany,
  statusIn,
  tokenOf,
} from '../../support/providers/openid-company.ts'
import {
  authenticate,
  Browser,
  begin,
  browserOf,
  signIn,
  trade,
} from '../../support/providers/openid-flow.ts'
import { databaseOf, runSqlIn, test, testOn, testOnOne } from '../../support/service/engines.ts'
import { quickLogin } from '../../support/service/nodes.ts'
import { baseUrl, passwordOf, type Service } from '../../support/service/service.ts'

/** A provider for all tests; each test has a service of its own. */
const { company, ruthIs, start } = await startCompany()
after(() => company.stop())

test('X2 the cookie is traded once, also by many at the same moment', async t => {
  const service = await start(t)
  const browser = browserOf(service)
  await signIn(browser)
  const cookie = cookiesIn(browser)
  bearerOf(await trade(browser))
  await assertProblem(await trade(browser), 401, 'login-failed')
  const [, name, ticket] = /(CARREL-SSO-TRADE-[^=]+)=([^;]+)/.exec(cookie) ?? []
  browser.cookies.set(new URL(baseUrl), name ?? '', ticket ?? assert.fail())
  assert.equal((await statusIn(browser)).authenticated, false)
  await assertProblem(await trade(browser), 401, 'login-failed')

  await signIn(browser)
  assert.deepEqual(await statusesOf([service, service, service, service], browser), [200, 401, 401, 401])

  // The server does not rely on the browser to forget the cookie.
  for (const [seconds, status] of [
    [50, 200],
    [60, 401],
  ] as const) {
    await signIn(browser)
    await letPass(service, seconds)
    assert.equal((await statusIn(browser)).authenticated, status === 200)
    assert.equal((await trade(browser)).status, status, `${seconds} seconds`)
  }

  await signIn(browser)
  const base = new URL(baseUrl)
  const value = ticketIn(browser.cookies.all(base)) ?? assert.fail()
  const flipped = (at: number) => value.slice(0, at) + (value[at] === 'A' ? 'B' : 'A') + value.slice(at + 1)
  for (const wrong of [
    flipped(0),
    flipped(20),
    `${value}A`,
    value.slice(0, -1),
    value.toUpperCase(),
    '',
    '%00',
    "' OR 1=1",
  ]) {
    browser.cookies.set(base, tradeCookieOf(value), wrong)
    assert.equal((await statusIn(browser)).authenticated, false, wrong)
    await assertProblem(await trade(browser), 401, 'login-failed')
  }
  browser.cookies.set(base, tradeCookieOf(value), value)
  assert.equal((await trade(browser)).status, 200)
})

/** Makes everything that expires in the store this number of seconds older. */
async function letPass({ dataFolder }: Service, seconds: number): Promise<void> {
  const change = `ticket SET expires = expires - ${seconds * 1000}`
  if ((await databaseOf(dataFolder)) !== undefined) {
    await runSqlIn(dataFolder, `UPDATE carrel.${change}`)
    return
  }
  const db = new DatabaseSync(join(dataFolder, 'carrel.db'))
  db.exec(`UPDATE ${change}`)
  db.close()
}

testOn('postgres', 'X2 any node takes the cookie, and all of them together once', async t => {
  const first = await start(t)
  const { dataFolder } = first
  const other = await start(t, { dataFolder })
  // Each step is at another node.
  const browser = browserOf(first)
  const returned = await authenticate(browser, await begin(browser))
  const elsewhere = new Browser({ [baseUrl]: other.address })
  for (const [name, value] of browser.cookies.all(new URL(baseUrl)))
    elsewhere.cookies.set(new URL(baseUrl), name, value)
  assert.equal((await elsewhere.open(returned)).answer.status, 303)
  assert.deepEqual(await statusesOf([first, other, first, other], elsewhere), [200, 401, 401, 401])
})

/**
 * Exchanges the browser's cookie at each of the services at the same moment. @returns the statuses, sorted
 */
async function statusesOf(services: readonly Service[], browser: Browser): Promise<number[]> {
  const cookie = cookiesIn(browser)
  const answers = await Promise.all(
    services.map(async service => {
      const client = service.client()
      const pair = await client.csrfPair()
      return client.post('/api/authn/login', undefined, { cookie: `${cookie}; ${pair.cookie}` })
    }),
  )
  return answers.map(({ status }) => status).sort()
}

testOnOne('C1 the trade needs a CSRF pair, and a refusal does not use the cookie up', async t => {
  const service = await start(t)
  const browser = browserOf(service)
  await signIn(browser)
  const refused = [
    await browser.open(`${baseUrl}/api/authn/login`, {
      method: 'POST',
      headers: { cookie: cookiesIn(browser) },
    }),
    await browser.open(`${baseUrl}/api/authn/login`, {
      method: 'POST',
      headers: { 'x-xsrf-token': 'made up' },
    }),
  ]
  for (const { answer } of refused) {
    assert.equal(answer.status, 403)
    assert.equal(answer.headers.get('authorization'), null)
    assert.equal(cookieOf(answer, tradeCookie), undefined)
  }
  assert.equal((await trade(browser)).status, 200)
})

testOnOne('L1 L9 T10 what is refused at a login is refused with the cookie too', async t => {
  const service = await start(t)
  const { uuid } = await service.addEperson('max@example.org', { password: null })
  const browser = browserOf(service)
  await signIn(browser)
  assert.equal((await browser.open(`${baseUrl}/api/authn/login`)).answer.status, 405)
  await assertProblem(
    await trade(browser, { headers: { 'x-on-behalf-of': uuid } }),
    403,
    'on-behalf-of-refused',
  )
  const { cookie, value } = await service.client().csrfPair()
  const answer = await fetch(`${service.address}/api/authn/login?authentication-token=x`, {
    method: 'POST',
    headers: { cookie: `${cookiesIn(browser)}; ${cookie}`, 'x-xsrf-token': value },
  })
  await assertProblem(answer, 403, 'short-lived-token-refused')
  assert.equal((await trade(browser)).status, 200)
})

testOnOne('S1 the status with the cookie says who it is, and does not use it up', async t => {
  const service = await start(t, {
    provider: { groups: [{ group: 'Staff', attribute: 'groups', value: 'staff' }] },
  })
  ruthIs({ groups: ['staff'] })
  const browser = browserOf(service)
  await signIn(browser)
  for (let round = 0; round < 3; round++) {
    const status = await statusIn(browser)
    assert.equal(status.authenticated, true)
    assert.equal(status.authenticationMethod, 'oidc')
    assert.equal(status._embedded.eperson?.email, ruth.email)
  }
  // The cookie works only for the exchange for a token.
  const { cookie, value } = await service.client().csrfPair()
  const short = await fetch(`${service.address}/api/authn/shortlivedtokens`, {
    method: 'POST',
    headers: { cookie: `${cookiesIn(browser)}; ${cookie}`, 'x-xsrf-token': value },
  })
  await assertProblem(short, 401, 'authentication-required')
  const events = await browser.open(`${baseUrl}/api/query/v4/epersons`)
  assert.equal(events.answer.status, 401)
  assert.equal((await trade(browser)).status, 200)
  assert.equal((await statusIn(browser)).authenticated, false)
})

test('T4 T6 a logout, a disabling or a deletion between the return and the trade ends it', async t => {
  const service = await start(t)
  const { people } = service.storage
  const token = await tokenOf(service)
  const logOut = async () => {
    const client = service.client()
    client.token = token
    assert.equal((await client.post('/api/authn/logout')).status, 204)
  }
  for (const [why, end] of [
    ['logout', logOut],
    ['disabled', () => people.setEnabled(ruth.email, false, commandEvent('eperson.disable'))],
    ['deleted', () => people.deleteEperson(ruth.email, commandEvent('eperson.delete'))],
  ] as const) {
    const browser = browserOf(service)
    const { answer } = await signIn(browser)
    assert.equal(answer.status, 303, why)
    await end()
    assert.equal((await statusIn(browser)).authenticated, false, why)
    const traded = await trade(browser)
    await assertProblem(traded, 401, 'login-failed')
    assert.equal(traded.headers.get('authorization'), null)
    await people.setEnabled(ruth.email, true, commandEvent('eperson.enable'))
    await assertProblem(await trade(browser), 401, 'login-failed')
  }
  const again = claimsOf(await tokenOf(service)).eid
  assert.notEqual(again, claimsOf(token).eid, 'a subject does not lead to who is no more')
  assert.deepEqual(await emails(service), [ruth.email])
})

testOnOne('L6 credentials or a valid token win over the cookie', async t => {
  const service = await start(t)
  const max = await service.addEperson('max@example.org')
  const browser = browserOf(service)
  await signIn(browser)
  const [person] = (await epersons(service)).filter(({ email }) => email === ruth.email)
  const cookie = cookiesIn(browser)
  const client = service.client()
  const { cookie: pair } = await client.csrfPair()
  const post = (password: string) =>
    client.post('/api/authn/login', new URLSearchParams({ user: max.email, password }), {
      cookie: `${cookie}; ${pair}`,
    })
  assert.equal((await post('wrong')).status, 401)
  assert.equal(claimsOf(bearerOf(await post(passwordOf(max.email)))).eid, max.uuid)

  const bearer = await quickLogin(service, max.email)
  const refreshed = await trade(browser, { headers: { authorization: `Bearer ${bearer}` } })
  assert.equal(claimsOf(bearerOf(refreshed)).eid, max.uuid)

  // An invalid token counts as none.
  const other = browserOf(service)
  await signIn(other)
  const traded = await trade(other, { headers: { authorization: 'Bearer x' } })
  assert.equal(claimsOf(bearerOf(traded)).eid, person?.uuid)
})
