import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { after, type TestContext } from 'node:test'
import { SignJWT } from 'jose'
import { assertProblem } from '../../support/clients/answers.ts'
import { assertTruthAccepted, startLiars, truth, withProviders } from '../../support/providers/lying-flow.ts'
import { errorOf, idTokenWith, type Lie, subjectOf } from '../../support/providers/lying-provider.ts'
import { assertNotSignedOn, startCompany, tokenOf } from '../../support/providers/openid-company.ts'
import {
  authenticate,
  begin,
  browserOf,
  home,
  locationOf,
  type Page,
  signIn,
  startOf,
  trade,
} from '../../support/providers/openid-flow.ts'
import { providerPasswordOf } from '../../support/providers/openid-provider.ts'
import { test, testOn, testOnOne } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

/** Providers for requirements on the age and the method of a sign-on (docs/decisions/0032). */
const { providers } = await startLiars()
const { company, start } = await startCompany()
after(() => Promise.all([providers.stop(), company.stop()]))

const now = () => Math.floor(Date.now() / 1000)

/** Starts a service in which every provider has these settings. */
const startWith = (t: TestContext, lies: Readonly<Record<string, Lie>>, settings: object) =>
  startService(t, {
    env: withProviders(
      t,
      Object.entries(lies).map(([name, lie]) => providers.settings(name, lie)),
      settings,
    ),
  })

test('X8 the age of the sign-on is asked for, and who signed in long ago signs in again', async t => {
  const began = Date.now()
  t.mock.timers.enable({ apis: ['Date'], now: began })
  const service = await start(t, { provider: { maxAge: 600 } })
  const browser = browserOf(service)
  await tokenOf(service, { browser })
  assert.equal((await begin(browser, { provider: 'company' })).searchParams.get('max_age'), '600')

  t.mock.timers.setTime(began + 500_000)
  const early = await authenticate(browser, await begin(browser, { provider: 'company' }), { user: 'nobody' })
  assert.equal((await browser.open(early)).answer.headers.get('location'), home, 'no form is shown')

  t.mock.timers.setTime(began + 700_000)
  const asked = await browser.open(await begin(browser, { provider: 'company' }))
  const { page } = await browser.follow(asked, () => false)
  assert.match(page.text, /name="password"/)
  const sent = await browser.submit(page, { user: 'ruth', password: providerPasswordOf('ruth') })
  const { page: last } = await browser.follow(sent, next => next.href === home)
  assert.equal(last.answer.status, 303, last.text)
  assert.equal((await trade(browser)).status, 200)
})

testOnOne('X8 X6 a silent attempt has to be recent, too', async t => {
  const began = Date.now()
  t.mock.timers.enable({ apis: ['Date'], now: began })
  const service = await start(t, { provider: { maxAge: 600 } })
  const browser = browserOf(service)
  await tokenOf(service, { browser })
  t.mock.timers.setTime(began + 700_000)
  const { page } = await browser.follow(await browser.open(startOf({})), () => false)
  assert.match(page.text, /name="password"/)
})

testOn('sqlite', 'X8 a provider that says no age, or another one than it can be, is refused', async t => {
  const lies = {
    good: idTokenWith({ auth_time: now() - 30 }),
    missing: idTokenWith({ auth_time: undefined }),
    text: idTokenWith({ auth_time: String(now()) }),
    nothing: idTokenWith({ auth_time: null }),
    future: idTokenWith({ auth_time: now() + 3600 }),
    milliseconds: idTokenWith({ auth_time: Date.now() }),
  }
  const service = await startWith(t, lies, { maxAge: 60 })
  await assertTruthAccepted(service, { provider: 'good' })
  for (const provider of Object.keys(lies).slice(1)) {
    const browser = browserOf(service)
    const { answer } = await signIn(browser, { provider })
    await assertProblem(answer, 401, 'sign-on-refused')
    await assertNotSignedOn(browser, answer)
    assert.equal(providers.seen(provider).authorizations.length, 1, provider)
  }
})

testOnOne('X8 a provider that ignores the age is asked for a login once, and then refused', async t => {
  const service = await startWith(
    t,
    { stubborn: idTokenWith({ auth_time: now() - 3600 }), late: idTokenWith({ auth_time: now() - 3600 }) },
    { maxAge: 60 },
  )
  const prompts = (name: string) =>
    providers.seen(name).authorizations.map(asked => [asked.get('prompt'), asked.get('max_age')])

  for (const silently of [false, true]) {
    const browser = browserOf(service)
    const begun = prompts('stubborn').length
    if (silently) browser.cookies.set(startOf({}), 'CARREL-PROVIDER', 'stubborn')
    const first = await browser.open(startOf(silently ? {} : { provider: 'stubborn' }))
    const { page } = await browser.follow(first, next => next.href === home)
    await assertProblem(new Response(page.text, page.answer), 401, 'sign-on-refused')
    await assertNotSignedOn(browser, page.answer)
    assert.deepEqual(prompts('stubborn').slice(begun), [
      [silently ? 'none' : null, '60'],
      ['login', '60'],
    ])
  }

  // This provider asks for the password when it is told to.
  const browser = browserOf(service)
  const returned = await authenticate(browser, await begin(browser, { provider: 'late' }))
  const again = await browser.open(returned)
  assert.equal(locationOf(again)?.searchParams.get('force'), '1')
  providers.tell('late', idTokenWith({ auth_time: now() }))
  const { page } = await browser.follow(again, next => next.href === home)
  assert.equal(page.answer.headers.get('location'), home)
  assert.equal((await trade(browser)).status, 200)
})

testOnOne('X8 what a browser brings back cannot make an attempt another one', async t => {
  const service = await startWith(t, { old: idTokenWith({ auth_time: now() - 3600 }) }, { maxAge: 60 })
  const browser = browserOf(service)
  const asked = await begin(browser, { provider: 'old' })
  const [name = ''] = [...browser.cookies.all(asked).keys()]
  assert.equal(name, '', 'the provider sets none')
  const own = startOf({})
  const [cookie, value = ''] = [...browser.cookies.all(own)].find(([one]) => /SSO-/.test(one)) ?? []
  const [content = '', mac = ''] = value.split('.')
  const said = JSON.parse(Buffer.from(content, 'base64url').toString()) as unknown[]
  assert.equal(said[4], 'usual')
  const changed = Buffer.from(JSON.stringify([...said.slice(0, 4), 'silent'])).toString('base64url')
  browser.cookies.set(own, cookie ?? '', `${changed}.${mac}`)
  const { answer } = await browser.open(await authenticate(browser, asked))
  await assertProblem(answer, 400, 'sign-on-not-begun')
})

testOnOne('X8 how users sign in is asked for, and the answer has to be one of the ways', async t => {
  const acrValues = ['urn:example:gold', 'https://refeds.org/profile/mfa']
  const lies = {
    good: idTokenWith({ acr: 'https://refeds.org/profile/mfa' }),
    weaker: idTokenWith({ acr: 'urn:example:silver' }),
    missing: idTokenWith({ acr: undefined }),
    list: idTokenWith({ acr: acrValues }),
    joined: idTokenWith({ acr: acrValues.join(' ') }),
    prefix: idTokenWith({ acr: 'urn:example:goldfish' }),
  }
  const service = await startWith(t, lies, { acrValues, parameters: { acr_values: 'urn:example:any' } })
  await assertTruthAccepted(service, { provider: 'good' })
  const asked = providers.seen('good').authorizations.at(-1)
  assert.deepEqual(asked?.getAll('acr_values'), [acrValues.join(' ')])
  for (const provider of Object.keys(lies).slice(1)) {
    const browser = browserOf(service)
    const { answer } = await signIn(browser, { provider })
    await assertProblem(answer, 401, 'sign-on-refused')
    await assertNotSignedOn(browser, answer)
  }
})

testOnOne(
  'X6 any error that a provider answers silently leads to the usual attempt, and there it is one',
  async t => {
    for (const error of [
      'login_required',
      'interaction_required',
      'account_selection_required',
      'server_error',
    ]) {
      const service = await startWith(t, { [truth]: { callback: errorOf(error) } }, {})
      const browser = browserOf(service)
      const seen = providers.seen(truth).authorizations
      const begun = seen.length
      browser.cookies.set(startOf({}), 'CARREL-PROVIDER', truth)
      const first: Page = await browser.open(startOf({}))
      const { page } = await browser.follow(first, next => next.href === home)
      await assertProblem(new Response(page.text, page.answer), 401, 'sign-on-refused')
      assert.deepEqual(
        seen.slice(begun).map(asked => asked.get('prompt')),
        ['none', null],
      )
    }
  },
)

testOnOne('X2 X3 what the userinfo endpoint signs is believed if the provider has signed it', async t => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const claims = (name: string) => ({
    sub: subjectOf(name),
    email: 'admin@example.edu',
    email_verified: true,
  })
  const forged = () =>
    new SignJWT(claims('forging')).setProtectedHeader({ alg: 'ES256', kid: 'own' }).sign(privateKey)
  const encoded = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const unsigned = async () => `${encoded({ alg: 'none' })}.${encoded(claims('bare'))}.`
  const signs = (token: () => Promise<string>): Lie => ({
    discovery: described => ({ ...described, userinfo_signing_alg_values_supported: ['ES256', 'none'] }),
    idToken: right => ({ ...right, claims: { ...right.claims, email: undefined } }),
    answers: {
      userInfo: async response =>
        void response.writeHead(200, { 'content-type': 'application/jwt' }).end(await token()),
    },
  })
  const lies = {
    signing: signs(() => providers.signedUserInfo('signing')),
    forging: signs(forged),
    bare: signs(unsigned),
  }
  const service = await startWith(t, lies, { userInfo: true })
  await assertTruthAccepted(service, { provider: 'signing' })
  for (const provider of ['forging', 'bare']) {
    const browser = browserOf(service)
    const { answer } = await signIn(browser, { provider })
    assert.ok([401, 502].includes(answer.status), `${provider}: ${answer.status}`)
    await assertNotSignedOn(browser, answer)
  }
})
