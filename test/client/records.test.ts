import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { createClient, type Instant, type Json } from '../../packages/client/src/index.ts'
import { commandEvent } from '../../src/cli/store.ts'
import { root, ruth, startClientWorld } from '../support/clients/carrel-client.ts'
import { addItem } from '../support/data/repository.ts'
import { atEnd } from '../support/service/at-end.ts'
import { test } from '../support/service/engines.ts'
import { passwordOf } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

interface Artwork {
  readonly id: number
  readonly title: string
  readonly year: number | null
  readonly shown: boolean
  readonly acquired: Instant
  readonly notes: Json
}

interface Museum {
  readonly artworks: Artwork
  readonly rooms: { readonly floor: number; readonly name: string; readonly artwork: number }
}

const count = 1_000

const artworks: readonly Artwork[] = Array.from({ length: count }, (_, id) => ({
  id,
  title: id % 2 === 0 ? `Light ${id}` : `Dark ${id}`,
  year: id % 10 === 0 ? null : 1800 + (id % 10),
  shown: id % 3 === 0,
  acquired: new Date(Date.UTC(1990 + (id % 30), 0, 1)).toISOString(),
  notes: { tags: [`t${id % 4}`] },
}))

async function started(t: TestContext) {
  const world = await startClientWorld(t)
  await world.service.addRecords('artworks', 'id', artworks, 'eperson')
  const rooms = [
    { floor: 1, name: 'a,b', artwork: 3 },
    { floor: 1, name: 'c\\d', artwork: 3 },
    { floor: 2, name: 'a,b', artwork: 4 },
  ]
  await world.service.addRecords('rooms', ['floor', 'name'], rooms, 'eperson')
  await world.service.storage.entities.changeWriteRule('artworks', 'eperson', commandEvent('entity.writers'))
  const client = createClient<Museum>(world.line.address)
  atEnd(t, () => client.close())
  await client.login(ruth, passwordOf(ruth))
  return { ...world, client, entity: client.entity('artworks') }
}

const ids = (records: readonly { readonly id: number }[]) => records.map(({ id }) => id)

test('CL4 records are asked for by condition and order, and counted', async t => {
  const { entity } = await started(t)
  const light = entity.query({
    where: ['and', ['~', 'title', '^Light'], ['=', 'shown', true], ['null?', 'year', false]],
    orderBy: [['year', 'desc'], 'title'],
  })
  const expected = artworks.filter(one => one.title.startsWith('Light') && one.shown && one.year !== null)
  assert.equal(await light.total(), expected.length)
  const all = await light.all()
  assert.deepEqual(new Set(ids(all)), new Set(ids(expected)))
  assert.deepEqual(
    all.map(one => one.year),
    expected.map(one => one.year).toSorted((a, b) => Number(b) - Number(a)),
  )
  const { records, total, offset } = await light.page({ limit: 3, offset: 5, total: true })
  assert.deepEqual([records, total, offset], [all.slice(5, 8), expected.length, 5])
  assert.deepEqual(await light.first(), all[0])
  assert.equal(await entity.query({ where: ['=', 'id', -1] }).first(), undefined)
})

test('CL4 buckets, percentiles, samples, lengths and other fields are asked for as the types say', async t => {
  const { entity } = await started(t)
  const ofYear = ['function', 'bucket', 'year', 5] as const
  const halves = entity.query({
    select: [ofYear, ['function', 'count']],
    groupBy: [ofYear],
    orderBy: ['year'],
  })
  assert.deepEqual(await halves.all(), [
    { year: 1800, count: 400 },
    { year: 1805, count: 500 },
    { year: null, count: 100 },
  ])
  const ofTime = ['function', 'bucket', 'acquired', 'year'] as const
  const filled = entity.query({
    where: ['in', ofTime, ['array', ['1990-01-01T00:00:00.000Z', '1992-01-01T00:00:00.000Z']]],
    select: [ofTime, ['function', 'median', 'id'], ['function', 'percentile', 'id', 100]],
    groupBy: [ofTime],
    orderBy: [['acquired', 'asc']],
    withEmpty: true,
  })
  assert.deepEqual(await filled.all(), [
    { acquired: '1990-01-01T00:00:00.000Z', median: 495, percentile: 990 },
    { acquired: '1991-01-01T00:00:00.000Z', median: null, percentile: null },
    { acquired: '1992-01-01T00:00:00.000Z', median: 497, percentile: 992 },
  ])
  const some = entity.query({ where: ['=', 'shown', true], sample: { size: 20, seed: 7 }, orderBy: ['id'] })
  const sampled = await some.all()
  assert.equal(await some.total(), 20)
  assert.ok(sampled.every(({ shown }) => shown))
  assert.deepEqual((await some.page({ limit: 5, offset: 10 })).records, sampled.slice(10, 15))
  assert.equal(await entity.query({ sample: { size: 2_000 } }).total(), count)
  const [tags] = await entity
    .query({
      where: [
        'and',
        ['=', ['function', 'length', 'notes.tags'], 1],
        ['>', ['field', 'id'], ['field', 'year']],
      ],
      select: ['notes.tags[*]', ['function', 'length', 'notes.tags']],
    })
    .all()
  assert.equal(tags, undefined)
  const [first] = await entity
    .query({
      where: ['<', ['field', 'id'], ['field', 'year']],
      select: ['notes.tags[*]', ['function', 'length', 'notes.tags']],
      orderBy: ['id'],
    })
    .all()
  assert.deepEqual(first, { 'notes.tags[*]': ['t1'], length: 1 })
  const all: readonly Json[] | null | undefined = first?.['notes.tags[*]']
  assert.ok(all)
})

test('CL4 each operator finds what it says', async t => {
  const { client, entity } = await started(t)
  const found = async (where: Parameters<typeof entity.query>[0]) =>
    ids(await entity.query(where).all()).length
  const many = Array.from({ length: 5_000 }, (_, n) => n)
  assert.deepEqual(
    [
      await found({ where: ['in', 'id', ['array', [1, 2, 5_000]]] }),
      await found({ where: ['>=', 'acquired', '2019'] }),
      await found({ where: ['match', '*', 'dark 7*'] }),
      await found({ where: ['~>', 'notes.tags', ['^t1$']] }),
      await found({ where: ['=', 'notes.tags[0]', 't2'] }),
      await found({ where: ['not', ['or', ['<', 'id', 10], ['>', 'id', 19]]] }),
      await found({ where: ['in', 'id', ['from', 'rooms', ['extract', 'artwork']]] }),
      // Too long for an address.
      await found({ where: ['in', 'id', ['array', many]], orderBy: [['id', 'desc']], limit: 7 }),
    ],
    [
      2,
      artworks.filter(one => one.acquired >= '2019').length,
      artworks.filter(one => /^Dark 7/.test(one.title)).length,
      250,
      250,
      10,
      2,
      7,
    ],
  )
  assert.deepEqual(ids(await client.pql<Artwork>('artworks { id < 2 order by id desc }').all()), [1, 0])
})

test('CL4 a query shows columns, and groups', async t => {
  const { entity } = await started(t)
  const some = await entity.query({ select: ['id', 'title'], limit: 1 }).all()
  assert.deepEqual(some, [{ id: 0, title: 'Light 0' }])
  const groups = await entity
    .query({
      select: ['year', ['function', 'count'], ['function', 'max', 'id']],
      groupBy: ['year'],
      having: ['>', 'max', 997],
      orderBy: [['max', 'desc']],
    })
    .all()
  assert.deepEqual(groups, [
    { year: 1809, count: 100, max: 999 },
    { year: 1808, count: 100, max: 998 },
  ])
  const kinds = await entity.query({ select: ['shown'], distinct: true, orderBy: ['shown'] }).all()
  assert.deepEqual(kinds, [{ shown: false }, { shown: true }])
})

test('CL4 a loop goes over pages, each fetched when it gets there', async t => {
  const { entity, line } = await started(t)
  const asked = () => line.count('GET', /^\/api\/query\/v4\/artworks/)
  const sizes: number[] = []
  for await (const { records, offset } of entity.query({ offset: 10, limit: 250 }).pages(100)) {
    sizes.push(records.length)
    assert.deepEqual([records[0]?.id, asked()], [offset, sizes.length])
  }
  assert.deepEqual(sizes, [100, 100, 50])
  for await (const { records } of entity.query().pages(400)) {
    assert.equal(records.length, 400)
    break
  }
  assert.equal(asked(), 4)
  let last = 0
  for await (const { records } of entity.query().pages(500)) last = records.at(-1)?.id ?? 0
  assert.equal(last, 999)
})

test('CL4 a loop over a listing reads one answer at its own pace, and leaving it ends the transfer', async t => {
  const { line, open, service } = await startClientWorld(t)
  const padding = 'x'.repeat(20_000)
  const large = Array.from({ length: 3_000 }, (_, id) => ({ id, padding }))
  await service.addRecords('large', 'id', large)
  const sockets: { readonly bytesWritten: number; readonly destroyed: boolean }[] = []
  service.app.server.on('connection', socket => sockets.push(socket))
  const client = open()
  line.requests.length = 0
  let read = 0
  for await (const record of client.entity('large').query()) {
    assert.equal(record.id, read++)
    if (read > 20) break
    // The service keeps sending as long as any buffer accepts bytes.
    if (read === 20) await until('connections on which nothing moves', () => isStill(sockets))
  }
  const sent = Math.max(...sockets.map(socket => socket.bytesWritten))
  assert.ok(sent > padding.length * 20 && sent < padding.length * 2_500, `${sent} bytes were sent`)
  await until(
    'the end of all connections',
    () => sockets.filter(socket => !socket.destroyed).length,
    left => left === 0,
  )
  assert.equal(line.requests.length, 1)

  let whole = 0
  for await (const { id } of client.entity('large').query({ orderBy: [['id', 'desc']] })) whole += Number(id)
  assert.equal(whole, (2_999 * 3_000) / 2)
})

/** True if nothing has been sent for a while. */
async function isStill(sockets: readonly { readonly bytesWritten: number }[]): Promise<boolean> {
  const sum = () => sockets.reduce((bytes, socket) => bytes + socket.bytesWritten, 0)
  const before = sum()
  await new Promise(resolve => setTimeout(resolve, 300))
  return sum() === before
}

test('CL4 a record is read with its tag, written, changed and deleted, and nobody is overwritten', async t => {
  const { entity } = await started(t)
  const { record, etag } = await entity.get(7)
  assert.deepEqual(record, artworks[7])
  assert.ok(etag)
  const changed = await entity.patch(7, { title: 'Dawn', year: null }, { ifMatch: etag })
  assert.deepEqual([changed.record.title, changed.record.year ?? null], ['Dawn', null])
  const late = { code: 'precondition-failed', status: 412 }
  await assert.rejects(entity.patch(7, { title: 'Dusk' }, { ifMatch: etag }), late)
  await assert.rejects(entity.put(7, record, { ifMatch: etag }), late)
  await assert.rejects(entity.put(7, record, { ifNoneMatch: '*' }), late)
  const again = await entity.patch(7, [{ op: 'replace', path: '/title', value: 'Dusk' }], {
    ifMatch: changed.etag,
  })
  assert.equal(again.record.title, 'Dusk')
  assert.deepEqual((await entity.put(7, record, { ifMatch: again.etag })).record, record)
  await assert.rejects(entity.delete(7, { ifMatch: again.etag }), late)
  await entity.delete(7)
  await assert.rejects(entity.get(7), { code: 'not-found' })
  const added = await entity.put(7, record, { ifNoneMatch: '*' })
  assert.deepEqual(added.record, record)
})

test('CL4 keys of several parts and of any characters are found', async t => {
  const { client } = await started(t)
  const rooms = client.entity('rooms')
  assert.equal((await rooms.get([1, 'a,b'])).record.artwork, 3)
  assert.equal((await rooms.get([1, 'c\\d'])).record.artwork, 3)
  assert.equal((await rooms.get([2, 'a,b'])).record.artwork, 4)
  const names = await client.entities()
  assert.deepEqual(names.find(one => one.name === 'rooms')?.key, ['floor', 'name'])
})

test('CL8 lists in DSpace’s form are read page by page', async t => {
  const { line, openAs, service } = await startClientWorld(t)
  for (let n = 0; n < 25; n++) await addItem(service, { identifier: `demo/${n}` })
  const admin = await openAs(root)
  const items = admin.list<{ uuid: string; name: string }>('/api/core/items')
  const { items: first, total, pages, number } = await items.page(1, 10)
  assert.deepEqual([first.length, total, pages, number], [10, 25, 3, 1])
  const names = new Set<string>()
  for await (const { items: some } of items.pages(10)) for (const { name } of some) names.add(name)
  assert.equal(names.size, 25)
  line.requests.length = 0
  let read = 0
  for await (const { uuid } of items) if (uuid && ++read === 3) break
  assert.equal(line.requests.length, 1)
  const people: string[] = []
  for await (const { email } of admin.list<{ email: string }>('/api/eperson/epersons')) people.push(email)
  assert.deepEqual(people.toSorted(), [root, ruth])
  // An empty list yields nothing, and a link of the service can be followed.
  for await (const one of admin.list('/api/core/communities')) assert.fail(`${one}`)
  const { _links } = await admin.get<{ _links: Record<string, { href: string }> }>('/api')
  assert.equal((await admin.list(_links.items?.href ?? '').page()).total, 25)
})

test('CL4 several records are changed in one step, undone, and have a history', async t => {
  const { entity } = await started(t)
  const query = ['=', 'id', 7] as const
  const tried = await entity.patchAll(query, { title: 'Dawn' }, { dryRun: true })
  assert.deepEqual([tried.count, tried.dry_run, tried.records[0]?.before], [1, true, artworks[7]])
  const changed = await entity.patchAll(query, { title: 'Dawn' }, { expected: 1, undo: true })
  assert.equal((await entity.get(7)).record.title, 'Dawn')
  await assert.rejects(entity.deleteAll(query, { expected: 2 }), { code: 'precondition-failed', status: 412 })
  assert.equal((await entity.write(changed.undo?.records ?? [])).changed, 1)
  assert.deepEqual((await entity.get(7)).record, artworks[7])
  assert.deepEqual(
    (await entity.history(7)).map(({ event }) => event),
    ['record.put', 'record.change'],
  )
  assert.equal((await entity.deleteAll(query)).changed, 1)
})
