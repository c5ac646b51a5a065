import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { bearerOf } from '../../support/clients/client.ts'
import { begunOf } from '../../support/clients/jwt.ts'
import {
  acs,
  assertAccepted,
  assertRefused,
  base64,
  begin,
  type PendingLogin,
  response,
  send,
} from '../../support/providers/saml-attempt.ts'
import {
  type Form,
  formIn,
  landing,
  locationOf,
  startSignOn,
  startWithProvider,
  type Visitor,
} from '../../support/providers/saml-flow.ts'
import { classes, inflated, type Message, responseXml } from '../../support/providers/saml-forge.ts'
import { logIn } from '../../support/providers/saml-login.ts'
import { person, type SamlProvider } from '../../support/providers/saml-provider.ts'
import { test, testOn, testOnOne } from '../../support/service/engines.ts'
import type { Service } from '../../support/service/service.ts'

const ada = person('ada-id', 'ada@example.org')

interface World {
  readonly service: Service
  readonly provider: SamlProvider
}

/** Starts a service and a provider that remembers its users' browsers. */
async function start(
  t: TestContext,
  settings: Readonly<Record<string, unknown>> = {},
  env: Readonly<Record<string, string>> = {},
): Promise<World> {
  const world = await startWithProvider(t, { provider: { remembers: true }, settings, env })
  world.provider.users.set('ada', ada)
  return world
}

const requestIn = (location: URL) => inflated(location.searchParams.get('SAMLRequest') ?? '')
const howAsked = (xml: string) => ({
  silent: /IsPassive="true"/.test(xml),
  forced: /ForceAuthn="true"/.test(xml),
})
const [silent, usual, forced] = [
  { silent: true, forced: false },
  { silent: false, forced: false },
  { silent: false, forced: true },
]

interface Way {
  /** The parameters of each request to the provider. */
  readonly asked: readonly ReturnType<typeof howAsked>[]
  /** The last answer of the service, or null if the provider shows its form. */
  readonly answer: Response | null
  readonly form: Form
}

/** Follows an answer of the service until the provider or the service shows a page. */
async function go(visitor: Visitor, provider: SamlProvider, from: Response): Promise<Way> {
  const asked: ReturnType<typeof howAsked>[] = []
  let answer = from
  for (let steps = 0; ; steps++) {
    assert.ok(steps < 12, 'a loop')
    const location = answer.status === 303 ? locationOf(answer) : undefined
    if (location === undefined || location.href === landing)
      return { asked, answer, form: { action: '', fields: {} } }
    answer = await visitor.get(location)
    if (location.origin !== provider.address) continue
    asked.push(howAsked(requestIn(location)))
    const form = formIn(await answer.text(), location.href)
    if ('user' in form.fields) return { asked, answer: null, form }
    answer = await visitor.submit(form, location.href)
  }
}

/** Fills in the form of the provider, and goes on. */
async function answerForm(visitor: Visitor, provider: SamlProvider, { form }: Way): Promise<Way> {
  const fields = { ...form.fields, user: 'ada', password: ada.password }
  const sent = await visitor.submit({ ...form, fields }, provider.address)
  const back = formIn(await sent.text(), provider.address)
  return go(visitor, provider, await visitor.submit(back, provider.address))
}

const again = async ({ service, provider }: World, visitor: Visitor) =>
  go(visitor, provider, (await startSignOn(service, { visitor })).answer)

testOn(
  'sqlite',
  'X6 T11 who is still signed in at a SAML provider gets a new session when the old one is over, without a question',
  async t => {
    const began = Date.now()
    t.mock.timers.enable({ apis: ['Date'], now: began })
    const world = await start(t, {}, { CARREL_SESSION_LIFETIME: '600' })
    const { service, provider } = world
    const { visitor, token } = await logIn(service, provider, 'ada')
    t.mock.timers.setTime(began + 601_000)
    assert.equal(await service.client().isLoggedIn(token), false)

    const way = await again(world, visitor)
    assert.deepEqual(way.asked, [silent])
    assert.equal(way.answer?.headers.get('location'), landing)
    const renewed = bearerOf(await visitor.trade())
    assert.equal(await service.client().isLoggedIn(renewed), true)
    assert.ok(begunOf(renewed) >= began + 601_000)
  },
)

test('X6 who is no longer signed in at a SAML provider is asked once, and never sent around', async t => {
  const world = await start(t)
  const { visitor } = await logIn(world.service, world.provider, 'ada')
  for (const name of [...visitor.jar.all(new URL(world.provider.address)).keys()])
    visitor.jar.remove(new URL(world.provider.address), name)
  const way = await again(world, visitor)
  assert.deepEqual(way.asked, [silent, usual])
  assert.equal(way.answer, null, 'the form is shown')
  const done = await answerForm(visitor, world.provider, way)
  assert.equal(done.answer?.headers.get('location'), landing)
  assert.equal((await visitor.trade()).status, 200)
})

testOnOne('X6 after a logout here a SAML provider is asked as usual', async t => {
  const world = await start(t)
  const { visitor, token } = await logIn(world.service, world.provider, 'ada')
  const headers = { authorization: `Bearer ${token}` }
  assert.equal((await visitor.post('/api/authn/logout', headers)).status, 204)
  assert.deepEqual((await again(world, visitor)).asked, [usual])
})

testOnOne('X8 who signed in at a SAML provider too long ago signs in again', async t => {
  const began = Date.now()
  t.mock.timers.enable({ apis: ['Date'], now: began })
  const world = await start(t, { maxAge: 600 })
  const { visitor } = await logIn(world.service, world.provider, 'ada')
  t.mock.timers.setTime(began + 300_000)
  assert.deepEqual((await again(world, visitor)).asked, [silent])
  await visitor.trade()

  t.mock.timers.setTime(began + 900_000)
  const way = await again(world, visitor)
  assert.deepEqual(way.asked, [silent, forced])
  assert.equal(way.answer, null)
  assert.equal((await answerForm(visitor, world.provider, way)).answer?.headers.get('location'), landing)
  assert.equal((await visitor.trade()).status, 200)
})

const answerWith = async (one: PendingLogin, changes: Partial<Message>) =>
  send(one, base64(response(one, changes)))

testOnOne('X8 a SAML provider that does not say when, or says an impossible time, is refused', async t => {
  const { service, provider } = await start(t, { maxAge: 600 })
  for (const authnInstant of [null, '', 'yesterday', 3_600]) {
    const one = await begin(service, provider)
    await assertRefused(one, await answerWith(one, { authnInstant }))
  }
  const one = await begin(service, provider)
  await assertAccepted(one, await answerWith(one, { authnInstant: -500 }))
})

testOnOne('X8 a SAML provider that ignores ForceAuthn is asked once, and then refused', async t => {
  const { service, provider } = await start(t, { maxAge: 600 })
  const one = await begin(service, provider)
  const next = locationOf(await answerWith(one, { authnInstant: -3_600 }))
  assert.equal(next.searchParams.get('force'), '1')
  const location = locationOf(await one.visitor.get(next))
  const xml = requestIn(location)
  assert.deepEqual(howAsked(xml), forced)
  const second = {
    ...one,
    state: location.searchParams.get('RelayState') ?? '',
    request: /\sID="([^"]+)"/.exec(xml)?.[1] ?? '',
  }
  await assertRefused(second, await answerWith(second, { authnInstant: -3_600 }))
})

testOnOne('X8 a class of AuthnContext is requested, and the answer has to have one of them', async t => {
  const wanted = [`${classes}Password`, 'https://refeds.org/profile/mfa']
  const { service, provider } = await start(t, { authnContext: wanted })
  const { answer } = await startSignOn(service)
  const xml = requestIn(locationOf(answer))
  const [, requested = ''] =
    /<samlp:RequestedAuthnContext[^>]*Comparison="exact"[^>]*>(.*)<\/samlp/.exec(xml) ?? []
  assert.deepEqual(
    [...requested.matchAll(/AuthnContextClassRef[^>]*>([^<]+)</g)].map(([, name]) => name),
    wanted,
  )
  for (const authnContext of [`${classes}unspecified`, null, '', `${wanted[0]}X`, wanted.join(' ')]) {
    const one = await begin(service, provider)
    await assertRefused(one, await answerWith(one, { authnContext }))
  }
  for (const authnContext of wanted) {
    const one = await begin(service, provider)
    await assertAccepted(one, await answerWith(one, { authnContext }))
  }
})

testOnOne('X8 nothing is requested where nothing is required', async t => {
  const { service } = await start(t)
  const xml = requestIn(locationOf((await startSignOn(service)).answer))
  assert.doesNotMatch(xml, /RequestedAuthnContext|ForceAuthn="true"|IsPassive="true"/)
})

testOnOne(
  'X6 an answer without a sign-on leads on only from a silent attempt, and only of this provider',
  async t => {
    const { service, provider } = await start(t)
    const failed = (one: PendingLogin, changes: Partial<Message> = {}) =>
      base64(
        responseXml({
          issuer: provider.entityId,
          audience: null,
          destination: acs,
          recipient: null,
          inResponseTo: one.request,
          nameId: null,
          status: 'Responder',
          assertions: [],
          ...changes,
        }),
      )
    const usualOne = await begin(service, provider)
    await assertRefused(usualOne, await send(usualOne, failed(usualOne)))

    const silently = async () => {
      const { visitor } = await begin(service, provider)
      visitor.jar.set(visitor.url('/'), 'CARREL-PROVIDER', 'uni')
      const location = locationOf((await startSignOn(service, { visitor })).answer)
      const xml = requestIn(location)
      assert.deepEqual(howAsked(xml), silent)
      const request = /\sID="([^"]+)"/.exec(xml)?.[1] ?? ''
      return { visitor, provider, state: location.searchParams.get('RelayState') ?? '', request }
    }
    const one = await silently()
    assert.equal(locationOf(await send(one, failed(one))).searchParams.get('ask'), '1')
    for (const changes of [
      { issuer: 'https://elsewhere.example.edu' },
      { destination: 'https://elsewhere.example.edu/acs' },
    ]) {
      const other = await silently()
      await assertRefused(other, await send(other, failed(other, changes)))
    }
  },
)
