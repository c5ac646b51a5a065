import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { assertProblem, assertUnauthorized } from '../../support/clients/answers.ts'
import type { Client } from '../../support/clients/client.ts'
import { dayIn } from '../../support/data/policies.ts'
import { addItem, everybody, membersOf, titled } from '../../support/data/repository.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { baseUrl, startService } from '../../support/service/service.ts'

const core = `${baseUrl}/api/core`
const nowhere = '00000000-0000-4000-8000-000000000000'

async function started(t: TestContext) {
  const service = await startService(t)
  await service.addEperson('admin@example.org', { admin: true })
  await service.addEperson('ruth@example.org', { groups: ['Readers'] })
  await service.addEperson('max@example.org')
  const clients = {
    admin: service.client(),
    ruth: service.client(),
    max: service.client(),
    nobody: service.client(),
  }
  for (const name of ['admin', 'ruth', 'max'] as const) await clients[name].login(`${name}@example.org`)
  return { service, ...clients }
}

interface Body {
  readonly uuid: string
  readonly name: string
  readonly type: string
  readonly status: string
  readonly embargoDate: string | null
  readonly metadata: Readonly<Record<string, readonly object[]>>
  readonly page: { readonly number: number; readonly size: number; readonly totalElements: number }
  readonly _embedded: Readonly<Record<string, readonly Body[]>>
  readonly _links: Readonly<Record<string, { readonly href: string }>>
}

async function read(client: Client, path: string): Promise<Body> {
  const answer = await client.get(path)
  const text = await answer.text()
  assert.equal(answer.status, 200, `${path} ${text}`)
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
  return JSON.parse(text) as Body
}

const pathOf = (body: Body, link: string) => {
  const href = body._links[link]?.href ?? ''
  assert.ok(href.startsWith(`${core}/`), `${link}: ${href}`)
  return href.slice(baseUrl.length)
}

const namesIn = (page: Body) => (Object.values(page._embedded)[0] ?? []).map(({ name }) => name)
const statusOf = async (client: Client, path: string) => (await client.get(path)).status

/** A public item with a public file, its thumbnail, and a file for a group. */
const thesis = {
  identifier: '123456789/7',
  metadata: {
    'dc.title': [{ value: 'On Rivers', language: 'en' }],
    'dc.contributor.author': [
      { value: 'Berg, Ruth', language: null },
      { value: 'Thal, Max', language: null },
    ],
    'dspace.entity.type': [{ value: 'Publication', language: null }],
  },
  files: [
    { name: 'rivers.pdf', mimeType: 'application/pdf', description: 'The thesis', content: 'pdf' },
    { name: 'data.bin', mimeType: 'Application/X-Own; a=b', readers: membersOf('Readers') },
    { name: 'rivers.pdf.jpg', bundle: 'THUMBNAIL', mimeType: 'image/jpeg' },
    { name: 'license.txt', bundle: 'LICENSE', readers: membersOf('Readers') },
  ],
} as const

test('P4 an item has the shape that clients know, and every link of it leads to an answer', async t => {
  const { service, nobody } = await started(t)
  const item = await addItem(service, thesis)
  const self = `${core}/items/${item.uuid}`
  const body = await read(nobody, `/api/core/items/${item.uuid}`)
  const value = (text: string, place: number, language: string | null) => ({
    value: text,
    language,
    authority: null,
    confidence: -1,
    place,
  })
  const { _links, ...rest } = body
  assert.deepEqual(rest, {
    id: item.uuid,
    uuid: item.uuid,
    name: 'On Rivers',
    handle: '123456789/7',
    metadata: {
      'dc.title': [value('On Rivers', 0, 'en')],
      'dc.contributor.author': [value('Berg, Ruth', 0, null), value('Thal, Max', 1, null)],
      'dspace.entity.type': [value('Publication', 0, null)],
    },
    inArchive: true,
    discoverable: true,
    withdrawn: false,
    lastModified: item.modified,
    entityType: 'Publication',
    type: 'item',
  })
  assert.equal(_links.self?.href, self)
  const empty = ['owningCollection', 'templateItemOf', 'version']
  const full = ['accessStatus', 'bundles', 'identifiers', 'mappedCollections', 'relationships', 'thumbnail']
  assert.deepEqual(Object.keys(_links).toSorted(), [...empty, ...full, 'self'].toSorted())
  for (const name of empty) {
    const answer = await nobody.get(pathOf(body, name))
    assert.deepEqual([answer.status, await answer.text()], [204, ''], name)
  }
  for (const name of full) assert.equal(await statusOf(nobody, pathOf(body, name)), 200, name)
  for (const name of ['mappedCollections', 'relationships'])
    assert.deepEqual((await read(nobody, pathOf(body, name)))._embedded, { [name]: [] })
  assert.equal((await read(nobody, pathOf(body, 'accessStatus'))).status, 'open.access')
  assert.equal((await read(nobody, pathOf(body, 'thumbnail'))).name, 'rivers.pdf.jpg')
  // UUIDs are accepted in upper and lower case, as everywhere.
  assert.equal((await read(nobody, `/api/core/items/${item.uuid.toUpperCase()}`)).uuid, item.uuid)
})

test('P4 the way from a file to its format, its bundle and its item can be gone, and back', async t => {
  const { service, nobody } = await started(t)
  const item = await addItem(service, thesis)
  const { uuid, sha256 } = item.files.get('rivers.pdf') ?? assert.fail('the file is there')
  const body = await read(nobody, `/api/core/bitstreams/${uuid}`)
  const { _links, metadata, ...rest } = body
  assert.deepEqual(rest, {
    id: uuid,
    uuid,
    name: 'rivers.pdf',
    handle: null,
    bundleName: 'ORIGINAL',
    sizeBytes: 3,
    checkSum: { checkSumAlgorithm: 'SHA-256', value: sha256 },
    sequenceId: null,
    type: 'bitstream',
  })
  assert.deepEqual(Object.keys(metadata), ['dc.title', 'dc.description'])
  assert.equal(_links.content?.href, `${core}/bitstreams/${uuid}/content`)
  assert.equal(_links.self?.href, `${core}/bitstreams/${uuid}`)
  assert.equal((await read(nobody, pathOf(body, 'thumbnail'))).name, 'rivers.pdf.jpg')
  assert.equal((await read(nobody, pathOf(body, 'accessStatus'))).status, 'open.access')

  const format = await read(nobody, pathOf(body, 'format'))
  const { _links: formatLinks, ...pdf } = format
  assert.deepEqual(pdf, {
    id: 'application~pdf',
    shortDescription: 'Adobe PDF',
    description: 'Adobe PDF',
    mimetype: 'application/pdf',
    supportLevel: 'KNOWN',
    internal: false,
    extensions: ['pdf'],
    type: 'bitstreamformat',
  })
  assert.ok(formatLinks.self)
  assert.deepEqual(await read(nobody, pathOf(format, 'self')), format)

  const bundle = await read(nobody, pathOf(body, 'bundle'))
  assert.deepEqual([bundle.type, bundle.name], ['bundle', 'ORIGINAL'])
  assert.match(bundle.uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  assert.deepEqual(await read(nobody, pathOf(bundle, 'self')), bundle)
  assert.equal((await read(nobody, pathOf(bundle, 'item'))).uuid, item.uuid)
  assert.equal(await statusOf(nobody, pathOf(bundle, 'primaryBitstream')), 204)

  const above = await read(nobody, `/api/core/items/${item.uuid}`)
  const bundles = await read(nobody, pathOf(above, 'bundles'))
  assert.deepEqual(namesIn(bundles), ['ORIGINAL', 'THUMBNAIL', 'LICENSE'])
  assert.deepEqual(bundles._embedded.bundles?.[0], bundle)
})

test('P4 a bundle is found by its uuid for as long as the item has files in it, whatever it is called', async t => {
  const { service, nobody } = await started(t)
  const files = [
    { name: 'a', bundle: 'ünd/so weiter' },
    { name: 'b', bundle: 'ünd/so weiter' },
  ]
  const item = await addItem(service, { identifier: 'x/1', files })
  const path = async () => {
    const page = await read(nobody, `/api/core/items/${item.uuid}/bundles`)
    return pathOf(page._embedded.bundles?.[0] ?? assert.fail('there is a bundle'), 'bitstreams')
  }
  const before = await path()
  assert.deepEqual(namesIn(await read(nobody, before)), ['a', 'b'])
  await addItem(service, { identifier: 'x/1', files: [...files, { name: 'c', bundle: 'ünd/so weiter' }] })
  assert.equal(await path(), before)
  assert.deepEqual(namesIn(await read(nobody, before)), ['a', 'b', 'c'])

  await addItem(service, { identifier: 'x/1', files: files.slice(1) })
  assert.deepEqual(namesIn(await read(nobody, before)), ['b'])
  await addItem(service, { identifier: 'x/1', files: [{ name: 'd', bundle: 'LICENSE' }] })
  assert.equal(await statusOf(nobody, before), 404)
})

test('Q11 unknown is 404; who may not read is 401 as a stranger and 403 as anybody else', async t => {
  const { service, admin, ruth, max, nobody } = await started(t)
  const closed = await addItem(service, {
    identifier: 'closed/1',
    readers: membersOf('Readers'),
    files: [{ name: 'file.txt' }, { name: 'open.txt', bundle: 'OPEN', readers: everybody }],
  })
  const file = closed.files.get('file.txt')?.uuid
  const open = closed.files.get('open.txt')?.uuid
  const bundle = pathOf(await read(admin, `/api/core/bitstreams/${file}/bundle`), 'self')
  const below = (path: string, names: readonly string[]) => [path, ...names.map(name => `${path}/${name}`)]
  const closedPaths = [
    ...below(`/api/core/items/${closed.uuid}`, [
      'accessStatus',
      'bundles',
      'identifiers',
      'mappedCollections',
      'owningCollection',
      'relationships',
      'templateItemOf',
      'thumbnail',
      'version',
    ]),
    ...below(`/api/core/bitstreams/${file}`, ['accessStatus', 'bundle', 'format', 'thumbnail']),
    ...below(bundle, ['bitstreams', 'item', 'primaryBitstream']),
  ]
  for (const path of closedPaths) {
    for (const client of [admin, ruth]) assert.ok([200, 204].includes(await statusOf(client, path)), path)
    await assertProblem(await max.get(path), 403, 'access-denied')
    await assertUnauthorized(await nobody.get(path))
    const unknown = path.replace(/[0-9a-f-]{36}/, nowhere)
    for (const client of [admin, nobody]) await assertProblem(await client.get(unknown), 404, 'not-found')
  }

  // A public file in a restricted item leads to its bundle, and no further.
  const openBundle = await read(nobody, `/api/core/bitstreams/${open}/bundle`)
  assert.deepEqual(namesIn(await read(nobody, pathOf(openBundle, 'bitstreams'))), ['open.txt'])
  await assertUnauthorized(await nobody.get(pathOf(openBundle, 'item')))
})

test('Q11 lists show what the caller may read, and count nothing else', async t => {
  const { service, admin, ruth, max, nobody } = await started(t)
  const item = await addItem(service, thesis)
  await addItem(service, {
    identifier: 'closed/1',
    readers: membersOf('Readers'),
    metadata: titled('Closed'),
  })
  await addItem(service, { identifier: 'nobody/1', readers: [], metadata: titled('Nobody’s') })
  const seen = async (client: Client, path: string) => {
    const page = await read(client, path)
    assert.equal(page.page.totalElements, namesIn(page).length)
    return namesIn(page).toSorted()
  }
  for (const [client, titles, files] of [
    [nobody, ['On Rivers'], ['rivers.pdf', 'rivers.pdf.jpg']],
    [max, ['On Rivers'], ['rivers.pdf', 'rivers.pdf.jpg']],
    [ruth, ['Closed', 'On Rivers'], ['data.bin', 'license.txt', 'rivers.pdf', 'rivers.pdf.jpg']],
    [admin, ['Closed', 'Nobody’s', 'On Rivers'], ['data.bin', 'license.txt', 'rivers.pdf', 'rivers.pdf.jpg']],
  ] as const) {
    assert.deepEqual(await seen(client, '/api/core/items'), titles)
    assert.deepEqual(await seen(client, '/api/core/bitstreams'), files)
    const bundles = await read(client, `/api/core/items/${item.uuid}/bundles`)
    const inBundles = []
    for (const bundle of bundles._embedded.bundles ?? [])
      inBundles.push(...(await seen(client, pathOf(bundle, 'bitstreams'))))
    assert.deepEqual(inBundles.toSorted(), files)
  }
  // A list shows an item or a file with the same body as its own address.
  for (const path of ['/api/core/items', '/api/core/bitstreams'])
    for (const one of Object.values((await read(ruth, path))._embedded)[0] ?? [])
      assert.deepEqual(await read(ruth, pathOf(one, 'self')), one)
})

test('P4 a list is read page by page, along next, to its end', async t => {
  const { service, nobody } = await started(t)
  for (let number = 1; number <= 5; number++)
    await addItem(service, { identifier: `x/${number}`, metadata: titled(`Title ${number}`) })
  const titles: string[] = []
  let path: string | undefined = '/api/core/items?size=2&embed=thumbnail'
  for (let pages = 0; path !== undefined; pages++) {
    assert.ok(pages < 3)
    const page = await read(nobody, path)
    assert.deepEqual(page.page, { number: pages, size: 2, totalPages: 3, totalElements: 5 })
    titles.push(...namesIn(page))
    const next: string | undefined = page._links.next?.href
    assert.equal(page._links.prev === undefined, pages === 0)
    path = next?.slice(baseUrl.length)
  }
  assert.deepEqual(
    titles.toSorted(),
    [1, 2, 3, 4, 5].map(number => `Title ${number}`),
  )

  const whole = await read(nobody, '/api/core/items')
  assert.deepEqual(Object.keys(whole._links), ['self'])
  const past = await read(nobody, '/api/core/items?page=9007199254740991&size=1000')
  assert.deepEqual([past._embedded.items, past.page.totalElements], [[], 5])
  // DSpace's interface asks for 9999 elements if it wants all.
  for (const [list, most] of [
    ['items', 100],
    ['bitstreams', 100],
    ['bitstreamformats', 1000],
  ] as const)
    assert.equal((await read(nobody, `/api/core/${list}?size=9999`)).page.size, most)
  for (const query of ['page=-1', 'page=x', 'size=0', 'size=', 'size=1.5', 'page=0&page=1'])
    for (const list of ['items', 'bitstreams', 'bitstreamformats'])
      await assertProblem(await nobody.get(`/api/core/${list}?${query}`), 400, 'bad-parameter')
})

test('Q11 an embargo opens an item and a file on its day, and closes them after the last', async t => {
  const { service, nobody, ruth } = await started(t)
  const during = (from: number | null, until: number | null) => [
    {
      reader: 'anonymous',
      ...(from === null ? {} : { from: dayIn(from) }),
      ...(until === null ? {} : { until: dayIn(until) }),
    } as const,
  ]
  for (const [number, [rules, status, expected]] of (
    [
      [during(1, null), 401, 'embargo'],
      [during(0, null), 200, 'open.access'],
      [during(null, 0), 200, 'open.access'],
      [during(null, -1), 401, 'restricted'],
      [during(-1, 1), 200, 'open.access'],
      [membersOf('Readers'), 401, 'restricted'],
    ] as const
  ).entries()) {
    const item = await addItem(service, {
      identifier: `day/${number}`,
      files: [{ name: 'file.txt', readers: rules }],
    })
    const path = `/api/core/bitstreams/${item.files.get('file.txt')?.uuid}`
    assert.equal(await statusOf(nobody, path), status, JSON.stringify(rules))
    assert.equal(await statusOf(ruth, path), rules[0]?.reader !== 'anonymous' || status === 200 ? 200 : 403)
    const access = await read(nobody, `/api/core/items/${item.uuid}/accessStatus`)
    assert.equal(access.status, expected)
    assert.equal(access.embargoDate, expected === 'embargo' ? dayIn(1) : null)
    const whole = await addItem(service, { identifier: `whole/${number}`, readers: rules })
    assert.equal(await statusOf(nobody, `/api/core/items/${whole.uuid}`), status)
  }
  const bare = await addItem(service, { identifier: 'bare/1' })
  assert.equal((await read(nobody, `/api/core/items/${bare.uuid}/accessStatus`)).status, 'metadata.only')
})

test('E2 what is no uuid is 404, never a 5xx', async t => {
  const { service, admin, nobody } = await started(t)
  const { uuid } = await addItem(service, thesis)
  const hostile = [
    'x',
    "'; DROP TABLE items--",
    '%00',
    '%F0%9F%92%A9',
    '..%2F..%2Fetc',
    `${uuid}x`,
    `${uuid}%20`,
    `{${uuid}}`,
    uuid.replaceAll('-', ''),
    '0'.repeat(5_000),
    'constructor',
    '__proto__',
  ]
  for (const name of hostile)
    for (const list of ['items', 'bundles', 'bitstreams', 'bitstreamformats'])
      for (const client of [admin, nobody])
        await assertProblem(await client.get(`/api/core/${list}/${name}`), 404, 'not-found')
  // An item's UUID is not accepted for a file, and vice versa.
  for (const list of ['bundles', 'bitstreams'])
    assert.equal(await statusOf(admin, `/api/core/${list}/${uuid}`), 404)
})

testOn('sqlite', 'Q8 HEAD answers the headers of GET, other methods are 405 with Allow', async t => {
  const { service, nobody } = await started(t)
  const item = await addItem(service, thesis)
  const file = item.files.get('rivers.pdf')?.uuid
  const bundle = pathOf(await read(nobody, `/api/core/bitstreams/${file}/bundle`), 'self')
  for (const path of [
    '/api/core/items',
    `/api/core/items/${item.uuid}`,
    `/api/core/items/${item.uuid}/version`,
    '/api/core/bitstreams',
    `/api/core/bitstreams/${file}/format`,
    `${bundle}/bitstreams`,
    '/api/core/bitstreamformats/image~png',
  ]) {
    const [head, get] = [await nobody.request(path, { method: 'HEAD' }), await nobody.get(path)]
    assert.equal(head.status, get.status, path)
    if (get.status === 200)
      assert.equal(head.headers.get('content-length'), get.headers.get('content-length'), path)
    assert.equal(head.headers.get('content-type'), get.headers.get('content-type'))
    const answer = await nobody.request(path, { method: 'OPTIONS' })
    assert.match(answer.headers.get('allow') ?? '', /^GET, HEAD/, path)
    await assertProblem(answer, 405, 'method-not-allowed')
  }
})

testOn('sqlite', 'P4 a media type that has no name of its own is a format as well', async t => {
  const { service, ruth, nobody } = await started(t)
  const item = await addItem(service, thesis)
  const own = await read(ruth, `/api/core/bitstreams/${item.files.get('data.bin')?.uuid}/format`)
  assert.deepEqual(await read(nobody, pathOf(own, 'self')), own)
  const { _links, ...format } = own
  assert.deepEqual(format, {
    id: 'application~x-own',
    shortDescription: 'application/x-own',
    description: 'application/x-own',
    mimetype: 'application/x-own',
    supportLevel: 'UNKNOWN',
    internal: false,
    extensions: [],
    type: 'bitstreamformat',
  })
  const page = await read(nobody, '/api/core/bitstreamformats?size=100')
  for (const one of page._embedded.bitstreamformats ?? [])
    assert.deepEqual(await read(nobody, pathOf(one, 'self')), one)
})
