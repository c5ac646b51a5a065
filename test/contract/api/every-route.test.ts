import assert from 'node:assert/strict'
import { methodNeeded, needsCsrf, needsLogin } from '../../../src/http/access.ts'
import { type ApiPart, apiParts, scopeMethods } from '../../../src/model/access-tokens.ts'
import type { Client } from '../../support/clients/client.ts'
import { addTo, postJson } from '../../support/clients/people.ts'
import { adminEmail, everything, type World } from '../../support/data/every-route.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { isChange, isClosed, isForLogins, isOpen, type StatedRoute } from '../../support/service/routes.ts'

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

/** The routes of administrators, as the contract has them. What the routes themselves state is held against this. */
const administrators = new RegExp(
  `^(?:${[
    'GET /actuator/.+',
    '\\w+ /api/admin/.+',
    '(?!OPTIONS)\\w+ /api/uploads.*',
    '\\w+ /api/authz/resourcepolicies.*',
    'POST /api/core/items',
    'DELETE /api/core/items/:uuid',
    '(?!GET)\\w+ /api/core/metadata(?:fields|schemas)(?:/:id)?',
    'PATCH /api/core/sites/:uuid',
    'GET /api/eperson/epersons(?:/search/.+)?',
    'DELETE /api/eperson/epersons/:uuid',
    '\\w+ /api/eperson/epersons/:uuid/(?:factors|sessions|tokens).*',
    'GET /api/eperson/groups(?:/search/.+|/:uuid/epersons)?',
    '(?!GET)\\w+ /api/eperson/groups.*',
    'GET /api/system/(?:auditevents.*|processes(?:/search/byProperty)?|scripts|systemwidealerts)',
    'POST /api/system/scripts/:name/processes',
    '(?:POST|PUT) /api/system/systemwidealerts.*',
  ].join('|')})$`,
)
/** Routes about the caller's own logins, which take the token of a login and no other. */
const logins = /^\w+ \/api\/authn\/(?:sessions|tokens)(?:\/:id)?$/
/** Changes that no access token makes. */
const withoutProgram =
  /^(?!GET)\w+ \/api\/(?:authn\/(?!log)|eperson\/|core\/sites\/|admin\/(?:secret|sessions|sso)\b)/

testOn(
  'sqlite',
  'I1 I12 K2 K4 M3 M4 M5 M6 N4 N5 OP1 OP3 OP4 OP5 OP6 OP9 EA1 EA2 EA3 EA5 EA9 EA10 S4 S5 S6 S7 S8 S11 UP1 UP3 PR1 routes state the access of the contract',
  async t => {
    const { routes } = await everything(t)
    const named = routes.map(route => ({ ...route, name: nameOf(route) }))
    assert.deepEqual(
      named.filter(({ access }) => access.who === 'administrator').map(({ name }) => name),
      named.map(({ name }) => name).filter(name => administrators.test(name)),
    )
    for (const { access, method, name } of named) {
      const { tokens, onBehalf } = access
      if (administrators.test(name) && method !== 'GET') {
        assert.deepEqual([access.does, needsCsrf(access)], ['change', true], name)
        assert.ok(tokens !== 'ignored' && !tokens.shortLived, name)
      }
      if (logins.test(name))
        assert.deepEqual(
          [access.who, tokens, onBehalf, needsCsrf(access)],
          ['eperson', { shortLived: false, access: 'none' }, 'refused', method !== 'GET'],
          name,
        )
      if (withoutProgram.test(name)) assert.equal(tokens !== 'ignored' && tokens.access, 'none', name)
    }
    for (const pattern of [administrators, logins, withoutProgram])
      assert.ok(named.filter(({ name }) => pattern.test(name)).length > 3, String(pattern))
  },
)

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

/** A way to send a request, and what the route says of it. */
interface Sender {
  readonly name: string
  readonly client: Client
  readonly kind: 'stranger' | 'eperson' | 'administrator' | 'acting'
  readonly scope?: { readonly parts: readonly ApiPart[]; readonly methods: readonly string[] }
  readonly shortLived?: true
  readonly withoutPair?: true
  readonly headers?: Readonly<Record<string, string>>
}

/** Returns the code of the problem by which the route refuses the sender, according to its access. */
function refusalOf({ access, method }: StatedRoute, sender: Sender): string | undefined {
  const { who, tokens, onBehalf } = access
  if (sender.withoutPair && needsCsrf(access)) return 'csrf-header-missing'
  if (tokens === 'ignored') return undefined
  if (sender.scope && tokens.access !== 'any') {
    const { parts, methods } = sender.scope
    const part = parts.find(one => one === tokens.access)
    if (!part || !methods.includes(methodNeeded(access, method))) return 'access-token-refused'
  }
  if (sender.shortLived && !tokens.shortLived) return 'short-lived-token-refused'
  if (!needsLogin(access)) return undefined
  if (sender.kind === 'stranger') return 'authentication-required'
  if (who === 'administrator' && sender.kind !== 'administrator') return 'access-denied'
  if (sender.kind === 'acting' && onBehalf === 'refused') return 'on-behalf-of-refused'
  return undefined
}

/** Problems that only the guard and the checks before it answer with, if the caller is logged in. */
const ofGuard = /^(csrf-.*|access-token-refused|short-lived-token-refused)$/

testOn('sqlite', 'L4 B3 C5 C8 K2 T10 every route refuses whom its access refuses, and no other', async t => {
  const world = await everything(t)
  const { routes, admin, reader, ids, service } = world
  const { uuid: curatorId } = await service.addEperson('curator@example.org')
  const curator = await service.loggedIn('curator@example.org')
  await addTo(admin, `/api/eperson/groups/${ids.group}/epersons`, `/api/eperson/epersons/${curatorId}`)
  const acting = service.client()
  acting.token = admin.token
  const program = async (name: string, scope: NonNullable<Sender['scope']>): Promise<Sender> => {
    const made = await postJson(reader, '/api/authn/tokens', { name, ...scope })
    assert.equal(made.status, 201, name)
    const client = service.client()
    client.token = ((await made.json()) as { token: string }).token
    return { name: `a program: ${name}`, client, kind: 'eperson', scope }
  }
  const senders: Sender[] = [
    { name: 'a stranger', client: service.client(), kind: 'stranger' },
    { name: 'a reader', client: reader, kind: 'eperson' },
    { name: 'a curator', client: curator, kind: 'eperson' },
    { name: 'an administrator', client: admin, kind: 'administrator' },
    { name: 'without a CSRF pair', client: admin, kind: 'administrator', withoutPair: true },
    { name: 'a short-lived token', client: service.client(), kind: 'eperson', shortLived: true },
    { name: 'acting', client: acting, kind: 'acting', headers: { 'x-on-behalf-of': ids.reader ?? '' } },
    await program('all parts, reading', { parts: apiParts, methods: ['GET'] }),
  ]
  for (const part of apiParts)
    senders.push(await program(`${part}, all methods`, { parts: [part], methods: scopeMethods }))

  for (const route of routes) {
    // A login or logout changes the senders themselves.
    if (/^\/api\/authn\/log(in|out)$/.test(route.url)) continue
    for (const sender of senders) {
      const expected = refusalOf(route, sender)
      // An administrator who isn't refused would remove what the next request is about.
      if (expected === undefined && sender.kind === 'administrator' && isChange(route)) continue
      const check = async (query = '') => {
        const headers = { ...sender.headers, ...(sender.withoutPair && { 'x-xsrf-token': '' }) }
        const { status, code } = await ask(world, sender.client, route, { query, headers })
        const name = `${nameOf(route)}: ${sender.name}: ${status} ${code}`
        if (expected === undefined) assert.doesNotMatch(code ?? '', ofGuard, name)
        else if (expected === 'csrf-header-missing') assert.match(code ?? '', /^csrf-/, name)
        else assert.equal(code, expected, name)
      }
      if (sender.shortLived) await reader.withShortLived(token => check(`?authentication-token=${token}`))
      else await check()
    }
  }
})
