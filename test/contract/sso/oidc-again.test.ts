import assert from 'node:assert/strict'
import { after } from 'node:test'
import { assertProblem } from '../../support/clients/answers.ts'
import { bearerOf } from '../../support/clients/client.ts'
import { cookieOf } from '../../support/clients/cookie-jar.ts'
import { begunOf } from '../../support/clients/jwt.ts'
import { secureUrl, startCompany, startSecond, tokenOf } from '../../support/providers/openid-company.ts'
import {
  type Browser,
  browserOf,
  home,
  locationOf,
  logOut,
  type Page,
  signIn,
  startOf,
  trade,
  userInterface,
} from '../../support/providers/openid-flow.ts'
import { providerPasswordOf } from '../../support/providers/openid-provider.ts'
import { test, testOn, testOnOne } from '../../support/service/engines.ts'
import { baseUrl } from '../../support/service/service.ts'

/** Providers for logins after the end of a session or after a logout (docs/decisions/0032). */
const { company, ruthIs, start } = await startCompany()
const second = await startSecond()
after(() => Promise.all([company.stop(), second.stop()]))

const remembered = 'CARREL-PROVIDER'
/** An address that DSpace's interface puts into the `location` without encoding it. */
const page = `${userInterface}/items?page=2&size=5`

interface Way {
  /** All addresses that were opened. */
  readonly opened: readonly URL[]
  /** The last page. */
  readonly page: Page
  /** The address of the user interface, if the way ended there. */
  readonly arrived: URL | undefined
}

/** Opens an address and follows redirects until a page is shown. @param before called before each step */
async function go(browser: Browser, from: URL, before: () => void = () => {}): Promise<Way> {
  const opened: URL[] = []
  for (let next = from; ; ) {
    assert.ok(opened.push(next) < 12, `a loop: ${opened.join('\n')}`)
    before()
    const page = await browser.open(next)
    const location = locationOf(page)
    if (location === undefined || location.origin === userInterface)
      return { opened, page, arrived: location }
    next = location
  }
}

/** Returns the parameter `prompt` of each request to a provider. */
const prompts = ({ opened }: Way) =>
  opened
    .filter(url => url.searchParams.has('code_challenge'))
    .map(({ searchParams }) => searchParams.get('prompt'))

/** Fills in the form of the provider. */
async function answerForm(browser: Browser, { page }: Way): Promise<Way> {
  assert.match(page.text, /name="password"/)
  const sent = await browser.submit(page, { user: 'ruth', password: providerPasswordOf('ruth') })
  return go(browser, locationOf(sent) ?? assert.fail(sent.text))
}

/** Makes a provider forget this browser, as its own timeout does. */
function endAt(issuer: string, browser: Browser): void {
  const url = new URL(issuer)
  for (const name of [...browser.cookies.all(url).keys()])
    if (name.endsWith(`-${url.port}`) || name.endsWith(`-${url.port}.sig`)) browser.cookies.remove(url, name)
}

/** Returns the `location` to which a client goes after a 401, with its own address in it. */
function locationIn(answer: Response): URL {
  const [, location = ''] =
    /oidc realm="[^"]*", location="([^"]*)"/.exec(answer.headers.get('www-authenticate') ?? '') ?? []
  assert.match(location, /redirectUrl=/)
  return new URL(location.replace(/redirectUrl=.*/, `redirectUrl=${page}`))
}

testOn(
  'sqlite',
  'X6 T11 who is still signed in at the provider gets a new session when the old one is over, without a question',
  async t => {
    const began = Date.now()
    t.mock.timers.enable({ apis: ['Date'], now: began })
    const service = await start(t, { env: { CARREL_SESSION_LIFETIME: '600' } })
    const browser = browserOf(service)
    const token = await tokenOf(service, { browser })
    const client = service.client()
    assert.equal(await client.isLoggedIn(token), true)

    t.mock.timers.setTime(began + 601_000)
    const refused = await client.post('/api/authn/login', undefined, { authorization: `Bearer ${token}` })
    assert.equal(refused.status, 401, 'a refresh comes too late')
    const way = await go(browser, locationIn(refused))
    assert.deepEqual(prompts(way), ['none'])
    assert.equal(way.arrived?.href, page)
    const renewed = bearerOf(await trade(browser))
    assert.equal(await client.isLoggedIn(renewed), true)
    assert.equal(await client.isLoggedIn(token), false, 'the old one stays expired')
    assert.ok(begunOf(renewed) >= began + 601_000, 'a session with a lifetime of its own')
  },
)

test('X6 who is no longer signed in at the provider is asked once, and never sent around', async t => {
  const service = await start(t)
  const browser = browserOf(service)
  await tokenOf(service, { browser })
  endAt(company.issuer, browser)
  const way = await go(browser, startOf({}))
  assert.deepEqual(prompts(way), ['none', null])
  assert.equal(way.arrived, undefined, 'a form is shown')
  const done = await answerForm(browser, way)
  assert.equal(done.arrived?.href, home)
  assert.equal((await trade(browser)).status, 200)
})

testOnOne('X6 who cancels the one question is not asked again', async t => {
  const service = await start(t)
  const browser = browserOf(service)
  await tokenOf(service, { browser })
  endAt(company.issuer, browser)
  const asked = await go(browser, startOf({}))
  const cancelled = await browser.open(asked.page.url, {
    method: 'POST',
    body: new URLSearchParams({ answer: 'cancel' }),
  })
  const back = await go(browser, locationOf(cancelled) ?? assert.fail(cancelled.text))
  assert.equal(back.arrived, undefined)
  await assertProblem(new Response(back.page.text, back.page.answer), 401, 'sign-on-refused')
})

testOnOne('X6 a browser that keeps the cookie for ever is still shown something', async t => {
  const service = await start(t)
  const browser = browserOf(service)
  await tokenOf(service, { browser })
  endAt(company.issuer, browser)
  const keep = () => browser.cookies.set(new URL(baseUrl), remembered, 'company')
  for (const _again of [1, 2]) {
    const way = await go(browser, startOf({}), keep)
    assert.deepEqual(prompts(way), ['none', null])
    assert.match(way.page.text, /name="password"/)
  }
})

testOnOne('X6 after a logout here nobody is let in silently', async t => {
  const service = await start(t)
  const browser = browserOf(service)
  const token = await tokenOf(service, { browser })
  const loggedOut = await logOut(browser, token)
  assert.equal(cookieOf(loggedOut, remembered)?.attributes.get('max-age'), '0')
  assert.deepEqual(prompts(await go(browser, startOf({}))), [null])
})

testOnOne('X6 a logout at the provider ends the silent way as well', async t => {
  const service = await start(t)
  const browser = browserOf(service)
  const token = await tokenOf(service, { browser })
  await browser.submit(await browser.open(`${company.issuer}/session/end`))
  assert.equal(await service.client().isLoggedIn(token), false)
  const way = await go(browser, startOf({}))
  assert.deepEqual(prompts(way), ['none', null])
  assert.match(way.page.text, /name="password"/)
})

testOnOne('X6 of several providers the last one is asked, and otherwise the person chooses', async t => {
  ruthIs({}, second)
  const providers = [
    { ...company.settings('company'), create: true },
    { ...second.settings('second'), create: true, userInfo: true, email: { match: true } },
  ]
  const service = await start(t, { providers })
  const browser = browserOf(service)
  await tokenOf(service, { browser, provider: 'second' })
  const silent = await go(browser, startOf({}))
  assert.deepEqual(prompts(silent), ['none'])
  assert.equal(silent.arrived?.href, home)
  assert.equal((await trade(browser)).status, 200)

  // If the client has chosen the provider, the provider may ask.
  assert.deepEqual(prompts(await go(browser, startOf({ provider: 'company' }))), [null])
  await tokenOf(service, { browser, provider: 'second' })
  endAt(second.issuer, browser)
  const asked = await go(browser, startOf({}))
  assert.deepEqual(prompts(asked), ['none'])
  assert.match(asked.page.text, /Where do you have an account\?/)
  assert.equal(asked.page.url.searchParams.get('redirectUrl'), home)
})

testOnOne('X6 what the cookie holds is the id of a configured provider, or nothing', async t => {
  const service = await start(t)
  for (const value of ['', 'nobody', 'companyx', '__proto__', 'company&force=1', '%00', 'x'.repeat(5_000)]) {
    const browser = browserOf(service)
    browser.cookies.set(new URL(baseUrl), remembered, value)
    assert.deepEqual(prompts(await go(browser, startOf({}))), [null], value.slice(0, 20))
  }
  const { answer } = await signIn(browserOf(service))
  assert.equal(cookieOf(answer, remembered), undefined, 'only a session is remembered')
})

testOnOne('X6 the cookie is for nobody but the service, and says nothing about the person', async t => {
  for (const at of [baseUrl, secureUrl]) {
    const service = await start(t, { env: { CARREL_BASE_URL: at } })
    const browser = browserOf(service, at)
    await signIn(browser, { at })
    const isSecure = at === secureUrl
    const traded = await trade(browser, { at })
    const cookie =
      cookieOf(traded, isSecure ? `__Host-${remembered}` : remembered) ?? assert.fail('no cookie')
    assert.equal(cookie.value, 'company')
    const { 'max-age': seconds, ...more } = Object.fromEntries(cookie.attributes)
    assert.equal(seconds, '2592000')
    assert.deepEqual(more, {
      path: '/',
      httponly: '',
      ...(isSecure ? { secure: '', samesite: 'None' } : { samesite: 'Lax' }),
    })
  }
})

testOnOne('X6 nobody is asked silently where the configuration says so', async t => {
  for (const provider of [{ silent: false }, { parameters: { prompt: 'select_account' } }]) {
    const service = await start(t, { provider })
    const browser = browserOf(service)
    browser.cookies.set(new URL(baseUrl), remembered, 'company')
    const asked = locationOf(await browser.open(startOf({}))) ?? assert.fail()
    assert.notEqual(asked.searchParams.get('prompt'), 'none')
  }
})
