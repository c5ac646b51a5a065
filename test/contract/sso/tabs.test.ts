import assert from 'node:assert/strict'
import { after, test as plainTest } from 'node:test'
import { assertProblem } from '../../support/clients/answers.ts'
import { bearerOf, type Status } from '../../support/clients/client.ts'
import { type CookieJar, ticketIn } from '../../support/clients/cookie-jar.ts'
import { startCompany } from '../../support/providers/openid-company.ts'
import {
  authenticate,
  begin as beginOidc,
  browserOf,
  logOut,
  signIn as signInByOidc,
  trade,
} from '../../support/providers/openid-flow.ts'
import { base64, begin, type PendingLogin, response, send } from '../../support/providers/saml-attempt.ts'
import { pages, signIn, startSignOn, startWithProvider, Visitor } from '../../support/providers/saml-flow.ts'
import { clientWith, logIn } from '../../support/providers/saml-login.ts'
import { person } from '../../support/providers/saml-provider.ts'
import { test } from '../../support/service/engines.ts'
import { baseUrl, type Service } from '../../support/service/service.ts'

const { company, start } = await startCompany()
after(() => company.stop())

/**
 * Sends POST logins at the same time, each with all cookies that the browser has now. @returns their answers
 */
async function tradeAtOnce(service: Service, jar: CookieJar, tabs: number): Promise<Response[]> {
  const pair = await service.client().csrfPair()
  const cookie = `${pair.cookie}; ${jar.header(new URL(baseUrl))}`
  return Promise.all(
    Array.from({ length: tabs }, async () => {
      const answer = await service
        .client()
        .request('/api/authn/login', { method: 'POST', headers: { cookie, 'x-xsrf-token': pair.value } })
      jar.keep(new URL(baseUrl), answer)
      return answer
    }),
  )
}

const emailOf = async (service: Service, token: string) =>
  (await service.client().status('/api/authn/status', { authorization: `Bearer ${token}` }))._embedded.eperson
    ?.email

test('X9 tabs that return from a SAML provider at once each get a token', async t => {
  const { service, provider } = await startWithProvider(t)
  const visitor = new Visitor(service)
  const attempts: PendingLogin[] = []
  for (let tab = 0; tab < 4; tab++) attempts.push(await begin(service, provider, 'uni', visitor))
  const answers = await Promise.all(attempts.map(one => send(one, base64(response(one)))))
  assert.deepEqual(
    answers.map(({ status }) => status),
    attempts.map(() => 303),
  )
  assert.equal(visitor.signOnCookies().length, attempts.length)
  for (const traded of await tradeAtOnce(service, visitor.jar, attempts.length))
    assert.equal(await emailOf(service, bearerOf(traded)), 'mallory@example.net')
  assert.deepEqual(visitor.signOnCookies(), [], 'each answer clears the cookie that it has taken')
  await assertProblem(await visitor.trade(), 401, 'login-failed')
})

test('X9 tabs that return from an OpenID provider at once each get a token', async t => {
  const service = await start(t)
  const browser = browserOf(service)
  const returned: URL[] = []
  // The provider's own cookies are for one login at a time, so each login has a browser of its own there.
  for (let tab = 0; tab < 3; tab++)
    returned.push(await authenticate(browserOf(service), await beginOidc(browser)))
  const answers = await Promise.all(returned.map(url => browser.open(url)))
  assert.deepEqual(
    answers.map(({ answer }) => answer.status),
    [303, 303, 303],
  )
  const traded = await tradeAtOnce(service, browser.cookies, returned.length)
  assert.equal(new Set(traded.map(bearerOf)).size, returned.length)
  await assertProblem(await trade(browser), 401, 'login-failed')
})

void plainTest('X9 what a tab has left behind does not come before the login that is newer', async t => {
  const { service, provider } = await startWithProvider(t)
  provider.users.set('ada', person('ada-1', 'ada@example.org'))
  provider.users.set('grace', person('grace-1', 'grace@example.org'))
  const { visitor } = await signIn(service, provider, 'ada')
  await signIn(service, provider, 'grace', { visitor })
  assert.equal((await statusOf(visitor))._embedded.eperson?.email, 'grace@example.org')
  assert.equal(await emailOf(service, bearerOf(await visitor.trade())), 'grace@example.org')
  assert.equal(await emailOf(service, bearerOf(await visitor.trade())), 'ada@example.org')
})

void plainTest(
  'X9 a login that has ended meanwhile does not keep that of another tab from its token',
  async t => {
    const { service, provider } = await startWithProvider(t)
    provider.users.set('ada', person('ada-1', 'ada@example.org'))
    provider.users.set('grace', person('grace-1', 'grace@example.org'))
    const { token } = await logIn(service, provider, 'grace')
    const { visitor } = await signIn(service, provider, 'ada')
    await signIn(service, provider, 'grace', { visitor })
    assert.equal((await clientWith(service, token).post('/api/authn/logout')).status, 204)
    assert.equal((await statusOf(visitor))._embedded.eperson?.email, 'ada@example.org')
    assert.equal(await emailOf(service, bearerOf(await visitor.trade())), 'ada@example.org')
    assert.deepEqual(visitor.signOnCookies(), [])
  },
)

void plainTest('X9 O1 a logout takes away the logins of all tabs', async t => {
  const service = await start(t)
  const browser = browserOf(service)
  for (let tab = 0; tab < 3; tab++) await signInByOidc(browser)
  const copy = browserOf(service)
  for (const [name, value] of browser.cookies.all(new URL(baseUrl)))
    copy.cookies.set(new URL(baseUrl), name, value)
  assert.equal((await logOut(browser, '')).status, 204)
  assert.equal(ticketIn(browser.cookies.all(new URL(baseUrl))), undefined)
  await assertProblem(await trade(copy), 401, 'login-failed')
})

void plainTest('X9 a browser keeps five logins of either kind, and the oldest give way', async t => {
  const { service, provider } = await startWithProvider(t)
  provider.users.set('ada', person('ada-1', 'ada@example.org'))
  const visitor = new Visitor(service)
  const all = new Set<string>()
  for (let tab = 0; tab < 8; tab++) {
    await signIn(service, provider, 'ada', { visitor })
    for (const name of visitor.signOnCookies()) all.add(name)
  }
  assert.equal(all.size, 8)
  assert.deepEqual(visitor.signOnCookies(), [...all].slice(-5))
})

void plainTest('X9 starts with long addresses do not fill a browser with cookies', async t => {
  const { service, provider } = await startWithProvider(t)
  provider.users.set('ada', person('ada-1', 'ada@example.org'))
  const visitor = new Visitor(service)
  const redirectUrl = `${pages}/${'x'.repeat(1_900)}`
  for (let tab = 0; tab < 12; tab++) {
    await startSignOn(service, { visitor, redirectUrl })
    const bytes = visitor.jar.header(visitor.url('/'))?.length ?? 0
    assert.ok(bytes < 8_000, `${bytes} bytes of cookies`)
  }
  const { answer } = await signIn(service, provider, 'ada', { visitor, redirectUrl })
  assert.equal(answer.headers.get('location'), redirectUrl, 'the newest still works')
})

const statusOf = async (visitor: Visitor) =>
  (await (await visitor.get(visitor.url('/api/authn/status'))).json()) as Status
