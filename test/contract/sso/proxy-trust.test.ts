import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withoutRequestId } from '../../support/clients/answers.ts'
import {
  assertRefused,
  cookieOf,
  type Header,
  names,
  page,
  provider,
  ruth,
  secret,
  send,
  sessionCookie,
  startTrusting,
  trusted,
  withProxy,
} from '../../support/providers/proxy-flow.ts'
import { startReverseProxy } from '../../support/providers/reverse-proxy.ts'
import { test, testOnOne } from '../../support/service/engines.ts'
import { serve } from '../../support/service/process.ts'
import { temporaryFolder } from '../../support/service/service.ts'

testOnOne('X2 attributes count from the configured addresses only', async t => {
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

/** Headers that a client without the secret might send. */
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

testOnOne('X2 attributes count with the shared secret only, sent once', async t => {
  const service = await startTrusting(t)
  for (const [what, ...headers] of wrongSecrets) {
    const answer = await send(service, [...headers, ...Object.entries(ruth)])
    await assertRefused(service, answer).catch(cause => assert.fail(`${what}: ${cause}`))
  }
  cookieOf(await send(service, trusted()))
})

testOnOne('X2 the header of the secret is known in any case', async t => {
  const service = await startTrusting(t, { provider: { secretHeader: 'x-PROXY-secret' } })
  const attributes = Object.entries(ruth).map(([name, value]): Header => [name.toUpperCase(), value])
  cookieOf(await send(service, [['X-pROXY-sECRET', secret.value], ...attributes]))
})

testOnOne('X2 a client can not pretend to be the proxy by X-Forwarded-For', async t => {
  const proxies = [{}, { CARREL_TRUSTED_PROXIES: '127.0.0.1' }, { CARREL_TRUSTED_PROXIES: '127.0.0.0/8' }]
  for (const env of proxies) {
    const service = await startTrusting(t, { provider: { addresses: ['127.0.0.2'] }, env })
    for (const hop of ['127.0.0.2', '127.0.0.2, 127.0.0.1', '127.0.0.1, 127.0.0.2'])
      for (const name of ['X-Forwarded-For', 'X-Real-IP', 'X-Client-IP'])
        await assertRefused(service, await send(service, [...trusted(), [name, hop]]))
    await assertRefused(service, await send(service, [...trusted(), ['Forwarded', 'for=127.0.0.2']]))
    // The proxy itself still reports the addresses of its clients.
    cookieOf(await send(service, [...trusted(), ['X-Forwarded-For', '192.0.2.7']], { from: '127.0.0.2' }))
  }
})

testOnOne(
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

testOnOne('X3 a proxy that adds to what clients say: what is there twice is refused', async t => {
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

testOnOne('X2 an attribute that is there twice is refused, the same value too', async t => {
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
    assert.equal(withoutRequestId(claimed.body), withoutRequestId(plain.body), path)
    assert.equal(sessionCookie(claimed), undefined, path)
  }
  const client = service.client()
  const headers = Object.fromEntries(trusted())
  for (const body of [undefined, new URLSearchParams({ user: 'ruth@example.edu', password: '' })])
    assert.equal((await client.post('/api/authn/login', body, headers)).status, 401)
  assert.equal((await client.post('/api/authn/shortlivedtokens', undefined, headers)).status, 401)
  assert.equal((await client.post('/api/authn/logout', undefined, headers)).status, 204)

  // They don't change a logged-in eperson, either.
  await service.addEperson('max@example.org')
  await client.login('max@example.org')
  const { _embedded } = await client.status('/api/authn/status', headers)
  assert.equal(_embedded.eperson?.email, 'max@example.org')
  assert.deepEqual(
    (await service.storage.people.listEpersons()).map(({ email }) => email),
    ['max@example.org'],
  )
})

testOnOne('D3 a secret of less than 16 characters, or none, stops the start with what is wrong', async t => {
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

testOnOne('D3 a proxy that is wrong in the file stops the start with the place', async t => {
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
    // Only the client could send this claim.
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

testOnOne('E2 what one trusted proxy sends is no false alarm about another', async t => {
  const path = join(temporaryFolder(t), 'carrel.json')
  const other = { ...provider, id: 'other', addresses: ['192.0.2.1'] }
  writeFileSync(path, JSON.stringify({ singleSignOn: { providers: [provider, other] } }))
  const env = {
    ...withProxy(t),
    CARREL_ALLOWED_HOSTS: 'repo.example.edu',
    CARREL_CONFIG: path,
    CARREL_LOG_LEVEL: 'warn',
  }
  const served = await serve(t, temporaryFolder(t), { env })
  cookieOf(
    await send(served, trusted(), { path: `/api/authn/shibboleth?provider=apache&redirectUrl=${page}` }),
  )
  await served.stop()
  // The only warning is the one about the missing administrator.
  assert.doesNotMatch(served.output.stdout, /"level":40(?!.*there is no administrator)/)
})

interface Line {
  readonly level: number
  readonly msg: string
  readonly count?: number
  readonly provider?: string
  readonly why?: string
}

testOnOne(
  'E2 X3 the log tells the operator of attributes that were not believed, and never a value',
  async t => {
    const dataFolder = temporaryFolder(t)
    const env = { ...withProxy(t), CARREL_ALLOWED_HOSTS: 'repo.example.edu', CARREL_LOG_LEVEL: 'warn' }
    const served = await serve(t, dataFolder, { env })
    for (const [, ...headers] of wrongSecrets)
      assert.equal((await send(served, [...headers, ...Object.entries(ruth)])).status, 401)
    const unreplaced = `$${'{UNREPLACED}'}`
    assert.equal((await send(served, [[secret.header, unreplaced], ...Object.entries(ruth)])).status, 401)
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
    // Identical messages are counted.
    assert.equal(
      pretended.reduce((sum, { count = 1 }) => sum + count, 0),
      wrongSecrets.length + 2,
    )
    assert.equal(pretended.filter(({ why = '' }) => /placeholder/.test(why)).length, 1)
    for (const why of [/twice/, /sent no user|subject/])
      assert.ok(told.some(line => why.test(line.why ?? '')))
    const all = served.output.stdout + served.output.stderr
    for (const value of [...Object.values(ruth), secret.value, 'twice@example.edu', 'xxxx', 'UNREPLACED'])
      assert.equal(all.includes(value), false, value)
  },
)
