import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../src/cli/store.ts'
import { bearerOf, Client, type Status } from '../support/clients/client.ts'
import { claimsOf } from '../support/clients/jwt.ts'
import { eventsOf } from '../support/data/events.ts'
import { Browser, trade } from '../support/providers/openid-flow.ts'
import { type Attributes, bytes, startReverseProxy } from '../support/providers/reverse-proxy.ts'
import { test, testOn } from '../support/service/engines.ts'
import { serve } from '../support/service/process.ts'
import {
  baseUrl,
  passwordOf,
  type Service,
  startService,
  temporaryFolder,
} from '../support/service/service.ts'

/** A test of what the store has no part in. */
const onceTest = (...of: Parameters<typeof test>) => testOn('sqlite', ...of)

const ui = 'http://ui.example.edu'
const page = `${ui}/items/1`
const start = `/api/authn/shibboleth?redirectUrl=${page}`

const secret = { header: 'X-Proxy-Secret', value: 'known to the proxy and the service' }
const names = {
  subject: 'X-Shib-Persistent-Id',
  email: 'X-Shib-Mail',
  firstName: 'X-Shib-Given-Name',
  lastName: 'X-Shib-Surname',
}
/** What the proxy says of Ruth. */
const ruth = {
  [names.subject]: 'https://idp.example.edu!https://repo.example.edu!r-1',
  [names.email]: 'ruth@example.edu',
  [names.firstName]: 'Ruth',
  [names.lastName]: 'Example',
}

const provider = {
  id: 'apache',
  kind: 'proxy',
  name: 'Apache',
  addresses: ['127.0.0.1'],
  secretHeader: secret.header,
  secret: { env: 'PROXY_SECRET' },
  separator: ';',
  attributes: names,
  create: true,
}

interface Setting {
  /** On top of the tests' own provider. */
  readonly provider?: Readonly<Record<string, unknown>>
  /** In the file beside single sign-on. */
  readonly file?: Readonly<Record<string, unknown>>
  readonly env?: Readonly<Record<string, string>>
}

/** Settings with a trusted proxy, which only a file can hold. */
function withProxy(t: TestContext, { provider: more = {}, file = {}, env = {} }: Setting = {}) {
  const path = join(temporaryFolder(t), 'carrel.json')
  const singleSignOn = { providers: [{ ...provider, ...more }] }
  writeFileSync(path, JSON.stringify({ singleSignOn, ...file }))
  return { CARREL_CONFIG: path, CARREL_ALLOWED_ORIGINS: ui, PROXY_SECRET: secret.value, ...env }
}

const startTrusting = (t: TestContext, setting: Setting = {}, more: { dataFolder?: string } = {}) =>
  startService(t, { env: withProxy(t, setting), ...more })

type Header = readonly [name: string, value: string]

const trusted = (attributes: Attributes = ruth): Header[] => [
  [secret.header, secret.value],
  ...Object.entries(attributes),
]

interface Answer {
  readonly status: number
  readonly location: string | undefined
  /** Name and value of each cookie. */
  readonly cookies: ReadonlyMap<string, string>
  readonly setCookies: readonly string[]
  readonly body: string
}

interface Sent {
  readonly path?: string
  readonly method?: string
  /** The address that the request comes from. */
  readonly from?: string
  readonly body?: string
}

/** Sends these header lines, in this order and as often as they are there; values as UTF-8. */
async function send(
  { address }: { readonly address: string },
  headers: readonly Header[],
  { path = start, method = 'GET', from = '127.0.0.1', body: sentBody }: Sent = {},
): Promise<Answer> {
  const lines = [['Host', 'repo.example.edu'] as const, ...headers]
  return new Promise((resolve, reject) => {
    const sent = request(
      address + path,
      {
        method,
        localAddress: from,
        agent: false,
        headers: lines.flatMap(([name, value]) => [name, bytes(value)]),
      },
      answer => {
        const setCookies = answer.headers['set-cookie'] ?? []
        const cookies = setCookies.map(cookie => cookie.split(';')[0]?.split('=') ?? [])
        text(answer).then(
          body =>
            resolve({
              status: answer.statusCode ?? 0,
              location: answer.headers.location,
              cookies: new Map(cookies.map(([name = '', value = '']) => [name, value])),
              setCookies,
              body,
            }),
          reject,
        )
      },
    )
    sent.on('error', reject)
    sent.end(sentBody)
  })
}

const sessionCookie = 'CARREL-SSO'

/** Nothing was established: no cookie, and nobody new. */
async function assertRefused(service: Service, answer: Answer, status = 401, code = 'sign-on-refused') {
  assert.equal(answer.status, status, answer.body)
  assert.equal((JSON.parse(answer.body) as { code: string }).code, code)
  assert.equal(answer.cookies.has(sessionCookie), false)
  assert.equal(answer.location, undefined)
  assert.deepEqual(await service.storage.accounts.listEpersons(), [])
}

function cookieOf(answer: Answer): string {
  assert.equal(answer.status, 303, answer.body)
  assert.equal(answer.location, page)
  const value = answer.cookies.get(sessionCookie)
  assert.ok(value, 'the session cookie is there')
  return `${sessionCookie}=${value}`
}

/** `POST login` with the cookie; the client keeps its own pair. */
async function fetchSession(client: Client, cookie: string): Promise<Response> {
  const pair = await client.csrfPair()
  return fetch(`${client.address}/api/authn/login`, {
    method: 'POST',
    headers: { 'x-xsrf-token': pair.value, cookie: `${pair.cookie}; ${cookie}` },
  })
}

/** The whole way. @returns a client that is logged in */
async function logIn(service: Service, attributes: Attributes = ruth): Promise<Client & { token: string }> {
  const client = service.client()
  const answer = await fetchSession(client, cookieOf(await send(service, trusted(attributes))))
  assert.equal(answer.status, 200, await answer.text())
  return Object.assign(client, { token: bearerOf(answer) })
}

test('X1 X2 the attributes that the proxy sends log in: start, its login form, back, trade', async t => {
  const front = await startReverseProxy(t, { users: { ruth }, secret })
  const loginUrl = `${front.loginPage}?target={target}`
  const service = await startTrusting(t, { provider: { loginUrl }, env: { CARREL_BASE_URL: front.address } })
  front.forwardTo(service.address)
  const browser = new Browser({})

  const offered = await browser.open(`${front.address}/api/authn/status`)
  const location = `${front.address}/api/authn/shibboleth?redirectUrl=${ui}/`
  assert.equal(
    offered.answer.headers.get('www-authenticate'),
    `password realm="Carrel", shibboleth realm="Carrel", location="${location}"`,
  )
  const begun = await browser.follow(
    await browser.open(`${front.address}${start}`),
    next => next.origin === ui,
  )
  assert.equal(begun.next, undefined, 'the proxy asks for a login first')
  const form = { user: 'ruth', password: 'ruth' }
  const back = await browser.follow(await browser.submit(begun.page, form), next => next.origin === ui)
  assert.equal(back.next?.href, page)

  const status = (await (await browser.open(`${front.address}/api/authn/status`)).answer.json()) as Status
  assert.equal(status.authenticated, true, 'a session is there to be fetched')
  const answer = await trade(browser, { at: front.address })
  assert.equal(answer.status, 200)
  assert.equal(await answer.text(), '')
  const client = new Client(front.address)
  client.token = bearerOf(answer)
  const { authenticationMethod, _embedded } = (await client.status()) as Status & {
    authenticationMethod: string
  }
  assert.equal(authenticationMethod, 'shibboleth')
  assert.equal(_embedded.eperson?.email, 'ruth@example.edu')
  assert.equal((await trade(browser, { at: front.address })).status, 401, 'the session is fetched once')
})

test('X2 what the proxy says becomes an eperson, known again by its subject whatever else changes', async t => {
  const service = await startTrusting(t)
  const uuid = claimsOf((await logIn(service)).token).eid
  const again = await logIn(service, {
    ...ruth,
    [names.email]: 'married@example.edu',
    [names.lastName]: 'Other',
  })
  assert.equal(claimsOf(again.token).eid, uuid)
  const other = await logIn(service, { ...ruth, [names.subject]: 'r-2', [names.email]: 'second@example.edu' })
  assert.notEqual(claimsOf(other.token).eid, uuid)
  assert.equal((await service.storage.accounts.listEpersons()).length, 2)
})

onceTest('X2 attributes count from the configured addresses only', async t => {
  const near = await startTrusting(t)
  await assertRefused(near, await send(near, trusted(), { from: '127.0.0.2' }))
  cookieOf(await send(near, trusted()))

  const far = await startTrusting(t, { provider: { addresses: ['127.0.0.2', '192.0.2.0/24'] } })
  await assertRefused(far, await send(far, trusted(), { from: '127.0.0.1' }))
  cookieOf(await send(far, trusted(), { from: '127.0.0.2' }))

  const network = await startTrusting(t, { provider: { addresses: ['::1', '127.0.0.0/30'] } })
  await assertRefused(network, await send(network, trusted(), { from: '127.0.0.4' }))
  cookieOf(await send(network, trusted(), { from: '127.0.0.3' }))
})

/** What a client might send who doesn't know the secret. */
const wrongSecrets: readonly (readonly [what: string, ...headers: Header[]])[] = [
  ['none'],
  ['an empty one', [secret.header, '']],
  ['a wrong one of the same length', [secret.header, 'x'.repeat(secret.value.length)]],
  ['a part of it', [secret.header, secret.value.slice(0, -1)]],
  ['more than it', [secret.header, `${secret.value}x`]],
  ['it in capitals', [secret.header, secret.value.toUpperCase()]],
  ['it in quotes', [secret.header, `"${secret.value}"`]],
  ['it in another header', ['X-Other-Secret', secret.value]],
  ['it twice', [secret.header, secret.value], [secret.header, secret.value]],
  ['a wrong one before it', [secret.header, 'wrong'], [secret.header, secret.value]],
  ['a wrong one after it', [secret.header, secret.value], [secret.header, 'wrong']],
  ['an empty one before it', [secret.header, ''], [secret.header, secret.value]],
  ['it and a wrong one in one line', [secret.header, `${secret.value}, wrong`]],
]

onceTest('X2 attributes count with the shared secret only, sent once', async t => {
  const service = await startTrusting(t)
  for (const [what, ...headers] of wrongSecrets) {
    const answer = await send(service, [...headers, ...Object.entries(ruth)])
    await assertRefused(service, answer).catch(cause => assert.fail(`${what}: ${cause}`))
  }
  cookieOf(await send(service, trusted()))
})

onceTest('X2 the header of the secret is known in any case', async t => {
  const service = await startTrusting(t, { provider: { secretHeader: 'x-PROXY-secret' } })
  const attributes = Object.entries(ruth).map(([name, value]): Header => [name.toUpperCase(), value])
  cookieOf(await send(service, [['X-pROXY-sECRET', secret.value], ...attributes]))
})

onceTest('X2 a client can not pretend to be the proxy by X-Forwarded-For', async t => {
  const proxies = [{}, { CARREL_TRUSTED_PROXIES: '127.0.0.1' }, { CARREL_TRUSTED_PROXIES: '127.0.0.0/8' }]
  for (const env of proxies) {
    const service = await startTrusting(t, { provider: { addresses: ['127.0.0.2'] }, env })
    for (const hop of ['127.0.0.2', '127.0.0.2, 127.0.0.1', '127.0.0.1, 127.0.0.2'])
      for (const name of ['X-Forwarded-For', 'X-Real-IP', 'X-Client-IP'])
        await assertRefused(service, await send(service, [...trusted(), [name, hop]]))
    await assertRefused(service, await send(service, [...trusted(), ['Forwarded', 'for=127.0.0.2']]))
    // The proxy itself goes on saying who its clients are.
    cookieOf(await send(service, [...trusted(), ['X-Forwarded-For', '192.0.2.7']], { from: '127.0.0.2' }))
  }
})

onceTest(
  'X3 a proxy that does not take away what clients say about themselves: without its secret that is nothing',
  async t => {
    const mallory = { [names.subject]: 'r-1', [names.email]: 'mallory@example.edu' }
    for (const given of [undefined, { header: secret.header, value: 'a wrong one that is long enough' }]) {
      const options = { users: { ruth }, strips: false, ...(given ? { secret: given } : {}) }
      const front = await startReverseProxy(t, options)
      const service = await startTrusting(t)
      front.forwardTo(service.address)
      await assertRefused(service, await send(front, Object.entries(mallory)))
      await assertRefused(
        service,
        await send(front, [[secret.header, 'guessed by a client'], ...Object.entries(mallory)]),
      )
    }
  },
)

onceTest('X3 a proxy that adds to what clients say: what is there twice is refused', async t => {
  const front = await startReverseProxy(t, { users: { ruth }, secret, strips: false })
  const service = await startTrusting(t)
  front.forwardTo(service.address)
  const { cookies } = await send(front, [['Content-Type', 'application/x-www-form-urlencoded']], {
    path: '/proxy/login',
    method: 'POST',
    body: 'user=ruth&password=ruth',
  })
  const session: Header = ['Cookie', `PROXY-SESSION=${cookies.get('PROXY-SESSION')}`]
  for (const name of Object.values(names))
    await assertRefused(service, await send(front, [session, [name, 'mallory@example.edu']]))
  await assertRefused(service, await send(front, [session, [secret.header, secret.value]]))
  cookieOf(await send(front, [session]))
})

onceTest('X2 an attribute that is there twice is refused, the same value too', async t => {
  const service = await startTrusting(t, {
    provider: { groups: [{ group: 'Staff', attribute: 'X-Shib-Affiliation', value: 'staff' }] },
  })
  for (const [name, value] of [...Object.entries(ruth), ['X-Shib-Affiliation', 'staff'] as const])
    for (const second of [value, 'other', ''])
      for (const spelled of [name, name.toLowerCase()]) {
        const twice: Header[] = [
          [name, value],
          [spelled, second],
        ]
        const rest = trusted().filter(([other]) => other !== name)
        await assertRefused(service, await send(service, [...rest, ...twice]))
      }
})

test('X3 the same headers at any other place change nothing', async t => {
  const service = await startTrusting(t)
  await service.addRecords('papers', 'id', [{ id: 1 }], 'eperson')
  const paths = [
    '/api/authn/status',
    '/api/query/v4/papers',
    '/api/query/v4',
    '/api',
    '/api/eperson/epersons/x',
  ]
  for (const path of [...paths, '/server/api/authn/status']) {
    const plain = await send(service, [], { path })
    const claimed = await send(service, trusted(), { path })
    assert.equal(claimed.status, plain.status, path)
    assert.equal(claimed.body, plain.body, path)
    assert.equal(claimed.cookies.has(sessionCookie), false, path)
  }
  const client = service.client()
  const headers = Object.fromEntries(trusted())
  for (const body of [undefined, new URLSearchParams({ user: 'ruth@example.edu', password: '' })])
    assert.equal((await client.post('/api/authn/login', body, headers)).status, 401)
  assert.equal((await client.post('/api/authn/shortlivedtokens', undefined, headers)).status, 401)
  assert.equal((await client.post('/api/authn/logout', undefined, headers)).status, 204)

  // Nor do they make anyone of somebody who is logged in.
  await service.addEperson('max@example.org')
  await client.login('max@example.org')
  const { _embedded } = await client.status('/api/authn/status', headers)
  assert.equal(_embedded.eperson?.email, 'max@example.org')
  assert.deepEqual(
    (await service.storage.accounts.listEpersons()).map(({ email }) => email),
    ['max@example.org'],
  )
})

test('X2 names are UTF-8', async t => {
  const service = await startTrusting(t)
  const attributes = { ...ruth, [names.firstName]: 'Зоя 亜 👩🏽‍🔬', [names.lastName]: 'Ångström-Čapek' }
  const { token } = await logIn(service, attributes)
  const eperson = await service.storage.accounts.eperson(claimsOf(token).eid)
  assert.equal(eperson?.firstName, 'Зоя 亜 👩🏽‍🔬')
  assert.equal(eperson?.lastName, 'Ångström-Čapek')
})

test('X2 an e-mail address and a subject may be UTF-8, too', async t => {
  const service = await startTrusting(t)
  const attributes = { [names.subject]: 'ž-1', [names.email]: 'žofie@example.edu' }
  const { eid } = claimsOf((await logIn(service, attributes)).token)
  assert.equal((await service.storage.accounts.eperson(eid))?.email, 'žofie@example.edu')
  assert.equal(claimsOf((await logIn(service, attributes)).token).eid, eid)
  assert.notEqual(claimsOf((await logIn(service, { ...ruth, [names.subject]: 'z-1' })).token).eid, eid)
})

onceTest(
  'X2 of several values the first is the name, each counts for groups, a backslash keeps a separator',
  async t => {
    const attribute = 'X-Shib-Affiliation'
    const values = ['a;b', 'c', 'staff', 'a\\b', 'x y', 'é']
    const groups = values.map(value => ({ group: `Group ${value}`, attribute, value }))
    const service = await startTrusting(t, { provider: { groups } })
    const groupsFor = async (header: string) =>
      (await logIn(service, { ...ruth, [attribute]: header })).specialGroups()
    for (const [header, expected] of [
      ['staff', ['staff']],
      ['a\\;b;c', ['a;b', 'c']],
      ['c;a\\;b', ['a;b', 'c']],
      ['a;b', []],
      ['c;;staff;', ['c', 'staff']],
      [';', []],
      ['other;x y', ['x y']],
      ['é;staff', ['staff', 'é']],
      ['Staff;staff2;my staff', []],
    ] as const)
      assert.deepEqual(await groupsFor(header), expected.map(value => `Group ${value}`).toSorted(), header)

    const { token } = await logIn(service, { ...ruth, [names.firstName]: 'Ruth;Rut' })
    assert.equal((await service.storage.accounts.eperson(claimsOf(token).eid))?.firstName, 'Ruth')
  },
)

onceTest('X2 another separator is the one that is configured', async t => {
  const attribute = 'X-Forwarded-Groups'
  const groups = ['one', 'two', 'a;b'].map(value => ({ group: value, attribute, value }))
  const service = await startTrusting(t, { provider: { separator: ',', groups } })
  const client = await logIn(service, { ...ruth, [attribute]: 'one,a;b,three' })
  assert.deepEqual(await client.specialGroups(), ['a;b', 'one'])
})

onceTest('X2 an empty attribute is an absent one', async t => {
  const service = await startTrusting(t)
  const { token } = await logIn(service, { ...ruth, [names.firstName]: '', [names.lastName]: ' ' })
  const eperson = await service.storage.accounts.eperson(claimsOf(token).eid)
  assert.equal(eperson?.firstName, null)
  assert.equal(eperson?.lastName, null)
})

onceTest('X2 without a subject nobody logs in', async t => {
  const service = await startTrusting(t)
  const { [names.subject]: _none, ...rest } = ruth
  for (const subject of [[], ['']] as const) {
    const headers = subject.map((value): Header => [names.subject, value])
    await assertRefused(service, await send(service, [...trusted(rest), ...headers]))
  }
})

onceTest('X3 without an e-mail address nobody is created', async t => {
  const service = await startTrusting(t)
  for (const email of ['', 'no address', '@example.edu', 'ruth@']) {
    const answer = await send(service, trusted({ ...ruth, [names.email]: email }))
    await assertRefused(service, answer, 403, 'account-refused')
  }
})

test('X3 by default nobody is created, and nobody is matched by e-mail address', async t => {
  const service = await startTrusting(t, { provider: { create: undefined } })
  await assertRefused(service, await send(service, trusted()), 403, 'account-refused')
  await service.addEperson('ruth@example.edu')
  const answer = await send(service, trusted())
  assert.equal(answer.status, 403)
  assert.equal(answer.cookies.has(sessionCookie), false)
})

test('X3 an eperson is matched by e-mail address where that is allowed, once, and then known by the subject', async t => {
  const service = await startTrusting(t, { provider: { create: false, email: { match: true } } })
  await service.addEperson('admin@example.org', { admin: true })
  const { uuid } = await service.addEperson('ruth@example.edu')
  assert.equal(
    claimsOf((await logIn(service, { ...ruth, [names.email]: 'RUTH@example.edu' })).token).eid,
    uuid,
  )
  assert.equal(claimsOf((await logIn(service, { ...ruth, [names.email]: '' })).token).eid, uuid)
  const other = await send(service, trusted({ ...ruth, [names.subject]: 'r-2' }))
  assert.equal(other.status, 403, 'the address belongs to another subject of the proxy')

  const admin = service.client()
  await admin.login('admin@example.org')
  const [link, ...none] = await eventsOf(admin, 'eperson.link')
  assert.deepEqual(none, [])
  assert.equal(link?.eperson, uuid)
  assert.equal(link?.method, 'shibboleth')
})

test('X3 a disabled eperson does not log in', async t => {
  const service = await startTrusting(t)
  await logIn(service)
  await service.storage.accounts.setEnabled('ruth@example.edu', false, commandEvent('eperson.disable'))
  const answer = await send(service, trusted())
  assert.equal(answer.status, 403)
  assert.equal(answer.cookies.has(sessionCookie), false)
})

test('T4 a logout between the return and the trade ends what was established', async t => {
  const service = await startTrusting(t)
  const first = await logIn(service)
  const cookie = cookieOf(await send(service, trusted()))
  assert.equal((await first.post('/api/authn/logout')).status, 204)
  assert.equal((await fetchSession(service.client(), cookie)).status, 401)
  assert.equal(await first.isLoggedIn(), false)
})

test('X3 G2 groups come from values and patterns, which must match as a whole', async t => {
  const attribute = 'X-Shib-Entitlement'
  const groups = [
    { group: 'Staff', attribute: 'x-shib-AFFILIATION', value: 'staff@example.edu' },
    { group: 'Curators', attribute, pattern: 'urn:mace:example\\.edu:curator:.*' },
    { group: 'Either', attribute, pattern: 'one|two' },
    { group: 'Staff', attribute, value: 'staff' },
  ]
  const service = await startTrusting(t, { provider: { groups } })
  const groupsFor = async (attributes: Attributes) =>
    (await logIn(service, { ...ruth, ...attributes })).specialGroups()
  assert.deepEqual(await groupsFor({}), [])
  assert.deepEqual(await groupsFor({ 'X-Shib-Affiliation': 'staff@example.edu' }), ['Staff'])
  assert.deepEqual(await groupsFor({ [attribute]: 'urn:mace:example.edu:curator:maps' }), ['Curators'])
  assert.deepEqual(await groupsFor({ [attribute]: 'two;staff;urn:mace:example.edu:curator:' }), [
    'Curators',
    'Either',
    'Staff',
  ])
  for (const near of [
    'urn:mace:example-edu:curator:x',
    'xurn:mace:example.edu:curator:x',
    'onex',
    'xtwo',
    'ONE',
  ])
    assert.deepEqual(await groupsFor({ [attribute]: near }), [], near)
})

test('G2 the login method shibboleth gives groups, beside those of attributes, each once', async t => {
  const attribute = 'X-Shib-Affiliation'
  const provider = {
    groups: [
      { group: 'Members', attribute, value: 'member' },
      { group: 'Staff', attribute, value: 'staff' },
    ],
  }
  const method = [
    { group: 'Single sign-on', method: 'shibboleth' },
    { group: 'Members', method: 'shibboleth' },
    { group: 'Local', method: 'password' },
  ]
  const service = await startTrusting(t, { provider, file: { specialGroups: { method } } })
  const client = await logIn(service, { ...ruth, [attribute]: 'staff;member' })
  assert.deepEqual(await client.specialGroups(), ['Members', 'Single sign-on', 'Staff'])
  assert.equal(new Set(claimsOf(client.token).sg).size, 3)
  assert.equal(claimsOf(client.token).sg.length, 3)
  await service.addEperson('max@example.org')
  await client.login('max@example.org')
  assert.deepEqual(await client.specialGroups(), ['Local'])
})

test('G2 groups of attributes are kept on refresh and found anew at each login', async t => {
  const attribute = 'X-Shib-Affiliation'
  const groups = ['staff', 'student'].map(value => ({ group: value, attribute, value }))
  const service = await startTrusting(t, { provider: { groups } })
  await service.addRecords('papers', 'id', [{ id: 1 }], 'group:staff')
  const staff = await logIn(service, { ...ruth, [attribute]: 'staff' })
  const { sg } = claimsOf(staff.token)
  const student = await logIn(service, { ...ruth, [attribute]: 'student' })
  for (let round = 0; round < 3; round++) {
    assert.deepEqual(claimsOf(await staff.refresh()).sg, sg)
    staff.token = await staff.refresh()
  }
  assert.deepEqual(await staff.specialGroups(), ['staff'])
  assert.deepEqual(await student.specialGroups(), ['student'])
  assert.equal((await staff.get('/api/query/v4/papers')).status, 200)
  assert.equal((await student.get('/api/query/v4/papers')).status, 403)
  assert.deepEqual(await (await logIn(service)).specialGroups(), [])
  assert.equal(
    ((await staff.status()) as Status & { authenticationMethod: string }).authenticationMethod,
    'shibboleth',
  )
})

test('G2 a refresh keeps the groups of attributes when the configuration no longer has them', async t => {
  const attribute = 'X-Shib-Affiliation'
  const groups = [{ group: 'staff', attribute, value: 'staff' }]
  const before = await startTrusting(t, { provider: { groups } })
  const { token } = await logIn(before, { ...ruth, [attribute]: 'staff' })
  await before.stop()
  const after = await startTrusting(t, {}, { dataFolder: before.dataFolder })
  const client = after.client()
  client.token = token
  client.token = await client.refresh()
  assert.deepEqual(await client.specialGroups(), ['staff'])
  assert.deepEqual(await (await logIn(after, { ...ruth, [attribute]: 'staff' })).specialGroups(), [])
})

onceTest('X1 without attributes a browser is sent to loginUrl, once', async t => {
  const login = 'https://sp.example.edu/Shibboleth.sso/Login'
  const service = await startTrusting(t, { provider: { loginUrl: `${login}?target={target}` } })
  const begun = await send(service, [[secret.header, secret.value]])
  assert.equal(begun.status, 303)
  const where = new URL(begun.location ?? '')
  assert.equal(where.origin + where.pathname, login)
  assert.deepEqual([...where.searchParams.keys()], ['target'])
  const target = new URL(where.searchParams.get('target') ?? '')
  assert.equal(target.origin, baseUrl, 'the browser comes back to the service')
  assert.equal(begun.cookies.has(sessionCookie), false)

  // It comes back, and there is still nothing.
  const cookies: Header = ['Cookie', [...begun.cookies].map(pair => pair.join('=')).join('; ')]
  const back = { path: target.pathname + target.search }
  await assertRefused(service, await send(service, [[secret.header, secret.value], cookies], back))
  await assertRefused(service, await send(service, [[secret.header, secret.value]], back))
  assert.equal(cookieOf(await send(service, [...trusted(), cookies], back)).startsWith(sessionCookie), true)
})

onceTest('X2 redirectUrl must be of an allowed origin, else nothing is established', async t => {
  const loginUrl = 'https://sp.example.edu/login?target={target}'
  const service = await startTrusting(t, { provider: { loginUrl } })
  for (const url of [
    'https://evil.example/',
    'https://ui.example.edu/',
    'http://ui.example.edu:8080/',
    'http://ui.example.edu.evil.example/',
    'http://ui.example.edu@evil.example/',
    'http://evil.example\\@ui.example.edu/',
    '//evil.example/',
    '/relative',
    'javascript:alert(1)',
    'data:text/html,x',
    'ui.example.edu',
    'null',
    '',
  ])
    for (const headers of [trusted(), [[secret.header, secret.value]] as Header[], []]) {
      const path = `/api/authn/shibboleth?redirectUrl=${encodeURIComponent(url)}`
      const answer = await send(service, headers, { path })
      await assertRefused(service, answer, 400, 'redirect-not-allowed')
      assert.deepEqual(
        [...answer.cookies.keys()].filter(name => name.includes('SSO')),
        [],
        url,
      )
    }
})

onceTest(
  'X2 redirectUrl may be any page of an allowed origin or of the service itself, and may be left out',
  async t => {
    const service = await startTrusting(t)
    for (const [query, expected] of [
      ['', `${ui}/`],
      [`?redirectUrl=${ui}`, ui],
      [`?redirectUrl=${encodeURIComponent(`${ui}/a/b?c=d&e=ü#f`)}`, `${ui}/a/b?c=d&e=ü#f`],
      [`?redirectUrl=${ui}/search?query=x`, `${ui}/search?query=x`],
      [`?redirectUrl=${baseUrl}/api`, `${baseUrl}/api`],
      [`?provider=apache&redirectUrl=${ui}/`, `${ui}/`],
      [`?redirectUrl=${ui}/&provider=apache`, `${ui}/`],
    ] as const) {
      const { status, location, body } = await send(service, trusted(), {
        path: `/api/authn/shibboleth${query}`,
      })
      assert.equal(status, 303, body)
      assert.equal(new URL(location ?? '').href, new URL(expected).href)
    }
  },
)

onceTest('X2 the address that is configured is where a browser goes that named none', async t => {
  const path = join(temporaryFolder(t), 'carrel.json')
  const defaultRedirectUrl = 'https://other.example.edu/home'
  writeFileSync(path, JSON.stringify({ singleSignOn: { defaultRedirectUrl, providers: [provider] } }))
  const env = {
    CARREL_CONFIG: path,
    CARREL_ALLOWED_ORIGINS: `${ui},https://other.example.edu`,
    PROXY_SECRET: secret.value,
  }
  const service = await startService(t, { env })
  assert.equal(
    (await send(service, trusted(), { path: '/api/authn/shibboleth' })).location,
    defaultRedirectUrl,
  )
})

onceTest('X2 a scheme that is not among the methods is switched off', async t => {
  const path = join(temporaryFolder(t), 'carrel.json')
  const env = { ...withProxy(t), CARREL_CONFIG: path }
  writeFileSync(path, JSON.stringify({ singleSignOn: { methods: ['password'], providers: [provider] } }))
  const service = await startService(t, { env })
  const status = await service.client().get('/api/authn/status')
  assert.equal(status.headers.get('www-authenticate'), 'password realm="Carrel"')
  await assertRefused(service, await send(service, trusted()), 404, 'not-found')
})

onceTest('X2 the password is switched off where it is not among the methods', async t => {
  const path = join(temporaryFolder(t), 'carrel.json')
  const env = { ...withProxy(t), CARREL_CONFIG: path }
  writeFileSync(path, JSON.stringify({ singleSignOn: { methods: ['shibboleth'], providers: [provider] } }))
  const service = await startService(t, { env })
  await service.addEperson('max@example.org')
  const answer = await service.client().tryLogin('max@example.org', passwordOf('max@example.org'))
  assert.equal(answer.status, 401)
  const location = `${baseUrl}/api/authn/shibboleth?redirectUrl=${ui}/`
  assert.equal(answer.headers.get('www-authenticate'), `shibboleth realm="Carrel", location="${location}"`)
})

onceTest(
  'X2 the cookie is for browsers only, short-lived, and bound to the host where that is possible',
  async t => {
    for (const [address, name, protection] of [
      ['http://repo.example.edu', 'CARREL-SSO', 'SameSite=Lax'],
      ['https://repo.example.edu/server', '__Host-CARREL-SSO', 'Secure; SameSite=None'],
    ] as const) {
      const service = await startTrusting(t, { env: { CARREL_BASE_URL: address } })
      const { setCookies } = await send(service, trusted())
      const [cookie = ''] = setCookies.filter(one => one.startsWith(name))
      const [value, ...attributes] = cookie.split('; ')
      assert.match(value ?? '', /=[\w-]{43}$/)
      assert.deepEqual(
        attributes.toSorted(),
        ['Path=/', 'HttpOnly', 'Max-Age=60', ...protection.split('; ')].toSorted(),
      )
    }
  },
)

test('X2 the cookie alone opens nothing, and the status says who is waited for', async t => {
  const service = await startTrusting(t)
  await service.addRecords('papers', 'id', [{ id: 1 }], 'eperson')
  const cookie: Header = ['Cookie', cookieOf(await send(service, trusted()))]
  for (let round = 0; round < 2; round++) {
    const status = JSON.parse((await send(service, [cookie], { path: '/api/authn/status' })).body) as Status
    assert.equal(status.authenticated, true)
    assert.equal(status._embedded.eperson?.email, 'ruth@example.edu')
  }
  assert.equal((await send(service, [cookie], { path: '/api/query/v4/papers' })).status, 401)
  const without = await send(service, [cookie], { path: '/api/authn/login', method: 'POST' })
  assert.equal((JSON.parse(without.body) as { code: string }).code, 'csrf-cookie-missing')
  const client = service.client()
  const short = await client.post('/api/authn/shortlivedtokens', undefined, {
    cookie: `${(await client.csrfPair()).cookie}; ${cookie[1]}`,
  })
  assert.equal(short.status, 401)
  assert.equal((await fetchSession(service.client(), cookie[1])).status, 200)
})

test('X1 logoutUrl is where single logout leads, and comes back', async t => {
  const logout = 'https://sp.example.edu/Shibboleth.sso/Logout'
  const service = await startTrusting(t, { provider: { logoutUrl: `${logout}?return={target}` } })
  const client = await logIn(service)
  const answer = await client.post('/api/authn/logout')
  assert.equal(answer.status, 204)
  assert.equal(answer.headers.get('link'), `<${baseUrl}/api/authn/sso/logout>; rel="logout"`)
  const [cookie = ''] = answer.headers.getSetCookie().filter(one => one.startsWith('CARREL-SSO-LOGOUT='))
  const header: Header = ['Cookie', cookie.split(';')[0] ?? '']
  const gone = await send(service, [header], { path: '/api/authn/sso/logout' })
  assert.equal(gone.status, 303)
  const where = new URL(gone.location ?? '')
  assert.equal(where.origin + where.pathname, logout)
  const back = new URL(where.searchParams.get('return') ?? '')
  assert.equal(back.origin, baseUrl)
  const done = await send(service, [], { path: back.pathname + back.search })
  assert.equal(done.status, 303)
  assert.equal(done.location, `${ui}/`)
})

onceTest('X1 a proxy without logoutUrl has no single logout', async t => {
  const client = await logIn(await startTrusting(t))
  const answer = await client.post('/api/authn/logout')
  assert.equal(answer.status, 204)
  assert.equal(answer.headers.get('link'), null)
  assert.deepEqual(
    answer.headers.getSetCookie().filter(cookie => cookie.includes('LOGOUT')),
    [],
  )
})

test('X2 the audit trail has logins with scheme and provider, and those that were created', async t => {
  const service = await startTrusting(t)
  await service.addEperson('admin@example.org', { admin: true })
  const { eid } = claimsOf((await logIn(service)).token)
  await logIn(service)
  const admin = service.client()
  await admin.login('admin@example.org')
  const logins = (await eventsOf(admin, 'login')).filter(({ method }) => method === 'shibboleth')
  const expected = {
    outcome: 'success',
    eperson: eid,
    actor: eid,
    client_ip: '127.0.0.1',
    method: 'shibboleth',
    object: 'apache',
    reason: null,
  }
  assert.deepEqual(logins, [expected, expected])
  const added = (await eventsOf(admin, 'eperson.add')).filter(({ eperson }) => eperson === eid)
  assert.equal(added.length, 1)
  assert.doesNotMatch(await (await admin.get('/api/query/v4/events')).text(), /r-1|X-Shib/)
})

onceTest('D3 a secret of less than 16 characters, or none, stops the start with what is wrong', async t => {
  for (const value of ['', 'x', 'fifteen chars !']) {
    const env = withProxy(t, { env: { PROXY_SECRET: value } })
    const folder = temporaryFolder(t)
    await assert.rejects(serve(t, folder, { env }), (error: Error) => {
      assert.match(error.message, /singleSignOn\.providers\[0\]\.secret/)
      assert.match(error.message, value === '' ? /PROXY_SECRET/ : /16 characters/)
      assert.doesNotMatch(error.message, /fifteen chars/)
      return true
    })
  }
  const short = join(temporaryFolder(t), 'secret')
  writeFileSync(short, 'fifteen chars !\n')
  await assert.rejects(startTrusting(t, { provider: { secret: { file: short } } }), /16 characters/)
  writeFileSync(short, `${secret.value}\n`)
  cookieOf(await send(await startTrusting(t, { provider: { secret: { file: short } } }), trusted()))
})

onceTest('D3 a proxy that is wrong in the file stops the start with the place', async t => {
  for (const [more, expected] of [
    [{ addresses: [] }, /providers\[0\]\.addresses/],
    [{ addresses: ['proxy.example.edu'] }, /providers\[0\]\.addresses: proxy\.example\.edu/],
    [{ addresses: undefined }, /addresses/],
    [{ secret: 'a secret in plain text in the file' }, /providers\[0\]\.secret/],
    [{ secret: undefined }, /secret/],
    [{ attributes: {} }, /subject/],
    [{ separator: ';;' }, /separator/],
    [
      { groups: [{ group: 'Administrator', attribute: 'X-Shib-Affiliation', value: 'staff' }] },
      /Administrator/,
    ],
    [{ groups: [{ group: 'Staff', attribute: 'X-Shib-Affiliation', pattern: '(' }] }, /pattern/],
    // Nobody but the client would send that claim.
    [{ email: { verified: 'claim' } }, /providers\[0\]\.email\.verified/],
    [{ loginurl: 'https://sp.example.edu/' }, /loginurl/],
  ] as const)
    await assert.rejects(startTrusting(t, { provider: more }), (error: Error) => {
      assert.match(error.message, expected)
      assert.match(error.message, /singleSignOn/)
      assert.doesNotMatch(error.message, /plain text/)
      return true
    })
})

onceTest('E2 what one trusted proxy sends is no false alarm about another', async t => {
  const path = join(temporaryFolder(t), 'carrel.json')
  const other = { ...provider, id: 'other', addresses: ['192.0.2.1'] }
  writeFileSync(path, JSON.stringify({ singleSignOn: { providers: [provider, other] } }))
  const env = { ...withProxy(t), CARREL_CONFIG: path, CARREL_LOG_LEVEL: 'warn' }
  const served = await serve(t, temporaryFolder(t), { env })
  cookieOf(
    await send(served, trusted(), { path: `/api/authn/shibboleth?provider=apache&redirectUrl=${page}` }),
  )
  await served.stop()
  // Nothing but how to add an administrator.
  assert.doesNotMatch(served.output.stdout, /"level":40(?!.*there is no administrator)/)
})

interface Line {
  readonly level: number
  readonly msg: string
  readonly provider?: string
  readonly why?: string
}

onceTest(
  'E2 X3 the log tells the operator of attributes that were not believed, and never a value',
  async t => {
    const dataFolder = temporaryFolder(t)
    const env = { ...withProxy(t), CARREL_LOG_LEVEL: 'warn' }
    const served = await serve(t, dataFolder, { env })
    for (const [, ...headers] of wrongSecrets)
      assert.equal((await send(served, [...headers, ...Object.entries(ruth)])).status, 401)
    assert.equal((await send(served, trusted(), { from: '127.0.0.2' })).status, 401)
    assert.equal((await send(served, [...trusted(), [names.email, 'twice@example.edu']])).status, 401)
    const { [names.subject]: _none, ...rest } = ruth
    assert.equal((await send(served, trusted(rest))).status, 401)
    assert.equal((await send(served, trusted())).status, 303)
    await served.stop()

    const lines = served.output.stdout
      .split('\n')
      .filter(line => line.startsWith('{'))
      .map(line => JSON.parse(line) as Line)
    const told = lines.filter(line => line.provider === 'apache')
    assert.equal(told.filter(({ level }) => level === 40).length, told.length)
    const pretended = told.filter(({ msg }) => msg.includes('did not come from the trusted proxy'))
    assert.equal(pretended.length, wrongSecrets.length + 1)
    for (const why of [/twice/, /sent no user|subject/])
      assert.ok(told.some(line => why.test(line.why ?? '')))
    const all = served.output.stdout + served.output.stderr
    for (const value of [...Object.values(ruth), secret.value, 'twice@example.edu', 'xxxx'])
      assert.equal(all.includes(value), false, value)
  },
)
