import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { assertProblem } from '../../support/clients/answers.ts'
import type { Client } from '../../support/clients/client.ts'
import { addInterfaceWorld, administrator, curator, reader } from '../../support/data/interface-world.ts'
import { addItem, membersOf, titled } from '../../support/data/repository.ts'
import { test } from '../../support/service/engines.ts'
import { baseUrl, startService } from '../../support/service/service.ts'

interface Body {
  readonly id?: string
  readonly uuid?: string
  readonly page?: { readonly size: number; readonly totalElements: number }
  readonly _links: Readonly<Record<string, { readonly href: string } | undefined>>
  readonly _embedded?: Readonly<Record<string, unknown>>
}

async function bodyAt(client: Client, path: string): Promise<Body> {
  const response = await client.get(path)
  const text = await response.text()
  assert.equal(response.status, 200, `${path}: ${text}`)
  return JSON.parse(text) as Body
}

/** Returns the body at an address, null for a 204, or undefined if the caller doesn't receive it. */
async function answerAt(client: Client, path: string): Promise<Body | null | undefined> {
  const response = await client.get(path)
  const text = await response.text()
  if (response.status === 204) return null
  if (response.status === 302) return answerAt(client, pathOf(response.headers.get('location') ?? ''))
  return response.status === 200 ? (JSON.parse(text) as Body) : undefined
}

const pathOf = (href: string) => href.slice(baseUrl.length)
const listIn = (body: unknown): readonly Body[] =>
  Object.values((body as Body)._embedded ?? {})[0] as readonly Body[]

/** Links that are not resources, and are never embedded. */
const notEmbedded = ['content', 'events', 'log', 'self']

async function started(t: TestContext) {
  const service = await startService(t)
  const uuids = await addInterfaceWorld(service)
  const uuid = (name: string) => uuids.get(name) ?? assert.fail(name)
  const closed = await addItem(service, {
    identifier: 'closed',
    metadata: titled('Closed'),
    readers: membersOf('Readers'),
    files: [{ name: 'closed.txt' }],
  })
  const clientFor = async (email?: string) => {
    const client = service.client()
    if (email !== undefined) await client.login(email)
    return client
  }
  return { service, uuid, closed, clientFor }
}

test('S9 what is embedded is what its own address answers to the same caller, and nothing else', async t => {
  const { service, uuid, closed, clientFor } = await started(t)
  const admin = await clientFor(administrator)
  const begun = await admin.post('/api/system/scripts/verify/processes')
  assert.equal(begun.status, 202, await begun.text())
  const limited = service.client()
  const token = await admin.post(
    '/api/authn/tokens',
    JSON.stringify({ name: 'items only', parts: ['items'] }),
    {
      'content-type': 'application/json',
    },
  )
  limited.token = ((await token.json()) as { token: string }).token
  const policy = listIn(
    await bodyAt(admin, `/api/authz/resourcepolicies/search/resource?uuid=${uuid('item')}`),
  )[0]
  const field = listIn(await bodyAt(admin, '/api/core/metadatafields?size=1'))[0]
  const event = listIn(await bodyAt(admin, '/api/system/auditevents?size=1'))[0]
  const rights = listIn(
    await bodyAt(
      admin,
      `/api/authz/authorizations/search/object?uri=${baseUrl}/api/core/items/${closed.uuid}&feature=canDelete`,
    ),
  )[0]
  const resources = [
    `/api/core/items/${uuid('item')}`,
    `/api/core/items/${closed.uuid}`,
    `/api/core/bundles/${uuid('ORIGINAL')}`,
    ...['open.txt', 'restricted.txt', 'embargoed.txt'].map(name => `/api/core/bitstreams/${uuid(name)}`),
    `/api/core/bitstreams/${closed.bitstreams[0]?.uuid}`,
    `/api/eperson/epersons/${uuid(reader)}`,
    `/api/eperson/groups/${uuid('Readers')}`,
    `/api/authz/resourcepolicies/${policy?.id}`,
    `/api/authz/authorizations/${rights?.id}`,
    `/api/core/metadatafields/${field?.id}`,
    `/api/system/auditevents/${event?.id}`,
    '/api/system/processes/1',
    '/api/system/processes/1/output',
  ]
  const callers = [
    admin,
    await clientFor(reader),
    await clientFor(curator),
    await clientFor(),
    limited,
  ] as const
  let embeddedOnce = 0
  for (const path of resources)
    for (const [at, client] of callers.entries()) {
      const plain = await answerAt(client, path)
      if (!plain) continue
      const names = Object.keys(plain._links)
      const body = await bodyAt(client, `${path}?${names.map(name => `embed=${name}`).join('&')}`)
      const { _embedded: embedded = {}, ...rest } = body
      const { _embedded: always = {}, ...expected } = plain
      assert.deepEqual(rest, expected, path)
      for (const name of names.filter(one => !notEmbedded.includes(one) && !(one in always))) {
        const own = await answerAt(client, pathOf(plain._links[name]?.href ?? ''))
        assert.deepEqual(embedded[name], own, `caller ${at}: ${name} of ${path}`)
        if (own) embeddedOnce += 1
      }
      for (const name of notEmbedded) assert.ok(!(name in embedded), `${name} of ${path}`)
    }
  assert.ok(embeddedOnce > 40, `${embeddedOnce} were embedded`)
  // The token is restricted to items, so it can't read authorizations.
  const restricted = await bodyAt(limited, `/api/authz/authorizations/${rights?.id}?embed=object`).catch(
    () => null,
  )
  assert.equal(restricted, null)
})

test('S9 paths, lists, names with commas and sizes are embedded as asked', async t => {
  const { uuid, closed, clientFor } = await started(t)
  const [admin, anonymous] = [await clientFor(administrator), await clientFor()]
  const item = `/api/core/items/${uuid('item')}`
  const deep = await bodyAt(admin, `${item}?embed=bundles/bitstreams/format,thumbnail&embed=bundles/item`)
  const bundles = listIn(deep._embedded?.bundles)
  const files = bundles.flatMap(one => listIn(one._embedded?.bitstreams))
  assert.equal(files.length, 3)
  for (const file of files)
    assert.deepEqual(file._embedded?.format, await bodyAt(admin, pathOf(file._links.format?.href ?? '')))
  for (const one of bundles) assert.equal((one._embedded?.item as Body | undefined)?.uuid, uuid('item'))
  assert.equal(deep._embedded?.thumbnail, null)
  assert.deepEqual(Object.keys(deep._embedded ?? {}).toSorted(), ['bundles', 'thumbnail'])

  const sized = await bodyAt(
    admin,
    `${item}?embed=bundles/bitstreams&embed.size=bundles/bitstreams=2&embed.size=x=5`,
  )
  const [page] = listIn(sized._embedded?.bundles).map(one => one._embedded?.bitstreams as Body)
  assert.deepEqual([page?.page, page && listIn(page).length], [{ ...page?.page, size: 2 }, 2])
  assert.deepEqual(page, await bodyAt(admin, `/api/core/bundles/${uuid('ORIGINAL')}/bitstreams?size=2`))

  // Resources are embedded in each element of a list. Anonymous callers see neither the closed item nor its
  // files.
  for (const [client, expected] of [
    [admin, [closed.uuid, uuid('item')]],
    [anonymous, [uuid('item')]],
  ] as const) {
    const list = await bodyAt(client, '/api/core/items?embed=bundles/bitstreams&embed=owningCollection')
    assert.deepEqual(
      listIn(list)
        .map(one => one.uuid)
        .toSorted(),
      [...expected].toSorted(),
    )
    for (const one of listIn(list)) {
      assert.equal(one._embedded?.owningCollection, null)
      for (const file of listIn(one._embedded?.bundles).flatMap(each => listIn(each._embedded?.bitstreams)))
        assert.equal((await client.get(pathOf(file._links.self?.href ?? ''))).status, 200)
    }
  }
  // Unknown names, and names that are not links, are ignored, because clients send those that they know from
  // other services.
  const odd = await bodyAt(
    anonymous,
    `${item}?embed=nothing&embed=&embed=self&embed=content&embed=__proto__&projection=full`,
  )
  assert.equal(odd._embedded, undefined)
  assert.ok(!('_embedded' in (await bodyAt(anonymous, `/api/discover?embed=search`))))
})

test('S9 what is embedded has bounds', async t => {
  const { service, uuid, clientFor } = await started(t)
  const admin = await clientFor(administrator)
  const item = `/api/core/items/${uuid('item')}`
  const names = Array.from({ length: 51 }, (_, at) => `embed=name${at}`).join('&')
  await assertProblem(await admin.get(`${item}?${names}`), 400, 'bad-parameter')
  await assertProblem(await admin.get(`${item}?embed=bundles&embed.size=bundles=0`), 400, 'bad-parameter')
  const large = await bodyAt(admin, `${item}?embed=bundles&embed.size=bundles=9999`)
  assert.equal((large._embedded?.bundles as Body | undefined)?.page?.size, 100)

  let at: unknown = await bodyAt(
    admin,
    `/api/core/bitstreams/${uuid('open.txt')}?embed=bundle/item/bundles/bitstreams/bundle/item`,
  )
  let depth = 0
  for (const name of ['bundle', 'item', 'bundles', 'bitstreams', 'bundle', 'item']) {
    const next = (at as Body)._embedded?.[name]
    if (next === undefined) break
    depth += 1
    at = (next as Body).page ? listIn(next)[0] : next
  }
  assert.equal(depth, 5)

  // Embedded resources above the size limit are left out; they are available at their own addresses.
  const long = 'x'.repeat(90_000)
  const heavy = { 'dc.description': Array.from({ length: 10 }, () => ({ value: long, language: null })) }
  const files = Array.from({ length: 8 }, (_, number) => ({ name: `${number}.txt` }))
  const { bitstreams } = await addItem(service, {
    identifier: 'heavy',
    metadata: { ...titled('Heavy'), ...heavy },
    files,
  })
  const listed = await bodyAt(admin, `/api/core/bitstreams?size=100&embed=bundle/item`)
  const own = new Set(bitstreams.map(one => one.uuid))
  const items = listIn(listed)
    .filter(one => own.has(one.uuid ?? ''))
    .map(one => (one._embedded?.bundle as Body | undefined)?._embedded?.item)
  assert.deepEqual([items.filter(Boolean).length, items.length], [4, 8])
})

test('S10 the link self of a list has every parameter of the request but embed and the token, as it was sent', async t => {
  const { uuid, clientFor } = await started(t)
  const admin = await clientFor(administrator)
  const site = listIn(await bodyAt(admin, '/api/core/sites'))[0]?._links.self?.href
  const item = `/api/core/items/${uuid('item')}`
  for (const [asked, self] of [
    ['/api/core/items', '/api/core/items'],
    [
      '/api/core/items?page=0&size=5&sort=dc.title%2CASC&embed=thumbnail',
      '/api/core/items?page=0&size=5&sort=dc.title%2CASC',
    ],
    [`${item}/bundles?embed.size=bitstreams=3&size=9999`, `${item}/bundles?size=9999`],
    [`${item}?embed=thumbnail&projection=full`, item],
    ['/api/discover/browses?size=9999', '/api/discover/browses?size=9999'],
    [
      `/api/authz/authorizations/search/object?uri=${site}&feature=administratorOf&embed=feature`,
      `/api/authz/authorizations/search/object?uri=${site}&feature=administratorOf`,
    ],
    [
      '/api/eperson/groups/search/byMetadata?query=a+b&page=0&size=5&sort=x,ASC',
      '/api/eperson/groups/search/byMetadata?query=a+b&page=0&size=5&sort=x,ASC',
    ],
    ['/api/system/processes?sort=startTime,ASC&x=%22', '/api/system/processes?sort=startTime,ASC&x=%22'],
  ] as const)
    assert.equal((await bodyAt(admin, asked))._links.self?.href, `${baseUrl}${self}`)

  const short = await admin.shortLivedToken()
  admin.token = undefined
  const page = await bodyAt(
    admin,
    `/api/core/bitstreams?authentication-token=${short}&size=1&embed=format&sort=a`,
  )
  assert.equal(page._links.self?.href, `${baseUrl}/api/core/bitstreams?size=1&sort=a`)
  // The link to the next page has the same parameters.
  assert.equal(page._links.next?.href, `${baseUrl}/api/core/bitstreams?embed=format&sort=a&page=1&size=1`)
})
