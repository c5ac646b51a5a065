import assert from 'node:assert/strict'
import { needsCsrf } from '../../src/http/access.ts'
import type { Client } from '../support/clients/client.ts'
import { postJson } from '../support/clients/people.ts'
import { adminEmail, everything, type World } from '../support/data/every-route.ts'
import { test, testOn } from '../support/service/engines.ts'
import { isChange, isClosed, isForLogins, isOpen, type StatedRoute } from '../support/service/routes.ts'

const nameOf = ({ method, url }: StatedRoute) => `${method} ${url}`

interface Answer {
  readonly status: number
  readonly code: string | undefined
}

async function ask(
  { at }: World,
  client: Client,
  { method, url }: StatedRoute,
  { query = '', headers = {}, ids = {} }: { query?: string; headers?: object; ids?: object } = {},
): Promise<Answer> {
  const gone = new AbortController()
  const response = await client.request(at(url, { ...ids }) + query, {
    method,
    signal: gone.signal,
    headers: {
      'x-xsrf-token': (await client.csrfPair()).value,
      'tus-resumable': '1.0.0',
      ...(method === 'GET' ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(method === 'GET' || method === 'OPTIONS' ? {} : { body: '{}' }),
  })
  // A stream of events doesn't end, so it is aborted.
  if (response.headers.get('content-type') === 'text/event-stream') {
    gone.abort()
    return { status: response.status, code: undefined }
  }
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') && text !== ''
  return { status: response.status, code: isJson ? (JSON.parse(text) as { code?: string }).code : undefined }
}

test('L4 B3 Q10 what is closed is 401 for anybody, and 403 for a reader and for who acts as one', async t => {
  const world = await everything(t)
  const { routes, admin, reader, ids, service } = world
  const acting = service.client()
  acting.token = admin.token
  for (const route of routes) {
    const name = nameOf(route)
    const isLogin = isForLogins(route)
    if (!isLogin && !isClosed(route)) continue
    assert.deepEqual((await ask(world, service.client(), route)).status, 401, name)
    const headers = { 'x-on-behalf-of': ids.reader ?? '' }
    if (isLogin) continue
    assert.equal((await ask(world, reader, route)).status, 403, name)
    assert.equal((await ask(world, acting, route, { headers })).status, 403, name)
  }
})

test('F1 what is not there can’t be told from what is closed where only administrators look', async t => {
  const world = await everything(t)
  const { routes, reader, ids } = world
  // Items, bundles and files that don't exist are 404 for everyone (F1).
  const places = /^\/api\/(eperson|system|admin|uploads)\//
  const others = Object.fromEntries(
    Object.entries(ids).map(([name, id]) => [name, id.replace(/[1-9a-f]/g, '8')]),
  )
  for (const route of routes) {
    if (!isClosed(route) || !places.test(route.url)) continue
    if (route.url.includes('/scripts/')) continue
    assert.deepEqual(
      await ask(world, reader, route, { ids: others }),
      await ask(world, reader, route),
      nameOf(route),
    )
  }
})

test('T10 H2 no route that changes something takes a token in its address', async t => {
  const world = await everything(t)
  const { routes, admin, service } = world
  for (const route of routes) {
    if (!isChange(route) || isOpen(route)) continue
    const query = `?authentication-token=${await admin.shortLivedToken()}`
    const expected = { status: 403, code: 'short-lived-token-refused' }
    assert.deepEqual(await ask(world, service.client(), route, { query }), expected, nameOf(route))
  }
})

test('C5 C8 every route under /api that changes something needs the CSRF pair', async t => {
  const world = await everything(t)
  const { routes, admin } = world
  for (const route of routes) {
    if (!needsCsrf(route.access)) continue
    for (const value of ['', 'x'.repeat(86)]) {
      const { status, code } = await ask(world, admin, route, { headers: { 'x-xsrf-token': value } })
      assert.equal(status, 403, nameOf(route))
      assert.match(code ?? '', /^csrf-/, nameOf(route))
    }
  }
})

test('K2 an access token of another part, or that only reads, changes nothing anywhere', async t => {
  const world = await everything(t)
  const { routes, admin, service } = world
  const reading = service.client()
  const body = JSON.stringify({ name: 'reads' })
  const made = await admin.post('/api/authn/tokens', body, { 'content-type': 'application/json' })
  reading.token = ((await made.json()) as { token: string }).token
  for (const route of routes) {
    if (!isChange(route)) continue
    const { status, code } = await ask(world, reading, route)
    assert.deepEqual([status, code], [403, 'access-token-refused'], nameOf(route))
  }
})

testOn(
  'sqlite',
  'Q11 F1 K2 no answer to who may not read it names what is there, whatever is asked for',
  async t => {
    const world = await everything(t)
    const { routes, admin, reader, ids, service } = world
    const [acting, reading] = [service.client(), service.client()]
    acting.token = admin.token
    const made = await postJson(reader, '/api/authn/tokens', { name: 'reads', methods: ['GET', 'POST'] })
    reading.token = ((await made.json()) as { token: string }).token
    const viewers: readonly (readonly [string, Client, object])[] = [
      ['the administrator', admin, {}],
      ['nobody', service.client(), {}],
      ['the reader', reader, {}],
      ['a program of the reader', reading, {}],
      ['who acts as the reader', acting, { 'x-on-behalf-of': ids.reader ?? '' }],
    ]
    // Texts from the administrator's data that no reader may see.
    const secrets = [
      'Curators',
      'birds',
      'Wren',
      'of the administrator',
      adminEmail,
      'Soon.',
      'On Rivers',
      'a.txt',
    ]
    const toldToAdmin = new Set<string>()
    for (const route of routes) {
      if (isChange(route)) continue
      const path = world.at(route.url)
      const isSearch = /search|find|authorizations|reports|\/own|links|processes|tokens/.test(route.url)
      for (const query of isSearch ? ['', questions(ids)] : [''])
        for (const [name, client, headers] of viewers) {
          const answer = await textOf(client, path + query, route.method, headers)
          const asked = decodeURIComponent(path + query)
          const told = secrets.filter(secret => !asked.includes(secret) && answer.includes(secret))
          if (name === 'the administrator') for (const secret of told) toldToAdmin.add(secret)
          else assert.deepEqual(told, [], `${name}: ${nameOf(route)}${query}: ${answer}`)
        }
    }
    assert.deepEqual([...toldToAdmin].toSorted(), secrets.toSorted(), 'there is something to tell')
  },
)

/** Parameters for all searches, which ask for objects that the reader may not see. */
const questions = ({ admin = '', group = '', item = '', bitstream = '', policy = '' }: World['ids']) =>
  `?${new URLSearchParams({
    ...{
      query: '',
      email: 'admin@example.or',
      eperson: admin,
      group,
      uuid: item,
      resource: item,
      object: item,
    },
    ...{ id: item, userId: admin, policy, bitstream, uri: `http://repo.example.edu/api/core/items/${item}` },
  })}`

/** Returns everything in an answer that a client can read. */
async function textOf(client: Client, path: string, method: string, headers: object): Promise<string> {
  const gone = new AbortController()
  const response = await client.request(path, {
    method,
    signal: gone.signal,
    headers: { ...headers, ...(method === 'POST' && { 'content-type': 'application/json' }) },
    ...(method === 'POST' && { body: '{}' }),
  })
  const told = [...response.headers].map(pair => pair.join(': ')).join('\n')
  if (response.headers.get('content-type') !== 'text/event-stream') return `${told}\n${await response.text()}`
  gone.abort()
  return told
}
