import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type Administrator, administrator } from '../../support/clients/administrator.ts'
import { list, listPath } from '../../support/clients/listings.ts'
import { changesOf, eventsOf } from '../../support/data/events.ts'
import { putRecord } from '../../support/data/record-writes.ts'
import { test } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { type Service, startService } from '../../support/service/service.ts'

async function started(t: TestContext): Promise<{ service: Service; root: Administrator }> {
  const service = await startService(t, { env: { CARREL_LOGIN_ON_BEHALF_OF: 'true' } })
  await service.addRecords('artists', 'id', [{ id: 1, name: 'Ruth', born: 1900 }])
  await service.addRecords('artworks', 'id', [{ id: 7, artist_id: 1, state: 'shown' }])
  return { service, root: await administrator(service) }
}

const artworks = (root: Administrator) => root.send('GET', '/artworks')

test('EA1 an administrator reads all there is to know of every entity, page by page, as the command says it', async t => {
  const { service, root } = await started(t)
  await carrel(service.dataFolder, ['entity', 'relate', 'artworks.artist_id', 'artists.id'])
  await carrel(service.dataFolder, ['entity', 'default', 'artworks', '["=","state","shown"]'])
  const { status, body } = await artworks(root)
  assert.equal(status, 200)
  const { imported, bytes, _links: links, ...rest } = body
  assert.match(imported, /^\d{4}-\d\d-\d\dT/)
  assert.equal(bytes, JSON.stringify({ id: 7, artist_id: 1, state: 'shown' }).length)
  const relation = { fields: ['artist_id'], to: { entity: 'artists', fields: ['id'] } }
  assert.deepEqual(rest, {
    name: 'artworks',
    source: 'imported',
    description: null,
    read: 'anonymous',
    key: 'id',
    fields: [
      { name: 'id', type: 'integer', nullable: false },
      { name: 'artist_id', type: 'integer', nullable: false },
      { name: 'state', type: 'text', nullable: false },
    ],
    records: 1,
    write: null,
    table: null,
    relations: [relation],
    related: [relation],
    suggested: [],
    defaultCondition: ['=', 'state', 'shown'],
  })
  assert.equal(links.self.href, 'http://repo.example.edu/api/admin/entities/artworks')

  const names: string[] = []
  for (let page = 0; ; page++) {
    const part = await root.send('GET', `?page=${page}&size=3`)
    assert.equal(part.status, 200)
    names.push(...part.body._embedded.entities.map((one: { name: string }) => one.name))
    if (part.body._links.next === undefined) break
  }
  const { stdout } = await carrel(service.dataFolder, ['entity', 'list', '--json'])
  const listed = (JSON.parse(stdout) as { name: string }[]).map(one => one.name)
  assert.deepEqual(names, listed.toSorted())
  const { body: builtIn } = await root.send('GET', '/epersons')
  assert.equal(builtIn.source, 'built-in')
  assert.equal(builtIn.records, null)
})

test('EA2 Q12 an entity that is new has its fields, key and rule before any record, and 201 says where it is', async t => {
  const { service, root } = await started(t)
  const made = await root.send('PUT', '/letters', {
    key: ['box', 'number'],
    fields: [
      { name: 'box', type: 'text' },
      { name: 'number', type: 'integer' },
      { name: 'writer', collation: 'sv' },
      'artist_id',
    ],
    read: 'anonymous',
    description: 'Letters that came in boxes.',
    relations: [{ fields: ['writer'], to: { entity: 'artists', fields: ['name'] } }],
    defaultCondition: ['=', 'box', 'A'],
  })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  assert.equal(made.headers.get('location'), 'http://repo.example.edu/api/admin/entities/letters')
  assert.deepEqual(made.body.key, ['box', 'number'])
  assert.equal(made.body.records, 0)
  assert.deepEqual(made.body.fields[2], { name: 'writer', type: 'text', nullable: false, collation: 'sv' })
  assert.deepEqual(await list(service.client(), 'letters'), [])
  const shown = (await (await service.client().get('/api/query/v4')).json()) as {
    readonly name: string
    readonly description?: string
  }[]
  const descriptionOf = (name: string) => shown.find(one => one.name === name)?.description
  assert.equal(descriptionOf('letters'), 'Letters that came in boxes.')
  assert.equal(descriptionOf('bitstreams'), undefined)
  assert.equal(made.headers.get('etag'), (await root.send('GET', '/letters')).headers.get('etag'))

  // A response can be sent back unchanged. Members that a PUT leaves out get the defaults of a new entity.
  assert.equal((await root.send('PUT', '/letters', made.body)).status, 200)
  const bare = await root.send('PUT', '/letters', {})
  assert.equal(bare.status, 200)
  const { read, description, relations, defaultCondition, key } = bare.body
  assert.deepEqual(
    { read, description, relations, defaultCondition, key },
    { read: 'admin', description: null, relations: [], defaultCondition: null, key: ['box', 'number'] },
  )
  assert.equal((await service.client().get(listPath('letters'))).status, 401)
})

test('EA3 a PATCH changes what it names and nothing else, at once for everybody, in one event', async t => {
  const { service, root } = await started(t)
  const other = await startService(t, { dataFolder: service.dataFolder })
  const patched = await root.send(
    'PATCH',
    '/artworks',
    {
      description: 'Works\nof art',
      read: 'eperson',
      relations: [{ fields: ['artist_id'], to: { entity: 'artists', fields: ['id'] } }],
      defaultCondition: '["=", "state", "shown"]',
    },
    { 'content-type': 'application/merge-patch+json' },
  )
  assert.equal(patched.status, 200, JSON.stringify(patched.body))
  for (const node of [service, other])
    assert.equal((await node.client().get(listPath('artworks'))).status, 401)
  const again = await root.send('PATCH', '/artworks', { description: null, defaultCondition: null })
  assert.deepEqual(
    [again.body.description, again.body.defaultCondition, again.body.read, again.body.relations.length],
    [null, null, 'eperson', 1],
  )
  // A request that changes nothing records no event.
  assert.equal((await root.send('PATCH', '/artworks', { read: 'eperson' })).status, 200)
  assert.equal((await root.send('PATCH', '/artworks', {})).status, 200)
  const event = {
    outcome: 'success',
    eperson: root.uuid,
    actor: root.uuid,
    client_ip: '127.0.0.1',
    method: 'password',
    object: 'artworks',
    reason: null,
  }
  const events = await eventsOf(root.client, 'entity.change')
  assert.deepEqual(
    events.map(one =>
      Object.fromEntries(Object.keys(event).map(name => [name, one[name as keyof typeof one]])),
    ),
    [event, event],
  )
  // Another import keeps all declarations.
  await service.addRecords('artworks', 'id', [{ id: 8, artist_id: 1, state: 'lent' }], 'eperson')
  assert.equal((await artworks(root)).body.relations.length, 1)
})

test('EA3 other collations write the records again, as a process', async t => {
  const { service, root } = await started(t)
  await service.addRecords('names', 'name', [{ name: 'Zorn' }, { name: 'Ängel' }, { name: 'Anna', age: 3 }])
  const order = async () =>
    (await list<{ name: string }>(service.client(), 'names?order_by=%5B%7B%22field%22:%22name%22%7D%5D')).map(
      ({ name }) => name,
    )
  assert.deepEqual(await order(), ['Anna', 'Zorn', 'Ängel'])
  const process = await root.ended(await root.send('PATCH', '/names', { collations: { name: 'de' } }))
  assert.equal(process.state, 'completed', process.fault ?? '')
  assert.deepEqual(await order(), ['Ängel', 'Anna', 'Zorn'])
  assert.equal((await root.send('PATCH', '/names', { collations: { name: 'de' } })).status, 200)
  const back = await root.ended(await root.send('PATCH', '/names', { collations: { name: null } }))
  assert.equal(back.state, 'completed')
  assert.deepEqual(await order(), ['Anna', 'Zorn', 'Ängel'])
  for (const [body, member] of [
    [{ collations: { nam: 'sv' } }, '/collations/nam'],
    [{ collations: { age: 'sv' } }, '/collations/age'],
    [{ collations: { name: 'xx-nowhere' } }, '/collations/name'],
    [{ collations: { name: 3 } }, '/collations/name'],
    [{ collations: [] }, '/collations'],
    [{ collations: { name: 'sv' }, read: 'admin' }, '/collations'],
  ] as const) {
    const { status, body: problem } = await root.send('PATCH', '/names', body)
    assert.deepEqual([status, problem.member], [422, member], JSON.stringify(problem))
  }
})

test('EA4 If-Match: a change is made to what its author saw, or not at all; records don’t matter', async t => {
  const { service, root } = await started(t)
  const tag = (await artworks(root)).headers.get('etag') ?? ''
  assert.match(tag, /^"[\w-]{22}"$/)
  await service.addRecords('artworks', 'id', [{ id: 9, artist_id: 1, state: 'lent' }])
  const first = await root.send('PATCH', '/artworks', { read: 'eperson' }, { 'if-match': tag })
  assert.equal(first.status, 200)
  for (const [method, body] of [
    ['PATCH', { read: 'admin' }],
    ['PUT', {}],
    ['DELETE', undefined],
  ] as const) {
    const late = await root.send(method, '/artworks', body, { 'if-match': tag })
    assert.deepEqual([late.status, late.body.code], [412, 'precondition-failed'], method)
  }
  const taken = await root.send('PUT', '/artworks', {}, { 'if-none-match': '*' })
  assert.equal(taken.status, 412)
  const nothing = await root.send('PUT', '/nothing', { key: 'id', fields: ['id'] }, { 'if-match': '*' })
  assert.equal(nothing.status, 412)
  assert.equal((await artworks(root)).body.read, 'eperson')
  const now = first.headers.get('etag') ?? ''
  assert.equal((await root.send('DELETE', '/artworks', undefined, { 'if-match': now })).status, 204)
  assert.equal((await artworks(root)).status, 404)
})

test('EA4 of many that change or make the same at once, each change is whole, and one of those with the tag wins', async t => {
  const { root } = await started(t)
  const tag = (await artworks(root)).headers.get('etag') ?? ''
  const texts = Array.from({ length: 12 }, (_, n) => `text ${n}`)
  const matched = await Promise.all(
    texts.map(description => root.send('PATCH', '/artworks', { description }, { 'if-match': tag })),
  )
  assert.deepEqual(
    matched.map(({ status }) => status).toSorted((one, other) => one - other),
    [200, ...Array(11).fill(412)],
  )
  const rules = ['anonymous', 'eperson', 'admin']
  const free = await Promise.all([
    ...texts.map(description => root.send('PATCH', '/artworks', { description })),
    ...rules.map(read => root.send('PATCH', '/artworks', { read })),
  ])
  for (const { status, body } of free) assert.ok(status === 200 || status === 503, JSON.stringify(body))
  assert.ok(texts.includes((await artworks(root)).body.description))

  const body = { key: 'id', fields: ['id'] }
  const made = await Promise.all(texts.map(() => root.send('PUT', '/fresh', body, { 'if-none-match': '*' })))
  assert.deepEqual(
    made.map(({ status }) => status).toSorted((one, other) => one - other),
    [201, ...Array(11).fill(412)],
  )
})

test('EA2 an entity that is made again never loses the records that came meanwhile', async t => {
  const { service, root } = await started(t)
  const body = { key: 'id', fields: [{ name: 'id', type: 'integer' }], read: 'anonymous' }
  for (let round = 0; round < 5; round++) {
    await root.send('DELETE', '/raced')
    const [put] = await Promise.all([
      root.send('PUT', '/raced', body),
      service.addRecords('raced', 'id', [{ id: round }]),
    ])
    assert.ok([200, 201, 412].includes(put.status), JSON.stringify(put.body))
    assert.deepEqual(await list(service.client(), 'raced'), [{ id: round }])
  }
})

test('EA2 built-in entities, taken names and names that can’t be are refused, and nothing is made', async t => {
  const { service, root } = await started(t)
  const body = { key: 'id', fields: ['id'] }
  for (const method of ['PUT', 'PATCH', 'DELETE'])
    for (const name of ['epersons', 'audit-events']) {
      const { status, body: problem } = await root.send(
        method,
        `/${name}`,
        method === 'DELETE' ? undefined : {},
      )
      assert.deepEqual([status, problem.code], [409, 'entity-conflict'], `${method} ${name}`)
    }
  for (const name of ['A', '1a', 'a.b', 'a%20b', '%2e%2e%2fx', 'a'.repeat(64), '__proto__', 'é', '%00', '-'])
    for (const answer of [
      await root.send('PUT', `/${name}`, body),
      await root.post(`/${name}/import?key=id`, '[]'),
    ]) {
      assert.equal(answer.status, 422, `${name}: ${JSON.stringify(answer.body)}`)
      assert.equal(answer.body.code, 'entity-refused')
    }
  for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
    const answer = await root.send(method, '/artwork', method === 'PATCH' ? {} : undefined)
    assert.deepEqual(
      [answer.status, answer.body.code, answer.body.nearest],
      [404, 'unknown-entity', 'artworks'],
    )
  }
  for (const name of ['constructor', '__proto__', 'toString'])
    assert.equal((await root.send('GET', `/${name}`)).status, 404)
  assert.equal((await root.send('GET', '?sort=name')).status, 400)
  assert.equal((await root.send('GET', '/artists?x=1')).status, 400)
  assert.deepEqual(
    [...(await service.storage.entities.all()).values()].filter(({ source }) => source.kind !== 'table')
      .length,
    2,
  )
})

test('EA8 what changed is in the audit trail, before and after', async t => {
  const { root } = await started(t)
  await root.send('PATCH', '/artists', { read: 'eperson', description: 'People' })
  await root.send('DELETE', '/artists')
  assert.deepEqual(await changesOf(root.client, 'entity.change'), [
    {
      before: { read: 'anonymous', description: null },
      after: { read: 'eperson', description: 'People' },
    },
  ])
  const [dropped] = await changesOf(root.client, 'entity.drop')
  assert.equal(dropped?.after, null)
  assert.deepEqual(dropped?.before, {
    ...{
      read: 'eperson',
      key: 'id',
      fields: ['id', 'name', 'born'],
      records: 1,
      table: null,
      collations: {},
    },
    ...{ relations: [], defaultCondition: null, description: 'People', write: null },
  })
})

test('EA3 other collations keep records that were written one by one, before and meanwhile', async t => {
  const { service, root } = await started(t)
  await service.addRecords('names', 'name', [{ name: 'Zorn' }, { name: 'Anna' }])
  await root.send('PATCH', '/names', { write: 'admin' })
  await putRecord(root.client, 'names', 'Ängel', { name: 'Ängel' })
  const begun = await root.send('PATCH', '/names', { collations: { name: 'de' } })
  let written = 0
  const process = root.ended(begun)
  const writing = (async () => {
    for (; written < 20; written++)
      await putRecord(root.client, 'names', `Ä${written}`, { name: `Ä${written}` })
  })()
  assert.equal((await process).state, 'completed')
  await writing
  await putRecord(root.client, 'names', 'Öl', { name: 'Öl' })
  const order = '%5B%7B%22field%22:%22name%22%7D%5D'
  const names = (await list<{ name: string }>(root.client, `names?order_by=${order}`)).map(({ name }) => name)
  const all = ['Zorn', 'Anna', 'Ängel', 'Öl', ...Array.from({ length: 20 }, (_, n) => `Ä${n}`)]
  assert.deepEqual(
    names,
    all.toSorted((one, other) => new Intl.Collator('de').compare(one, other)),
  )
})

test('EA3 numbers in a default condition keep their digits, whichever way it is sent', async t => {
  const service = await startService(t)
  const root = await administrator(service)
  await service.addRecords('stars', 'id', [{ id: 1 }])
  const condition = '["<=","id",9007199254740993]'
  for (const body of [
    `{"defaultCondition":${condition}}`,
    JSON.stringify({ defaultCondition: condition }),
    JSON.stringify({ defaultCondition: 'id <= 9007199254740993' }),
  ]) {
    await root.send('PATCH', '/stars', { defaultCondition: null })
    assert.equal((await root.send('PATCH', '/stars', body)).status, 200)
    const shown = await (await root.client.get('/api/admin/entities/stars')).text()
    assert.ok(shown.includes(`"defaultCondition":${condition}`), shown)
  }
})
