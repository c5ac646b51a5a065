import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import { administrator } from '../../support/clients/administrator.ts'
import { asking } from '../../support/clients/asking.ts'
import { importText } from '../../support/data/imports.ts'
import { addItem, everybody } from '../../support/data/repository.ts'
import { engines } from '../../support/service/engines.ts'
import { exposeIn, withTables } from '../../support/service/exposed-tables.ts'
import { type Service, startService } from '../../support/service/service.ts'

const artists = [
  { id: 1, name: 'Ruth', gender: 'Female', born: 1880, notes: { city: 'Berlin' } },
  { id: 2, name: 'Abel', gender: 'Male', born: 1920, notes: { city: 'Rome', tags: ['x'] } },
  { id: 3, name: 'Zoë', gender: 'Female', born: null, notes: null },
  { id: 4, name: 'Nobody', gender: null, born: 1700, notes: {} },
]
const artworks = [
  { id: 1, title: 'Sea', artist: 2, year: 1950 },
  { id: 2, title: 'Hill', artist: 1, year: 1900 },
  { id: 3, title: 'Night', artist: 1, year: 1870 },
  { id: 4, title: 'Lost', artist: 9, year: 1960 },
  { id: 5, title: 'Unknown', artist: null, year: null },
  { id: 6, title: 'Door', artist: 3, year: 1999 },
]

const works = [
  { id: 1, data: { artist: 1 }, makers: [{ id: 2 }] },
  { id: 2, data: { artist: '1' }, makers: [{ id: 2 }, { id: 3 }] },
  { id: 3, data: { artist: [1] }, makers: [] },
  { id: 4, data: null, makers: null },
]

const relateBy = (
  { storage }: Service,
  from: string,
  fields: readonly string[],
  to: string,
  theirs: readonly string[],
) =>
  storage.entities.describe(
    from,
    { relate: { fields, to: { entity: to, fields: theirs } } },
    commandEvent('entity.relate'),
  )

const relate = (service: Service) => relateBy(service, 'artworks', ['artist'], 'artists', ['id'])

for (const engine of engines)
  describe(`related records on ${engine}`, () => {
    test('Q34 queries of imported records show, compare, group, count and sort by a field of a related entity', async t => {
      const service = await startService(t, { engine })
      await service.addRecords('artists', 'id', artists)
      await service.addRecords('artworks', 'id', artworks)
      await relate(service)
      await looksUp(asking(service.client()))
    })

    test('Q34 fields of a related entity are read from the files of its fields, too', async t => {
      const service = await startService(t, { engine })
      // Entities of this size have files of fields.
      const count = 70_000
      const kinds = ['oil', 'ink', null]
      const ids = Array.from({ length: count }, (_, id) => id)
      const artistOf = (id: number) => (id * 7) % (count + 1_000)
      await service.addRecords(
        'artists',
        'id',
        ids.map(id => ({ id, name: `artist ${id % 40_000}`, kind: kinds[id % 3], born: id / 2 })),
      )
      await service.addRecords(
        'artworks',
        'id',
        ids.map(id => ({ id, artist: artistOf(id) })),
      )
      await relate(service)
      const { rows: ask } = asking(service.client())
      const of = (kind: string | null) =>
        ids.map(artistOf).filter(artist => kind === (artist < count ? kinds[artist % 3] : null)).length
      assert.deepEqual(
        await ask('artworks[artists.kind, count()] { group by artists.kind order by artists.kind }'),
        [
          { 'artists.kind': 'ink', count: of('ink') },
          { 'artists.kind': 'oil', count: of('oil') },
          { 'artists.kind': null, count: of(null) },
        ],
      )
      assert.deepEqual(await ask('artworks[id, artists.born] { artists.name = "artist 7" }'), [
        { id: 1, 'artists.born': 3.5 },
        { id: 26_001, 'artists.born': 20_003.5 },
      ])
      const last = Math.max(...ids.map(artistOf).filter(artist => artist < count))
      assert.deepEqual(
        await ask('artworks[id, artists.born] { artists.born > 34000 order by artists.born desc limit 1 }'),
        [{ id: ids.find(id => artistOf(id) === last), 'artists.born': last / 2 }],
      )
    })

    test('Q34 what a record is related to may be known by several fields, or by one that is declared as unique', async t => {
      const service = await startService(t, { engine })
      const pages = [
        { book: 'a', number: 1, text: 'one' },
        { book: 'a', number: 2, text: 'two' },
        { book: 'b', number: 1, text: 'three' },
      ]
      await service.addRecords('pages', ['book', 'number'], pages)
      const notes = [
        { id: 1, book: 'b', number: 1 },
        { id: 2, book: 'a', number: 2 },
        { id: 3, book: 'b', number: 2 },
        { id: 4, book: null, number: 1 },
      ]
      await service.addRecords('notes', 'id', notes)
      const fields = ['book', 'number']
      await relateBy(service, 'notes', fields, 'pages', fields)
      const { rows, refused } = asking(service.client())
      const texts = ['three', 'two', null, null]
      assert.deepEqual(
        (await rows('notes[id, pages.text]{}')).map(row => row['pages.text']),
        texts,
      )
      assert.deepEqual(await rows('notes[id]{pages.text = "two"}'), [{ id: 2 }])
      await service.addRecords('labels', 'id', [
        { id: 1, code: 'b' },
        { id: 2, code: 'a' },
      ])
      await relateBy(service, 'notes', ['book'], 'labels', ['code'])
      assert.match((await refused('notes[labels.id]{}')).detail, /"labels\.id" may have many values/)
      const root = await administrator(service)
      assert.equal((await root.send('PATCH', '/labels', { fields: { code: { unique: true } } })).status, 200)
      assert.deepEqual(
        (await rows('notes[id, labels.id]{}')).map(row => row['labels.id']),
        [1, 2, 1, null],
      )
    })

    test('Q34 a relation by a path into JSON leads to one record, and one by the elements of a list does not', async t => {
      const service = await startService(t, { engine })
      await service.addRecords('artists', 'id', artists)
      await service.addRecords('works', 'id', works)
      await relateBy(service, 'works', ['data.artist'], 'artists', ['id'])
      const { refused } = asking(service.client())
      await followsPath(asking(service.client()))
      await relateBy(service, 'works', ['makers[*].id'], 'artists', ['id'])
      assert.match((await refused('works[artists.name]{}')).detail, /"artists\.name" may have many values/)
    })

    test('Q34 a change of the related record is seen at once, also by a list with an entity tag', async t => {
      const service = await startService(t, { engine })
      await service.addRecords('artists', 'id', artists)
      await service.addRecords('artworks', 'id', artworks)
      await relate(service)
      const { answer } = asking(service.client())
      for (const query of [
        'artworks[id, artists.name]{}',
        'artworks[artists.name, count()]{group by artists.name}',
        'artworks[id]{artists.name = "Ruth"}',
        'artworks{order by artists.name}',
      ]) {
        await service.addRecords('artists', 'id', artists)
        const first = await answer(query)
        const before = await first.text()
        const tag = first.headers.get('etag')
        assert.ok(tag, query)
        assert.equal((await answer(query)).headers.get('etag'), tag)
        await service.addRecords('artists', 'id', [{ ...artists[0], name: 'Abba' }, ...artists.slice(1)])
        const second = await answer(query)
        assert.notEqual(second.headers.get('etag'), tag, query)
        assert.notEqual(await second.text(), before, query)
      }
    })

    test('Q34 a file of a caller who may not see its item shows nothing of it', async t => {
      const service = await startService(t, { engine })
      await addItem(service, { identifier: 'open', files: [{ name: 'a.txt' }] })
      await addItem(service, {
        identifier: 'closed',
        readers: [],
        files: [{ name: 'b.txt', readers: everybody }],
      })
      const { rows } = asking(service.client())
      assert.deepEqual(await rows('bitstreams[name, items.identifier]{order by name}'), [
        { name: 'a.txt', 'items.identifier': 'open' },
        { name: 'b.txt', 'items.identifier': null },
      ])
      assert.deepEqual(await rows('bitstreams[name]{items.identifier = "closed"}'), [])
      assert.deepEqual(await rows('bitstreams[count()]{items.identifier is null}'), [{ count: 1 }])
      assert.deepEqual(await rows('bitstreams[items.identifier, count()]{group by items.identifier}'), [
        { 'items.identifier': 'open', count: 1 },
        { 'items.identifier': null, count: 1 },
      ])
      const all = asking((await administrator(service)).client)
      assert.deepEqual(await all.rows('bitstreams[name]{items.identifier = "closed"}'), [{ name: 'b.txt' }])
    })

    test('Q34 an entity that the caller may not read is as unknown as one that does not exist', async t => {
      const service = await startService(t, { engine })
      await service.addRecords('artists', 'id', artists, 'admin')
      await service.addRecords('artworks', 'id', artworks)
      await relate(service)
      const { refused } = asking(service.client())
      const told = async (name: string) =>
        (await refused(`artworks[id]{${name}.name = "Ruth"}`)).detail.replaceAll(name, '?')
      assert.equal(await told('artists'), await told('artistz'))
      const admin = asking((await administrator(service)).client)
      assert.deepEqual(await admin.rows('artworks[id]{artists.name = "Abel"}'), [{ id: 1 }])
    })

    test('Q34 Q25 the default condition of a related entity holds for its fields', async t => {
      const service = await startService(t, { engine })
      await service.addRecords('artists', 'id', artists)
      await service.addRecords('artworks', 'id', artworks)
      await relate(service)
      await service.storage.entities.describe(
        'artists',
        { defaultCondition: '["=","gender","Male"]' },
        commandEvent('entity.default'),
      )
      const { rows } = asking(service.client())
      assert.deepEqual(await rows('artworks[id, artists.name]{artists.name is not null}'), [
        { id: 1, 'artists.name': 'Abel' },
      ])
      assert.deepEqual(await rows('artworks[id]{artists.gender = "Female"}'), [])
    })

    test('Q34 Q28 a value of a related record is shown as it was written, in lists of any length and format', async t => {
      const service = await startService(t, { engine })
      await importText(service, '{"id":1,"size":1.10}\n{"id":2,"size":1e2}\n{"id":3,"size":-0}\n', {
        entity: 'kinds',
        key: 'id',
      })
      const lines = Array.from({ length: 5_000 }, (_, at) => ({ id: at, kind: (at % 5) + 1 }))
      await service.addRecords('parts', 'id', lines)
      await relateBy(service, 'parts', ['kind'], 'kinds', ['id'])
      const sizes = ['1.10', '1e2', '-0', 'null', 'null']
      const client = service.client()
      const ask = async (query: string, accept: string) => {
        const path = `/api/query/v4?query=${encodeURIComponent(query)}`
        return (await client.get(path, { accept })).text()
      }
      const short = await ask('parts[id, kinds.size]{limit 5}', 'application/json')
      assert.equal(short, `[${sizes.map((size, at) => `{"id":${at},"kinds.size":${size}}`).join()}]`)
      const long = await ask('parts[kinds.size]{}', 'application/x-ndjson')
      assert.ok(long === lines.map((_, at) => `{"kinds.size":${sizes[at % 5]}}\n`).join(''))
    })
  })

test('Q34 queries of tables show, compare, group, count and sort by a field of a related entity', async t => {
  const { service } = await withTables(t, tables)
  await exposeIn(service, 'artists')
  await exposeIn(service, 'artworks')
  await relate(service)
  await looksUp(asking(service.client()))
})

test('Q34 a relation by a path into JSON of a table leads to one record', async t => {
  const { service } = await withTables(
    t,
    `${tables} CREATE TABLE works (id integer PRIMARY KEY, data json, makers json); ${inserts('works', works)}`,
  )
  await exposeIn(service, 'works')
  await exposeIn(service, 'artists')
  await relateBy(service, 'works', ['data.artist'], 'artists', ['id'])
  await followsPath(asking(service.client()))
})

for (const exposed of ['artists', 'artworks'])
  test(`Q34 queries across records and tables show, compare, group, count and sort by a field of a related entity (${exposed} are a table)`, async t => {
    const { service } = await withTables(t, tables)
    await exposeIn(service, exposed)
    if (exposed === 'artists') await service.addRecords('artworks', 'id', artworks)
    else await service.addRecords('artists', 'id', artists)
    await relate(service)
    await looksUp(asking(service.client()))
  })

const value = (one: unknown) =>
  one === null
    ? 'NULL'
    : typeof one === 'object'
      ? `'${JSON.stringify(one)}'`
      : typeof one === 'string'
        ? `'${one}'`
        : String(one)
const inserts = (table: string, records: readonly object[]) =>
  `INSERT INTO ${table} VALUES ${records.map(one => `(${Object.values(one).map(value).join()})`).join()};`
const tables = `CREATE TABLE artists (id integer PRIMARY KEY, name text, gender text, born integer, notes jsonb);
  CREATE TABLE artworks (id integer PRIMARY KEY, title text, artist integer, year integer);
  ${inserts('artists', artists)} ${inserts('artworks', artworks)}`

async function followsPath({ rows }: ReturnType<typeof asking>): Promise<void> {
  const names = (await rows('works[id, artists.name]{}')).map(row => row['artists.name'])
  assert.deepEqual(names, ['Ruth', null, null, null])
  assert.deepEqual(await rows('works[id]{artists.born = 1880}'), [{ id: 1 }])
}

async function looksUp({ rows, refused }: ReturnType<typeof asking>): Promise<void> {
  const column = (query: string, name: string) => rows(query).then(all => all.map(row => row[name]))
  assert.deepEqual(
    await rows('artworks[title, artists.gender]{artists.gender = "Female" order by artists.name, title}'),
    [
      { title: 'Hill', 'artists.gender': 'Female' },
      { title: 'Night', 'artists.gender': 'Female' },
      { title: 'Door', 'artists.gender': 'Female' },
    ],
  )
  assert.deepEqual(await column('artworks[id, artists.born]{}', 'artists.born'), [
    1920,
    1880,
    1880,
    null,
    null,
    null,
  ])
  const found: readonly (readonly [string, readonly number[]])[] = [
    ['artists.gender = "Female"', [2, 3, 6]],
    ['!(artists.gender = "Female")', [1]],
    ['artists.gender in ["Male", "x"]', [1]],
    ['artists.gender is null', [4, 5]],
    ['artists.gender is not null', [1, 2, 3, 6]],
    ['artists.name ~ "^[RZ]"', [2, 3, 6]],
    ['artists.born > 1900', [1]],
    ['artists.born <= 1900 and artists.name = "Ruth" and year > 1880', [2]],
    ['year < artists.born', [3]],
    ['artists.born by 100 = 1900', [1]],
    ['artists.notes.city = "Rome"', [1]],
    ['artists.notes.city != "Rome"', [2, 3, 4, 5, 6]],
    ['length(artists.notes.tags) = 1', [1]],
    ['artists.name in artists[name]{gender = "Female"}', [2, 3, 6]],
    ['id in artworks[id]{artists.name = "Abel"}', [1]],
    ['artists { name = "Abel" } or artists.name = "Zoë"', [1, 6]],
  ]
  for (const [condition, ids] of found)
    assert.deepEqual(await column(`artworks[id]{${condition}}`, 'id'), ids, condition)
  assert.deepEqual(await column('artworks{order by artists.name desc, id}', 'id'), [4, 5, 6, 2, 3, 1])
  assert.deepEqual(
    await rows(
      'artworks[artists.gender, count(), max(artists.born)]{group by artists.gender order by artists.gender}',
    ),
    [
      { 'artists.gender': 'Female', count: 3, max: 1880 },
      { 'artists.gender': 'Male', count: 1, max: 1920 },
      { 'artists.gender': null, count: 2, max: null },
    ],
  )
  assert.deepEqual(
    await rows('artworks[count(), count(artists.name), sum(artists.born), count_distinct(artists.name)]{}'),
    [{ count: 6, count_2: 4, sum: 5680, count_distinct: 3 }],
  )
  assert.deepEqual(
    await rows('artworks[artists.born by 100, count()]{group by artists.born by 100 order by count() desc}'),
    [
      { 'artists.born': null, count: 3 },
      { 'artists.born': 1800, count: 2 },
      { 'artists.born': 1900, count: 1 },
    ],
  )
  assert.deepEqual(await rows('artworks[distinct artists.name]{order by artists.name limit 2}'), [
    { 'artists.name': 'Abel' },
    { 'artists.name': 'Ruth' },
  ])
  assert.deepEqual(
    await rows(
      'artworks[artists.born by 100, to_string(artists.born, "9999"), artists.notes.city, artists.born]{id = 1}',
    ),
    [{ 'artists.born': 1900, to_string: ' 1920', 'artists.notes.city': 'Rome', 'artists.born_2': 1920 }],
  )
  assert.deepEqual(
    await rows(
      'artworks[artists.name, count()]{group by artists.name having count() > 1 and artists.name is not null}',
    ),
    [{ 'artists.name': 'Ruth', count: 2 }],
  )
  const wrong: readonly (readonly [string, RegExp])[] = [
    [
      'artists[artworks.title]{}',
      /"artworks\.title" may have many values, because many records of artworks may belong to one of artists\. For a condition, write artworks \{ title = value \}; for columns, query artworks, where fields of artists are written such as "artists\.id"/,
    ],
    ['artworks[artists.gendre]{}', /artists has no field "gendre"\. Did you mean "?gender"?\?/],
    ['artworks[artist.name]{}', /"artist" has no members/],
    ['artworks[painters.name]{}', /artworks has no field "painters\.name"/],
    ['artworks[items.name]{}', /artworks has no relation to items\. It has relations to: artists/],
    [
      'artworks{artists.name match "Ruth"}',
      /match looks in fields of artworks itself.* Write entity \{ field match "words" \}\./,
    ],
    [
      'artworks{artists.notes.tags[*] = "x"}',
      /\[\*\] has no place.* Write artists \{ condition \}, or query artists\./,
    ],
    ['artworks[artists.artworks.title]{}', /artists has no field "artworks\.title"/],
  ]
  for (const [query, message] of wrong) assert.match((await refused(query)).detail, message, query)
}
