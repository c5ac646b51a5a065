import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { localUploads } from '../../src/admin/uploads/open-uploads.ts'
import { Client } from '../support/clients/client.ts'
import { type HalfSent, sendHalf } from '../support/clients/half-sent.ts'
import { addTo, groupsPath, newGroup, patchJson, postJson } from '../support/clients/people.ts'
import { change } from '../support/data/editing.ts'
import { adminEmail, everything, type World } from '../support/data/every-route.ts'
import { isLong } from '../support/scale.ts'
import { test } from '../support/service/engines.ts'
import { isClosed, isForLogins, type Route } from '../support/service/routes.ts'
import { passwordOf, startService } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

const nameOf = ({ method, url }: Route) => `${method} ${url}`

/** Routes that don't wait for a body. */
const withoutBody = new Set([
  'DELETE /api/admin/sessions',
  'DELETE /api/admin/sso/identities/:provider/:uuid',
  'DELETE /api/authn/sessions',
  'DELETE /api/authn/sessions/:id',
  'DELETE /api/eperson/epersons/:uuid/sessions',
  'DELETE /api/eperson/epersons/:uuid/tokens',
  'DELETE /api/eperson/epersons/:uuid/tokens/:id',
  'DELETE /api/system/processes/:id',
  'DELETE /api/uploads/:id',
  'POST /api/admin/secret/rotate',
  'POST /api/system/processes/:id/cancel',
  'POST /api/system/processes/:id/resume',
])

const form = '--b\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhello\r\n--b--\r\n'

/** Returns a body that the route waits for. */
function bodyFor({ method, url }: Route): readonly [type: string, body: string] {
  if (/\/content$|\/bundles\/:uuid\/bitstreams$|\/scripts\//.test(url))
    return ['multipart/form-data; boundary=b', form]
  if (/^\/api\/uploads/.test(url)) return ['application/offset+octet-stream', 'hello']
  if (url === '/api/admin/ingest') return ['application/zip', 'PK'.repeat(100)]
  if (/\/(epersons|subgroups|primaryBitstream|group|eperson|format)$/.test(url) && method !== 'DELETE')
    if (!/^\/api\/eperson\/epersons$/.test(url)) return ['text/uri-list', 'http://other.example/x']
  return ['application/json', method === 'PATCH' ? '[]' : '{}']
}

const headersFor = ({ method, url }: Route): Record<string, string> =>
  url.startsWith('/api/uploads')
    ? {
        'tus-resumable': '1.0.0',
        ...(method === 'PATCH' ? { 'upload-offset': '0' } : { 'upload-length': '5' }),
      }
    : {}

const takesBody = (route: Route) =>
  /^(POST|PUT|PATCH|DELETE)$/.test(route.method) && !withoutBody.has(nameOf(route))
/** True for routes that an access token may use, whatever its scope (K3). */
const isForPrograms = ({ url }: Route) =>
  !/^\/api\/(authn|core\/sites|eperson|admin\/(secret|sessions|sso|tokens))(\/|$)/.test(url)

/** The eperson whose requests are on their way. */
interface Victim {
  readonly client: Client
  readonly uuid: string
  readonly email: string
  /** A client with a second session. */
  readonly other: Client
  readonly group: string
}

let people = 0
async function newVictim({ service, admin }: World): Promise<Victim> {
  const email = `victim${++people}@example.org`
  const { uuid } = await service.addEperson(email)
  const group = await newGroup(admin, `Deputies ${people}`)
  assert.equal(
    (await addTo(admin, `${groupsPath}/${group}/epersons`, `/api/eperson/epersons/${uuid}`)).status,
    204,
  )
  const all = await administrators(admin)
  assert.equal(
    (await addTo(admin, `${groupsPath}/${all}/subgroups`, `/api/eperson/groups/${group}`)).status,
    204,
  )
  const [client, other] = [service.client(), service.client()]
  await client.login(email)
  await other.login(email)
  return { client, uuid, email, other, group }
}

async function administrators(admin: Client): Promise<string> {
  const found = await (await admin.get(`${groupsPath}/search/byMetadata?query=Administrator`)).json()
  return found._embedded.groups[0].uuid
}

const done = async (answer: Promise<Response>) => {
  const response = await answer
  assert.ok(response.status < 300, `${response.status} ${await response.text()}`)
}

type Ending = (world: World, victim: Victim) => Promise<void>

/** Ways to end a session, after which its token gets a 401. */
const endings: Readonly<Record<string, Ending>> = {
  'a logout': (_, { other }) => done(other.post('/api/authn/logout')),
  'the end of the session, from another one': async (_, { other }) => {
    const { _embedded } = await (await other.get('/api/authn/sessions')).json()
    const [mine] = _embedded.sessions.filter((one: { current: boolean }) => !one.current)
    await done(other.delete(`/api/authn/sessions/${mine.id}`))
  },
  'the end of all other sessions': (_, { other }) => done(other.delete('/api/authn/sessions')),
  'the end of all sessions by an administrator': ({ admin }, { uuid }) =>
    done(admin.delete(`/api/eperson/epersons/${uuid}/sessions`)),
  'the end of the sessions of everybody': async ({ admin }) => {
    await done(admin.delete('/api/admin/sessions'))
    await admin.login(adminEmail)
  },
  'a new password of their own, from another session': (_, { other, uuid, email }) =>
    done(
      patchJson(other, `/api/eperson/epersons/${uuid}`, [
        {
          op: 'add',
          path: '/password',
          value: { new_password: 'another long secret', current_password: passwordOf(email) },
        },
      ]),
    ),
  'a new password by an administrator': ({ admin }, { uuid }) =>
    done(
      patchJson(admin, `/api/eperson/epersons/${uuid}`, [
        { op: 'add', path: '/password', value: { new_password: 'another long secret' } },
      ]),
    ),
  'being disabled': ({ admin }, { uuid }) =>
    done(
      patchJson(admin, `/api/eperson/epersons/${uuid}`, [{ op: 'replace', path: '/canLogIn', value: false }]),
    ),
  'being deleted': ({ admin }, { uuid }) => done(admin.delete(`/api/eperson/epersons/${uuid}`)),
}

/** Ways to remove rights without ending the session, after which routes for administrators give a 403. */
const losses: Readonly<Record<string, Ending>> = {
  'leaving the group': ({ admin }, { uuid, group }) =>
    done(admin.delete(`${groupsPath}/${group}/epersons/${uuid}`)),
  'their group leaving Administrator': async ({ admin }, { group }) =>
    done(admin.delete(`${groupsPath}/${await administrators(admin)}/subgroups/${group}`)),
}

/** Ways to end access tokens. */
const revocations: Readonly<Record<string, Ending>> = {
  'its revocation': async (_, { other }) => {
    const { _embedded } = await (await other.get('/api/authn/tokens')).json()
    for (const { id } of _embedded.tokens) await done(other.delete(`/api/authn/tokens/${id}`))
  },
  'its revocation by an administrator': ({ admin }, { uuid }) =>
    done(admin.delete(`/api/eperson/epersons/${uuid}/tokens`)),
}
const endsTokens = ['a new password by an administrator', 'being disabled', 'being deleted']

interface Held {
  readonly route: Route
  readonly sent: HalfSent
}

const isOfUpload = ({ url }: Route) => url.startsWith('/api/uploads/')

/** Creates an upload of the client, because it doesn't see those of others. */
async function newUpload(client: Client): Promise<string> {
  const made = await client.post('/api/uploads', undefined, {
    'tus-resumable': '1.0.0',
    'upload-length': '5',
  })
  assert.equal(made.status, 201, await made.text())
  return made.headers.get('location')?.split('/').at(-1) ?? ''
}

/** Sends half of a request to each of these routes. */
async function hold(
  world: World,
  routes: readonly Route[],
  client: Client,
  { address, headers = {} }: { readonly address: string; readonly headers?: Record<string, string> },
): Promise<readonly Held[]> {
  const isKnown = async () => {
    const status = await fetch(`${address}/api/authn/status`, {
      headers: { authorization: `Bearer ${client.token}`, ...headers },
    })
    assert.equal((await status.json()).authenticated, true)
  }
  await isKnown()
  const held: Held[] = []
  const own = routes.some(isOfUpload) ? { upload: await newUpload(client) } : {}
  for (const route of routes) {
    const [type, body] = bodyFor(route)
    const sent = await sendHalf(client, world.at(route.url, own), {
      ...{ method: route.method, type, body, address },
      headers: { ...headersFor(route), ...headers },
    })
    held.push({ route, sent })
  }
  // Look-ups are made in the order of the requests. When this one is answered, the callers of the others are
  // known.
  await isKnown()
  return held
}

/** Asserts that the requests are refused, and that nothing is done or shown. */
async function requireRefused(
  held: readonly Held[],
  what: string,
  statusOf: (route: Route) => readonly number[],
) {
  let early = 0
  for (const { route, sent } of held) {
    const name = `${nameOf(route)} after ${what}`
    const wasEarly = sent.isAnswered()
    const { status, text } = await sent.end()
    assert.ok(statusOf(route).includes(status ?? 0), `${name}: ${status} ${text}`)
    if (wasEarly) early++
  }
  // On a busy machine, the check of the head may already see the end. Most requests must wait for their
  // bodies, or the test shows nothing.
  assert.ok(early < held.length / 2, `${early} of ${held.length} were answered before their bodies had come`)
}

/** Counts the successful changes of an eperson in the audit trail. */
async function changesOf({ admin }: World, uuid: string): Promise<number> {
  const query = [
    'extract',
    [['function', 'count']],
    // That a request came on behalf of another is recorded at its head, and may be on its way for a moment.
    ['and', ['=', 'actor', uuid], ['=', 'outcome', 'success'], ['not', ['=', 'event', 'on-behalf-of']]],
  ]
  const answer = await postJson(admin, '/api/query/v4/audit-events', { query })
  const [row] = await answer.json()
  return row.count
}

let turns = 0
/** Returns the services at which requests are held: all of them in the long run, otherwise one in turn. */
const placesFor = (places: readonly string[]) =>
  isLong ? places : places.slice(turns++ % places.length).slice(0, 1)

/** Starts another service on the same store, like another process or node. */
const elsewhere = (t: TestContext, { service }: World) =>
  startService(t, { dataFolder: service.dataFolder, env: { CARREL_LOGIN_ON_BEHALF_OF: 'true' } })

test('T12 after every way to end a session, no request that still arrives on any route is carried out', async t => {
  const world = await everything(t)
  const places = [world.service.address, (await elsewhere(t, world)).address]
  const routes = world.routes.filter(route => takesBody(route) && (isClosed(route) || isForLogins(route)))
  assert.ok(routes.length > 50, String(routes.length))
  for (const [what, end] of Object.entries(endings))
    for (const address of placesFor(places)) {
      const victim = await newVictim(world)
      const held = await hold(world, routes, victim.client, { address })
      await end(world, victim)
      const before = await changesOf(world, victim.uuid)
      await requireRefused(held, what, () => [401])
      assert.equal(await changesOf(world, victim.uuid), before, what)
    }
  for (const [what, end] of Object.entries(losses))
    for (const address of placesFor(places)) {
      const victim = await newVictim(world)
      const held = await hold(world, routes.filter(isClosed), victim.client, { address })
      await end(world, victim)
      const before = await changesOf(world, victim.uuid)
      await requireRefused(held, what, () => [403])
      assert.equal(await changesOf(world, victim.uuid), before, what)
    }
  // Nothing was added to the data sent before.
  const sizes = (await localUploads(world.service.config).list()).map(({ offset }) => offset)
  assert.deepEqual(new Set(sizes), new Set([0]))
  // Without such an end, no request is refused because of its caller.
  const victim = await newVictim(world)
  for (const { route, sent } of await hold(world, routes, victim.client, {
    address: world.service.address,
  })) {
    const { status, text } = await sent.end()
    assert.ok(status !== 401 && status !== 403, `${nameOf(route)}: ${status} ${text}`)
  }
})

test('T12 T3 a token that expires while a body arrives counts no more', async t => {
  const service = await startService(t, { env: { CARREL_TOKEN_LIFETIME: '2' } })
  await service.addEperson(adminEmail, { admin: true })
  const admin = service.client()
  await admin.csrfPair()
  await admin.login(adminEmail)
  const wanted = { type: 'application/json', body: JSON.stringify({ name: 'Friends' }) }
  const held = [await sendHalf(admin, groupsPath, wanted), await sendHalf(admin, '/api/authn/tokens', wanted)]
  await until('the token’s end', async () => !(await admin.isLoggedIn()))
  for (const sent of held) assert.equal((await sent.end()).status, 401)
})

test('T12 K5 after every way to end an access token, no request that still arrives on any route is carried out', async t => {
  const world = await everything(t)
  const places = [world.service.address, (await elsewhere(t, world)).address]
  const routes = world.routes.filter(route => takesBody(route) && isClosed(route) && isForPrograms(route))
  assert.ok(routes.length > 25, String(routes.length))
  const scope = {
    name: 'all',
    methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    parts: ['query', 'items', 'people', 'administration', 'processes'],
  }
  const ends = Object.entries({ ...endings, ...revocations }).filter(
    ([what]) => what in revocations || endsTokens.includes(what),
  )
  for (const [what, end] of ends)
    for (const address of placesFor(places)) {
      const victim = await newVictim(world)
      const made = await postJson(victim.client, '/api/authn/tokens', scope)
      const program = new Client(world.service.address)
      program.token = (await made.json()).token
      const held = await hold(world, routes, program, { address })
      await end(world, victim)
      const before = await changesOf(world, victim.uuid)
      await requireRefused(held, what, () => [401])
      assert.equal(await changesOf(world, victim.uuid), before, what)
    }
})

test('T12 B3 what arrives on behalf of someone is not carried out after the end of either', async t => {
  const world = await everything(t)
  const { admin, service, ids } = world
  const places = [service.address, (await elsewhere(t, world)).address]
  const policies = `/api/authz/resourcepolicies?resource=${ids.item}&group=${ids.group}`
  assert.equal((await change(admin, 'post', policies, { action: 'WRITE' })).status, 201)
  const writers = JSON.stringify({ read: 'anonymous', write: 'group:Curators' })
  const type = { 'content-type': 'application/merge-patch+json' }
  assert.equal((await admin.patch('/api/admin/entities/birds', writers, type)).status, 200)
  const names =
    /^(PUT|PATCH) \/api\/(core\/(items|bundles|bitstreams)\/:uuid|query\/v4\/:entity\*)$|\/content$|\/bundles$/
  const routes = world.routes.filter(route => takesBody(route) && names.test(nameOf(route)))
  assert.ok(routes.length > 5, String(routes.length))

  let curators = 0
  async function newCurator() {
    const email = `curator${people}-${++curators}@example.org`
    const { uuid } = await service.addEperson(email, { groups: ['Curators'] })
    return { email, uuid }
  }
  const ofCurator: Readonly<Record<string, (uuid: string) => Promise<void>>> = {
    'the other’s being disabled': uuid =>
      done(
        patchJson(admin, `/api/eperson/epersons/${uuid}`, [
          { op: 'replace', path: '/canLogIn', value: false },
        ]),
      ),
    'the other’s being deleted': uuid => done(admin.delete(`/api/eperson/epersons/${uuid}`)),
    'the other’s leaving the group': uuid =>
      done(admin.delete(`${groupsPath}/${ids.group}/epersons/${uuid}`)),
    'the other’s becoming an administrator': async uuid =>
      done(
        addTo(
          admin,
          `${groupsPath}/${await administrators(admin)}/epersons`,
          `/api/eperson/epersons/${uuid}`,
        ),
      ),
  }
  const all: readonly (readonly [what: string, end: (victim: Victim, curator: string) => Promise<void>])[] = [
    ...Object.entries({ ...endings, ...losses }).map(
      ([what, end]) => [what, (victim: Victim) => end(world, victim)] as const,
    ),
    ...Object.entries(ofCurator).map(
      ([what, end]) => [what, (_: Victim, curator: string) => end(curator)] as const,
    ),
  ]
  for (const [what, end] of all)
    for (const address of placesFor(places)) {
      const [victim, curator] = [await newVictim(world), await newCurator()]
      const headers = { 'x-on-behalf-of': curator.uuid }
      const held = await hold(world, routes, victim.client, { address, headers })
      await end(victim, curator.uuid)
      const before = await changesOf(world, victim.uuid)
      await requireRefused(held, what, () => [401, 403])
      assert.equal(await changesOf(world, victim.uuid), before, what)
    }
})
