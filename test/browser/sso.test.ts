import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { openBrowser, openPage } from '../support/clients/browser.ts'
import { Client } from '../support/clients/client.ts'
import { press, shownOn, startUserInterface, tokenOn } from '../support/clients/user-interface.ts'
import { eventsOf } from '../support/data/events.ts'
import { identity } from '../support/providers/certificates.ts'
import {
  clientSecret,
  clientSecretVariable,
  providerPasswordOf,
  startOpenIdProvider,
} from '../support/providers/openid-provider.ts'
import { type ReverseProxy, startReverseProxy } from '../support/providers/reverse-proxy.ts'
import { introduce } from '../support/providers/saml-flow.ts'
import { logoutRequestXml, signed } from '../support/providers/saml-forge.ts'
import {
  attributeNames,
  type ProviderOptions,
  person,
  type SamlProvider,
  startSamlProvider,
} from '../support/providers/saml-provider.ts'
import { isLong } from '../support/scale.ts'
import { atEnd } from '../support/service/at-end.ts'
import { test, testOnOne } from '../support/service/engines.ts'
import { passwordOf, type Service, startService, temporaryFolder } from '../support/service/service.ts'

/** Declares a test for the long run only, because another test here shows the same faults. */
const longTest = (...of: Parameters<typeof test>) => {
  if (isLong) testOnOne(...of)
}

const email = 'ruth@example.edu'

interface World {
  readonly front: ReverseProxy
  readonly service: Service
  /** The page at which a browser begins and ends. */
  readonly ui: string
}

interface Setting {
  readonly front: ReverseProxy
  readonly providers: readonly object[]
  readonly saml?: object
  readonly env?: Readonly<Record<string, string>>
}

/** Starts a service behind its public address, and a page on another origin that may call it. */
async function startWorld(
  t: TestContext,
  { front, providers, saml = {}, env = {} }: Setting,
): Promise<World> {
  const ui = await startUserInterface(t, front.address)
  const file = join(temporaryFolder(t), 'carrel.json')
  writeFileSync(file, JSON.stringify({ singleSignOn: { saml, providers } }))
  const service = await startService(t, {
    env: {
      CARREL_CONFIG: file,
      CARREL_BASE_URL: front.address,
      CARREL_ALLOWED_ORIGINS: ui.origin,
      ...env,
    },
  })
  front.forwardTo(service.address)
  return { front, service, ui: `${ui.origin}/` }
}

/** Returns Carrel's settings for a SAML provider, which `introduce` tells about Carrel. */
function samlSettings(t: TestContext, id: string, provider: SamlProvider, metadata = provider.metadata()) {
  const file = join(temporaryFolder(t), `${id}.xml`)
  writeFileSync(file, metadata)
  return {
    id,
    kind: 'saml',
    metadata: file,
    create: true,
    groups: [{ group: 'Staff', attribute: attributeNames.affiliation, value: 'staff@example.edu' }],
  }
}

/** Returns the keys of Carrel as a SAML service provider that signs, which single logout needs. */
function samlKeys(t: TestContext) {
  const folder = temporaryFolder(t)
  const { privateKey, certificate } = identity('carrel')
  writeFileSync(join(folder, 'sp.key'), privateKey)
  writeFileSync(join(folder, 'sp.crt'), certificate)
  return { privateKey: { file: join(folder, 'sp.key') }, certificate: { file: join(folder, 'sp.crt') } }
}

const ruthAtSaml = person('ruth', email, {
  attributes: { [attributeNames.affiliation]: ['member@example.edu', 'staff@example.edu'] },
})

async function startSamlWorld(
  t: TestContext,
  names: readonly string[] = ['University'],
  options: ProviderOptions = {},
) {
  const front = await startReverseProxy(t)
  const idps = await Promise.all(names.map(name => startSamlProvider(t, { ...options, name })))
  for (const idp of idps) idp.users.set('ruth', ruthAtSaml)
  const providers = idps.map((idp, at) => ({ ...samlSettings(t, `uni-${at}`, idp), name: names[at] }))
  const world = await startWorld(t, { front, providers, saml: samlKeys(t) })
  await introduce(world.service, ...idps)
  const [idp] = idps
  assert.ok(idp)
  return { ...world, idp, idps }
}

const ruthAtOpenId = { sub: 'r-1', email, email_verified: true, given_name: 'Ruth', groups: ['staff'] }

async function startOpenIdWorld(t: TestContext, more: object = {}) {
  const front = await startReverseProxy(t)
  const op = await startOpenIdProvider({ publicAddresses: [front.address] })
  atEnd(t, () => op.stop())
  op.users.set('ruth', ruthAtOpenId)
  const groups = [{ group: 'Staff', attribute: 'groups', value: 'staff' }]
  const providers = [{ ...op.settings('company'), create: true, groups, ...more }]
  const world = await startWorld(t, { front, providers, env: { [clientSecretVariable]: clientSecret } })
  return { ...world, op }
}

async function startProxyWorld(t: TestContext) {
  const secret = { header: 'X-Proxy-Secret', value: 'known to the proxy and the service' }
  const users = { ruth: { 'X-Id': 'r-1', 'X-Mail': email, 'X-Groups': 'member;staff' } }
  const front = await startReverseProxy(t, { users, secret })
  const provider = {
    id: 'apache',
    kind: 'proxy',
    addresses: ['127.0.0.1'],
    secretHeader: secret.header,
    secret: { env: 'PROXY_SECRET' },
    attributes: { subject: 'X-Id', email: 'X-Mail' },
    groups: [{ group: 'Staff', attribute: 'X-Groups', value: 'staff' }],
    loginUrl: `${front.loginPage}?target={target}`,
    logoutUrl: `${front.logoutPage}?target={target}`,
    create: true,
  }
  const env = { PROXY_SECRET: secret.value, CARREL_TRUSTED_PROXIES: '127.0.0.1' }
  return startWorld(t, { front, providers: [provider], env })
}

/** Leaves the page with the button of the scheme. */
const leave = (page: Page, scheme: string) =>
  page.getByRole('button', { name: `Log in with ${scheme}`, exact: true }).click()

/** Fills in the provider's form. */
async function fillIn(page: Page, password: string, user = 'ruth'): Promise<void> {
  await page.getByLabel('User').fill(user)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: /^Log in/ }).click()
}

/** Waits for the page, or for one that the service shows in its place. */
const arrive = (page: Page) => page.locator('body[data-state], main > h1').waitFor()

async function assertLoggedIn(page: Page, { ui }: World, method: string): Promise<string> {
  await arrive(page)
  assert.equal(page.url(), ui, await page.innerText('body'))
  assert.deepEqual(await shownOn(page), { state: 'logged in', email, method, groups: ['Staff'] })
  const token = await tokenOn(page)
  assert.ok(token)
  return token
}

interface Journey {
  readonly world: World
  readonly scheme: string
  readonly password: string
  /** Returns the number of sessions at the provider, if it can tell. */
  readonly sessions?: () => number
}

/** Logs in, reloads, refreshes, logs out here, logs out there, and logs in again. */
async function journey(t: TestContext, { world, scheme, password, sessions }: Journey): Promise<void> {
  const { ui, front } = world
  const loggedOut = { state: 'logged out', methods: ['password', scheme], singleLogout: false }
  const page = await openPage(t)
  await page.goto(ui)
  assert.deepEqual(await shownOn(page), loggedOut)

  await leave(page, scheme)
  await fillIn(page, password)
  const token = await assertLoggedIn(page, world, scheme)
  assert.deepEqual(await signOnCookies(page.context()), [], 'the session was fetched')
  await page.reload()
  assert.equal(await assertLoggedIn(page, world, scheme), token)
  await press(page, 'Refresh')
  const refreshed = await assertLoggedIn(page, world, scheme)
  assert.notEqual(refreshed, token)
  assert.equal(sessions?.() ?? 1, 1)

  await press(page, 'Log out')
  assert.deepEqual(await shownOn(page), { ...loggedOut, singleLogout: true })
  for (const old of [token, refreshed]) assert.equal(await new Client(front.address).isLoggedIn(old), false)
  const there = page.getByRole('link', { name: 'Log out there too' })
  await there.click()
  await there.waitFor({ state: 'detached' })
  await page.waitForURL(ui)
  assert.deepEqual(await shownOn(page), loggedOut)
  assert.equal(sessions?.() ?? 0, 0)
  assert.deepEqual(await signOnCookies(page.context()), [])

  await leave(page, scheme)
  // The provider asks for the password again.
  await fillIn(page, password)
  await assertLoggedIn(page, world, scheme)
}

const signOnCookies = async (context: BrowserContext) =>
  (await context.cookies()).map(({ name }) => name).filter(name => name.includes('CARREL-SSO'))

test('X1 X2 a browser logs in by SAML, stays, and logs out here and there', async t => {
  const world = await startSamlWorld(t)
  const { idp } = world
  await journey(t, {
    world,
    scheme: 'shibboleth',
    password: ruthAtSaml.password,
    sessions: () => idp.sessions('ruth'),
  })
})

test('X1 X2 a browser logs in by OpenID Connect, stays, and logs out here and there', async t => {
  const world = await startOpenIdWorld(t)
  await journey(t, { world, scheme: 'oidc', password: providerPasswordOf('ruth') })
})

test('X1 X2 a browser logs in by a reverse proxy, stays, and logs out here and there', async t => {
  const world = await startProxyWorld(t)
  await journey(t, { world, scheme: 'shibboleth', password: 'ruth' })
})

testOnOne('X1 a password still logs in beside single sign-on', async t => {
  const world = await startProxyWorld(t)
  await world.service.addEperson('max@example.org')
  const page = await openPage(t)
  await page.goto(world.ui)
  await page.getByLabel('E-mail').fill('max@example.org')
  await page.getByLabel('Password').fill(passwordOf('max@example.org'))
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
  assert.deepEqual(await shownOn(page), {
    state: 'logged in',
    email: 'max@example.org',
    method: 'password',
    groups: [],
  })
})

testOnOne(
  'X2 several providers of a scheme are on a page, to choose one by keyboard and on a phone',
  async t => {
    const names = [
      'University of the North',
      'Göteborgs universitet',
      'anmeldung.bibliotheksverbund.beispielstadt.example',
    ]
    const world = await startSamlWorld(t, names)
    const page = await openPage(t, { width: 320, height: 480 })
    await page.goto(world.ui)
    await leave(page, 'shibboleth')
    await page.getByRole('heading', { level: 1 }).waitFor()
    const links = page.getByRole('link')
    assert.deepEqual(await links.allInnerTexts(), names)
    assert.equal(await page.locator('script').count(), 0)
    await assertReadable(page)
    for (const link of await links.all())
      assert.ok(((await link.boundingBox())?.height ?? 0) >= 44, 'a thumb hits it')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    const [, south] = world.idps
    await page.waitForURL(url => url.origin === south?.address)
    await fillIn(page, ruthAtSaml.password)
    await assertLoggedIn(page, world, 'shibboleth')
    assert.deepEqual(
      world.idps.map(idp => idp.sessions()),
      [0, 1, 0],
    )
  },
)

testOnOne('X2 who has no account here is told so on a page that leads back to a new attempt', async t => {
  const world = await startOpenIdWorld(t, { create: false, email: { match: true } })
  const page = await openPage(t, { width: 320, height: 480 })
  await page.goto(world.ui)
  await leave(page, 'oidc')
  const answered = page.waitForResponse(response => response.url().includes('/sso/oidc/callback/'))
  await fillIn(page, providerPasswordOf('ruth'))
  assert.equal((await answered).status(), 403)
  await assertReadable(page)
  assert.equal(await page.getByRole('heading').innerText(), 'There is no account for you here')
  assert.deepEqual(await signOnCookies(page.context()), [])

  await world.service.addEperson(email)
  await page.getByRole('link', { name: 'Try again' }).press('Enter')
  // The provider asks for the password again although it knows this browser, because the user may be another
  // one.
  await fillIn(page, providerPasswordOf('ruth'))
  await page.waitForURL(world.ui)
  await assertLoggedIn(page, world, 'oidc')
})

testOnOne(
  'X6 a browser whose session is over comes back without a form, and with one after a logout',
  async t => {
    for (const [world, scheme, password] of [
      [await startOpenIdWorld(t), 'oidc', providerPasswordOf('ruth')],
      [await startSamlWorld(t, ['University'], { remembers: true }), 'shibboleth', ruthAtSaml.password],
    ] as const) {
      const page = await openPage(t)
      await page.goto(world.ui)
      await leave(page, scheme)
      await fillIn(page, password)
      const token = await assertLoggedIn(page, world, scheme)

      await page.evaluate("localStorage.removeItem('token')")
      await page.reload()
      await leave(page, scheme)
      await page.waitForURL(world.ui)
      assert.notEqual(await assertLoggedIn(page, world, scheme), token)

      // The provider has forgotten the browser, so its form follows one silent attempt.
      await page.evaluate("localStorage.removeItem('token')")
      await page.context().clearCookies({ name: /^(session|saml-session)-/ })
      await page.reload()
      const asked: string[] = []
      page.on('request', request => {
        if (/prompt=none|SAMLRequest=/.test(request.url())) asked.push(request.url())
      })
      await leave(page, scheme)
      await fillIn(page, password)
      await assertLoggedIn(page, world, scheme)
      assert.equal(asked.length, scheme === 'oidc' ? 1 : 2)
    }
  },
)

longTest('X2 who changes their mind at the provider is told so on a page, and may begin again', async t => {
  const world = await startOpenIdWorld(t)
  const page = await openPage(t)
  await page.goto(world.ui)
  await leave(page, 'oidc')
  const answered = page.waitForResponse(response => response.url().includes('/sso/oidc/callback/'))
  await page.getByRole('button', { name: 'Cancel' }).click()
  assert.equal((await answered).status(), 401)
  await assertReadable(page)
  assert.deepEqual(await signOnCookies(page.context()), [])
  await page.getByRole('link', { name: 'Try again' }).click()
  await fillIn(page, providerPasswordOf('ruth'))
  await assertLoggedIn(page, world, 'oidc')
})

test('X2 going back to what the provider sent, or loading it again, logs nobody in twice', async t => {
  const world = await startOpenIdWorld(t)
  const page = await openPage(t)
  await page.goto(world.ui)
  await leave(page, 'oidc')
  const answered = page.waitForResponse(response => response.url().includes('/sso/oidc/callback/'))
  await fillIn(page, providerPasswordOf('ruth'))
  const callback = (await answered).url()
  const token = await assertLoggedIn(page, world, 'oidc')

  const again = await page.goto(callback)
  assert.equal(again?.status(), 400)
  await assertReadable(page)
  assert.equal((await page.reload())?.status(), 400)
  assert.deepEqual(await signOnCookies(page.context()), [])
  await page.goto(world.ui)
  assert.equal(await assertLoggedIn(page, world, 'oidc'), token)

  // Back through the history, to the page before the login.
  for (let steps = 0; steps < 10 && (await page.goBack()) !== null; steps++);
  await page.goto(world.ui)
  assert.equal(await assertLoggedIn(page, world, 'oidc'), token)
  assert.equal(await loginsIn(world), 1)
})

test('X2 an assertion that a browser sends again logs nobody in twice', async t => {
  const world = await startSamlWorld(t)
  const page = await openPage(t)
  await page.goto(world.ui)
  await leave(page, 'shibboleth')
  const asked = page.waitForRequest(request => request.url().endsWith('/sso/saml/acs'))
  await fillIn(page, ruthAtSaml.password)
  const assertion = await asked
  const token = await assertLoggedIn(page, world, 'shibboleth')

  // Repeats the request like the reload button, after the browser has asked for permission.
  const again = await page.request.post(assertion.url(), {
    headers: { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' },
    data: assertion.postData() ?? '',
  })
  assert.equal(again.status(), 400)
  assert.match(again.headers()['content-type'] ?? '', /^text\/html/)
  for (let steps = 0; steps < 10 && (await page.goBack()) !== null; steps++);
  await page.goto(world.ui)
  assert.equal(await assertLoggedIn(page, world, 'shibboleth'), token)
  assert.equal(await loginsIn(world), 1)
})

longTest('X2 two tabs that are on the way at the same time both arrive', async t => {
  const world = await startSamlWorld(t)
  const context = await openBrowser(t)
  const [first, second] = [await context.newPage(), await context.newPage()]
  for (const page of [first, second]) {
    await page.goto(world.ui)
    await leave(page, 'shibboleth')
    await page.getByLabel('User').waitFor()
  }
  await fillIn(first, ruthAtSaml.password)
  await assertLoggedIn(first, world, 'shibboleth')
  await fillIn(second, ruthAtSaml.password)
  const token = await assertLoggedIn(second, world, 'shibboleth')
  await first.reload()
  assert.equal(await assertLoggedIn(first, world, 'shibboleth'), token)
})

testOnOne('X4 a browser that a logout is refused for goes on in the provider’s chain', async t => {
  const { service, idp, ui } = await startSamlWorld(t)
  const page = await openPage(t)
  const message = { issuer: idp.entityId, destination: null, nameId: 'nobody' }
  const request = signed(logoutRequestXml(message), { element: 'LogoutRequest', identity: idp.identity })
  const form = `<form method="post" action="${service.config.baseUrl}/api/authn/sso/saml/logout"><input name="SAMLRequest" value="${Buffer.from(request).toString('base64')}"></form>`
  await page.goto(ui)
  await page.setContent(form)
  await page.evaluate('document.forms[0].submit()')
  await page.waitForURL(`${idp.address}/slo`)
  // The provider's library has read the answer, and throws an error with its status.
  assert.match(await page.innerText('body'), /UnknownPrincipal/)
})

test('X9 two tabs that arrive in the same moment are both logged in', async t => {
  const world = await startSamlWorld(t)
  const context = await openBrowser(t)
  const tabs = [await context.newPage(), await context.newPage()]
  for (const page of tabs) {
    await page.goto(world.ui)
    await leave(page, 'shibboleth')
    await page.getByLabel('User').waitFor()
  }
  await Promise.all(tabs.map(page => fillIn(page, ruthAtSaml.password)))
  for (const page of tabs) await assertLoggedIn(page, world, 'shibboleth')
})

test('X2 people who are on the way at the same time each become themselves', async t => {
  const world = await startOpenIdWorld(t, { groups: [] })
  const users = ['ada', 'max', 'zoe']
  for (const user of users)
    world.op.users.set(user, { sub: user, email: `${user}@example.edu`, email_verified: true })
  await Promise.all(
    users.map(async user => {
      const page = await openPage(t)
      await page.goto(world.ui)
      await leave(page, 'oidc')
      await fillIn(page, providerPasswordOf(user), user)
      await arrive(page)
      const expected = { state: 'logged in', email: `${user}@example.edu`, method: 'oidc', groups: [] }
      assert.deepEqual(await shownOn(page), expected)
    }),
  )
})

testOnOne('X1 a browser comes back to the very page that it left, whatever is in its address', async t => {
  const world = await startProxyWorld(t)
  const page = await openPage(t)
  for (const path of [
    'search?query=a%20b&page=2&f.author=%C3%89mile,equals',
    "items/1?a=b+c&redirectUrl=https://evil.example/&x='y'",
    'items/%25?#section=1&2',
  ]) {
    await page.goto(world.ui + path)
    await leave(page, 'shibboleth')
    // From the second time on, the proxy knows the user.
    if (path.startsWith('search')) await fillIn(page, 'ruth')
    await page.locator('#account').waitFor()
    assert.equal(page.url(), new URL(world.ui + path).href)
    await press(page, 'Log out')
  }
})

testOnOne(
  'X2 over https a provider on a foreign site posts its assertion, and the cookies are bound to the host',
  async t => {
    const { privateKey: key, certificate: cert } = identity('front')
    const front = await startReverseProxy(t, { tls: { key, cert } })
    const idp = await startSamlProvider(t, { name: 'foreign' })
    idp.users.set('ruth', ruthAtSaml)
    // Another host and another scheme make the provider a different site from the service.
    const metadata = idp
      .metadata()
      .replaceAll(`Location="${idp.address}`, `Location="${foreign(idp.address)}`)
    const world = await startWorld(t, {
      front,
      providers: [samlSettings(t, 'foreign', idp, metadata)],
      saml: samlKeys(t),
    })
    await introduce(world.service, idp)
    const page = await openPage(t)
    await page.goto(world.ui)
    await leave(page, 'shibboleth')
    await page.getByLabel('User').waitFor()
    assert.equal(new URL(page.url()).origin, foreign(idp.address))
    const cookies = await page.context().cookies()
    const attempt = cookies.find(({ name }) => name.startsWith('__Host-CARREL-SSO-'))
    assert.equal(attempt?.secure, true)
    assert.equal(attempt?.httpOnly, true)
    assert.equal(attempt?.sameSite, 'None')
    await fillIn(page, ruthAtSaml.password)
    await assertLoggedIn(page, world, 'shibboleth')
    assert.deepEqual(await signOnCookies(page.context()), [])
  },
)

const foreign = (address: string) => address.replace('127.0.0.1', 'localhost')

/** Counts the logins by single sign-on in the audit trail. */
async function loginsIn({ service }: World): Promise<number> {
  await service.addEperson('admin@example.org', { admin: true })
  const admin = service.client()
  await admin.login('admin@example.org')
  return (await eventsOf(admin, 'login')).filter(({ method }) => method !== 'password').length
}

/** Asserts that a page has a title and a heading, and needs no horizontal scrolling. */
async function assertReadable(page: Page): Promise<void> {
  assert.notEqual(await page.title(), '')
  assert.equal(await page.locator('html').getAttribute('lang'), 'en')
  assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1)
  assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true, 'it fits')
}
