import assert from 'node:assert/strict'
import { after } from 'node:test'
import {
  assertTruthAccepted,
  sendLogout,
  startLiars,
  truth,
  withProviders,
} from '../../support/providers/lying-flow.ts'
import {
  type Lie,
  logoutLies,
  logoutTruths,
  subjectOf,
  untypedLogouts,
} from '../../support/providers/lying-provider.ts'
import { browserOf, logOut, userInterface } from '../../support/providers/openid-flow.ts'
import { testOn, testOnOne } from '../../support/service/engines.ts'
import { baseUrl, startService } from '../../support/service/service.ts'

/** Lying providers, and one that tells the truth; the service must tell them apart. */
const { providers, withLies, start } = await startLiars()
after(() => providers.stop())

testOnOne('O1 a provider that has no right place to log out leaves the browser here', async t => {
  const lies = Object.fromEntries(
    [undefined, 'nonsense', 'javascript:alert(1)', 'data:text/html,x'].map((place, at): [string, Lie] => [
      `leaving-${at}`,
      { discovery: described => ({ ...described, end_session_endpoint: place }) },
    ]),
  )
  const service = await start(t, { ...lies, 'leaving-well': {} })
  for (const provider of [...Object.keys(lies), 'leaving-well']) {
    const browser = browserOf(service)
    const token = await assertTruthAccepted(service, { provider, browser })
    assert.equal((await logOut(browser, token)).status, 204)
    const { answer } = await browser.open(`${baseUrl}/api/authn/sso/logout`)
    assert.equal(answer.status, 303, `${provider}: ${await answer.text()}`)
    const location = new URL(answer.headers.get('location') ?? '')
    if (provider === 'leaving-well') assert.match(location.pathname, /leaving-well.logout/)
    else assert.equal(location.href, `${userInterface}/`, provider)
  }
})

// Back-channel logout ----------------------------------------------------------------------------------------

const isIdToken = (text: string) => {
  const [, payload = ''] = text.split('.')
  return Buffer.from(payload, 'base64url').includes('"nonce"')
}

testOnOne('T4 X7 a logout token that is wrong in one thing is refused, and the session goes on', async t => {
  const service = await start(t, { other: {} })
  let token = await assertTruthAccepted(service)
  const client = service.client()
  const failed: string[] = []
  for (const [name, lie] of Object.entries({ ...logoutLies, ...untypedLogouts })) {
    const answer = await sendLogout(service, truth, await providers.logoutToken(truth, lie))
    if (answer.status !== 400) failed.push(`${name}: ${answer.status} ${await answer.text()}`)
    if (await client.isLoggedIn(token)) continue
    failed.push(`${name}: the session has ended`)
    token = await assertTruthAccepted(service)
  }
  assert.deepEqual(failed, [])

  // Optional claims may be missing, and a type may be spelled in several ways.
  for (const [name, change] of Object.entries(logoutTruths)) {
    const answer = await sendLogout(service, truth, await providers.logoutToken(truth, change))
    assert.equal(answer.status, 200, `${name}: ${await answer.text()}`)
    assert.equal(await client.isLoggedIn(token), false, name)
    token = await assertTruthAccepted(service)
  }

  // A token of another provider, and a token at the address of another provider.
  assert.equal((await sendLogout(service, truth, await providers.logoutToken('other'))).status, 400)
  assert.equal((await sendLogout(service, 'other', await providers.logoutToken(truth))).status, 400)
  // An ID token is not accepted as a logout token.
  const idToken = providers.seen(truth).secrets.findLast(isIdToken) ?? assert.fail('no ID token')
  assert.equal((await sendLogout(service, truth, idToken)).status, 400)
  for (const nonsense of ['', 'x', 'x.y.z', 'a'.repeat(20_000), '\u0000', '{}'])
    assert.ok([400, 413].includes((await sendLogout(service, truth, nonsense)).status), nonsense.slice(0, 10))
  assert.equal(await client.isLoggedIn(token), true)

  // A valid token is accepted from any origin and without a CSRF pair.
  const right = await providers.logoutToken(truth)
  const answer = await sendLogout(service, truth, right, { origin: 'https://provider.example.edu' })
  assert.equal(answer.status, 200, await answer.text())
  assert.match(answer.headers.get('cache-control') ?? '', /no-store/)
  assert.equal(await client.isLoggedIn(token), false)

  // It is accepted only once.
  const next = await assertTruthAccepted(service)
  assert.equal((await sendLogout(service, truth, right)).status, 400, 'replayed')
  assert.equal(await client.isLoggedIn(next), true)
})

testOnOne('X7 a logout token needs no type of its own where the provider is configured so', async t => {
  const service = await startService(t, {
    env: withProviders(t, [providers.settings(truth)], { logoutTokenType: 'any' }),
  })
  for (const [name, change] of Object.entries({ ...untypedLogouts, ...logoutTruths })) {
    const token = await assertTruthAccepted(service)
    const answer = await sendLogout(service, truth, await providers.logoutToken(truth, change))
    assert.equal(answer.status, 200, `${name}: ${await answer.text()}`)
    assert.equal(await service.client().isLoggedIn(token), false, name)
  }
  const token = await assertTruthAccepted(service)
  for (const [name, lie] of Object.entries(logoutLies)) {
    const answer = await sendLogout(service, truth, await providers.logoutToken(truth, lie))
    assert.equal(answer.status, 400, name)
  }
  assert.equal(await service.client().isLoggedIn(token), true)
})

testOnOne('T4 a logout token is a form of one field, and nothing else', async t => {
  const service = await start(t)
  const token = await assertTruthAccepted(service)
  const right = await providers.logoutToken(truth)
  const path = `${service.address}/api/authn/sso/oidc/logout/${truth}`
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  for (const [body, headers, statuses] of [
    [undefined, {}, [400, 415]],
    ['', form, [400]],
    [`token=${right}`, form, [400]],
    [`logout_token=${right}&logout_token=${right}`, form, [400]],
    [`logout_token=%`, form, [400]],
    [right, { 'content-type': 'application/logout+jwt' }, [400, 415]],
    [JSON.stringify({ logout_token: right }), { 'content-type': 'application/json' }, [400, 415]],
  ] as const) {
    const answer = await fetch(path, { method: 'POST', ...(body === undefined ? {} : { body }), headers })
    assert.ok((statuses as readonly number[]).includes(answer.status), `${body} ${answer.status}`)
  }
  const inQuery = await fetch(`${path}?logout_token=${right}`, { method: 'POST' })
  assert.ok([400, 415].includes(inQuery.status), `${inQuery.status}`)
  // At the address of no provider, the request is like any other POST (C5).
  assert.equal((await sendLogout(service, 'nobody', right)).status, 403)
  assert.equal(await service.client().isLoggedIn(token), true)
})

testOn(
  'postgres',
  'T4 a logout token ends every token by subject or by session, on every node, once',
  async t => {
    const env = withLies(t, { other: {} })
    const first = await startService(t, { env })
    const second = await startService(t, { env, dataFolder: first.dataFolder })
    for (const claims of [{ sid: undefined }, { sub: undefined }, {}]) {
      const tokens = [await assertTruthAccepted(first), await assertTruthAccepted(second)]
      const bystander = await assertTruthAccepted(first, { provider: 'other' })
      const token = await providers.logoutToken(truth, right => ({
        ...right,
        claims: { ...right.claims, ...claims },
      }))
      assert.equal((await sendLogout(second, truth, token)).status, 200)
      for (const node of [first, second])
        for (const one of tokens) assert.equal(await node.client().isLoggedIn(one), false)
      assert.equal(await second.client().isLoggedIn(bystander), true)

      const later = await assertTruthAccepted(second)
      assert.equal((await sendLogout(first, truth, token)).status, 400, 'replayed at another node')
      assert.equal(await first.client().isLoggedIn(later), true)
    }

    // A valid token for an unknown subject is accepted and has no effect.
    const stranger = await providers.logoutToken(truth, right => ({
      ...right,
      claims: { ...right.claims, sub: 'stranger', sid: 'of a stranger' },
    }))
    assert.equal((await sendLogout(first, truth, stranger)).status, 200)

    // Sent to both nodes at the same moment, the token is accepted once.
    const once = await providers.logoutToken(truth)
    const answers = await Promise.all(
      [first, second, first, second].map(node => sendLogout(node, truth, once)),
    )
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400, 400])
  },
)

testOnOne('T4 a logout token of one session of a provider does not end another provider’s', async t => {
  const service = await start(t, { other: {} })
  const [one, other] = [
    await assertTruthAccepted(service),
    await assertTruthAccepted(service, { provider: 'other' }),
  ]
  // The other provider uses the first one's names in a validly signed token.
  const token = await providers.logoutToken('other', right => ({
    ...right,
    claims: { ...right.claims, sub: subjectOf(truth), sid: `session-of-${truth}` },
  }))
  assert.equal((await sendLogout(service, 'other', token)).status, 200)
  assert.equal(await service.client().isLoggedIn(one), true)
  assert.equal(await service.client().isLoggedIn(other), true)
  // Subject and session of different people end no session.
  const mixed = await providers.logoutToken(truth, right => ({
    ...right,
    claims: { ...right.claims, sid: 'session-of-someone-else' },
  }))
  assert.equal((await sendLogout(service, truth, mixed)).status, 200)
  assert.equal(await service.client().isLoggedIn(one), true)
})
