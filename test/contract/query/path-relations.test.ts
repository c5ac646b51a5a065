import assert from 'node:assert/strict'
import { administrator } from '../../support/clients/administrator.ts'
import { list } from '../../support/clients/listings.ts'
import { importText } from '../../support/data/imports.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { exposeIn, withTables } from '../../support/service/exposed-tables.ts'
import { carrel } from '../../support/service/process.ts'
import { type Service, startService } from '../../support/service/service.ts'

/** Artworks name their contributors inside of JSON, by the number of an artist. */
const artworks = [
  { id: 1, title: 'Ribbon', by: [{ id: 7, role: 'artist' }, { id: 8 }], data: { place: 'Rome', 'a.b': 'x' } },
  { id: 2, title: 'Wall', by: [{ id: 8 }, { id: null }, {}], data: { place: 'Oslo' } },
  { id: 3, title: 'Nobody', by: [], data: { place: null } },
  { id: 4, title: 'Unknown', by: null, data: { place: 'Bern' } },
  { id: 5, title: 'Text', by: [{ id: '7' }, { id: 99 }], data: {} },
] as const
const artists = [
  { id: 7, name: 'Ruth', places: ['Rome', 'Bern'] },
  { id: 8, name: 'Zoë', places: ['Oslo'] },
  { id: 9, name: 'Ada', places: [] },
] as const

async function startWithArt(t: Parameters<typeof startService>[0]): Promise<Service> {
  const service = await startService(t)
  await service.addRecords('artworks', 'id', artworks)
  await service.addRecords('artists', 'id', artists)
  return service
}

const relate = (service: Service, ...sides: readonly string[]) =>
  carrel(service.dataFolder, ['entity', 'relate', ...sides])

async function related(service: Service, ...sides: readonly string[]): Promise<string> {
  const done = await relate(service, ...sides)
  assert.equal(done.code, 0, done.stderr)
  return done.stdout
}

/** Returns the numbers of the records that a query finds. */
async function found(service: Service, query: string): Promise<readonly number[]> {
  const client = service.client()
  return (await list<{ id: number }>(client, '', { query, limit: '100' })).map(({ id }) => id)
}

test('Q21 entities are related by a path through a list, in both directions, in queries and by address', async t => {
  const service = await startWithArt(t)
  assert.equal(
    await related(service, 'artworks.by[*].id', 'artists.id'),
    'artworks and artists are now related: artworks.by[*].id = artists.id.\n',
  )
  for (const [query, ids] of [
    ['artworks { artists { name = "Ruth" } }', [1]],
    ['artworks { artists { } }', [1, 2]],
    ['artworks { ! artists { } }', [3, 4, 5]],
    ['artworks { ! artists { name = "Ruth" } }', [2, 3, 4, 5]],
    ['artists { artworks { } }', [7, 8]],
    ['artists { ! artworks { } }', [9]],
    ['artists { artworks { title = "Wall" } }', [8]],
    ['artists { artworks { artists { name = "Ruth" } } }', [7, 8]],
    ['["from", "artists", ["subquery", "artworks", ["=", "data.place", "Rome"]]]', [7, 8]],
    ['["from", "artists", ["in", "id", ["from", "artworks", ["extract", "by[*].id"]]]]', [7, 8]],
    ['["from", "artists", ["in", "id", ["extract", "by[*].id", ["select_artworks", ["=", "id", 2]]]]]', [8]],
    [
      '["from", "artists", ["in", "id", ["from", "artworks", ["extract", "by[*].id"], ["order_by", ["id"]], ["limit", 1]]]]',
      [7, 8],
    ],
  ] as const)
    assert.deepEqual(await found(service, query), ids, query)
  const client = service.client()
  for (const [path, ids] of [
    ['artworks/1/artists', [7, 8]],
    ['artworks/3/artists', []],
    ['artists/8/artworks', [1, 2]],
    ['artists/9/artworks', []],
  ] as const)
    assert.deepEqual(
      (await list<{ id: number }>(client, path)).map(({ id }) => id),
      ids,
      path,
    )
  const shown = await list<{ name: string; relations?: unknown }>(client, '')
  assert.deepEqual(shown.find(({ name }) => name === 'artists')?.relations, [
    { fields: ['id'], to: { entity: 'artworks', fields: ['by[*].id'] } },
  ])
})

test('Q21 a relation may go through lists on both sides, through a member, and into what is built in', async t => {
  const service = await startWithArt(t)
  await related(service, 'artworks.data.place', 'artists.places')
  assert.deepEqual(await found(service, 'artists { artworks { id = 1 } }'), [7])
  assert.deepEqual(await found(service, 'artworks { artists { name = "Ruth" } }'), [1, 4])
  await service.addRecords('notes', 'id', [
    { id: 1, tags: [{ of: ['Rome', 'Oslo'] }, { of: ['Bern'] }], item: { uuid: 'none' } },
    { id: 2, tags: [{ of: [] }], item: null },
  ])
  await related(service, 'notes.tags[*].of[*]', 'artists.places[*]')
  assert.deepEqual(await found(service, 'artists { notes { id = 1 } }'), [7, 8])
  assert.deepEqual(await found(service, 'notes { artists { name = "Zoë" } }'), [1])
  assert.match(
    await related(service, 'notes.item.uuid', 'items.uuid'),
    /^notes and items are now related: [^\n]+\nNo record of notes has a partner in items at the moment: /,
  )
  assert.deepEqual(await found(service, 'notes { items { } }'), [])
})

test('Q21 a relation that can never match is refused, with the reason, and one that does not yet is declared with a warning', async t => {
  const service = await startWithArt(t)
  const admin = await administrator(service)
  for (const [field, other, message] of [
    ['by[*].idd', 'id', /no record of artworks has "by\[\*\]\.idd"$/i],
    ['by.id', 'id', /no record of artworks has by\.id, because by is a list\. Write by\[\*\]\.id/i],
    [
      'data.place',
      'id',
      /the values of artworks\.data\.place are texts and those of artists\.id are numbers; they are never equal/i,
    ],
    ['title', 'id', /artworks\.title is text and artists\.id is integer; their values are never equal/],
    ['title[*]', 'id', /"title" has no members/],
    ['by[', 'id', /can't be read/],
    [`by${'[*]'.repeat(6)}`, 'id', /at most 5 times \[\*\]/],
    [`by${'.x'.repeat(499)}`, 'id', /a path has at most 100 parts/],
    ['by[*].id', 'places[*].no', /no record of artists has "places\[\*\]\.no"/i],
  ] as const) {
    const done = await relate(service, `artworks.${field}`, `artists.${other}`)
    assert.equal(done.code, 1, field)
    assert.match(done.stderr, /^carrel: [^\n]+\n$/, 'one line')
    assert.match(done.stderr.trimEnd(), message)
    const answer = await admin.send('PATCH', '/artworks', {
      relations: [{ fields: [field], to: { entity: 'artists', fields: [other] } }],
    })
    assert.equal(answer.status, 422)
    const problem = answer.body as { member: string; detail: string }
    assert.match(problem.detail.replace(/\.$/, ''), message)
    assert.match(problem.member, /^\/relations\/0(\/fields\/0|\/to\/fields\/0)?$/)
  }
})

test('Q21 EA3 a relation by which no records are related at the moment is declared with a warning', async t => {
  const service = await startWithArt(t)
  const admin = await administrator(service)
  const relation = { fields: ['by[*].role'], to: { entity: 'artists', fields: ['name'] } }
  const declare = async (relations: readonly object[], query = '') => {
    const { status, body } = await admin.send('PATCH', `/artworks${query}`, { relations })
    assert.equal(status, 200, JSON.stringify(body))
    return body as { warnings?: readonly { member: string; detail: string }[] }
  }
  const warnings = [
    {
      member: '/relations/0',
      detail:
        'No record of artworks has a partner in artists at the moment: no values are equal, comparing artworks.by[*].role with artists.name.',
    },
  ]
  assert.deepEqual((await declare([relation], '?preview=true')).warnings, warnings)
  assert.deepEqual((await declare([relation])).warnings, warnings)
  assert.equal((await declare([relation])).warnings, undefined, 'nothing new')
  assert.equal(
    (await declare([{ ...relation, fields: ['by[*].id'], to: { entity: 'artists', fields: ['id'] } }]))
      .warnings,
    undefined,
  )
  assert.deepEqual(await found(service, 'artists { artworks { } }'), [7, 8])
})

test('Q21 a relation by path stays when its path or field is gone, and says so of the field', async t => {
  const service = await startWithArt(t)
  await related(service, 'artworks.by[*].id', 'artists.id')
  await importText(service, '{"id":1,"by":[{"no":7}]}', { entity: 'artworks', key: 'id', replace: true })
  assert.deepEqual(await found(service, 'artworks { artists { } }'), [])
  assert.deepEqual(await found(service, 'artists { ! artworks { } }'), [7, 8, 9])
  await importText(service, '{"id":1,"title":"Ribbon"}', { entity: 'artworks', key: 'id', replace: true })
  const client = service.client()
  for (const query of ['artworks { artists { } }', 'artists { artworks { } }']) {
    const answer = await client.get(`/api/query/v4?query=${encodeURIComponent(query)}`)
    assert.equal(answer.status, 400)
    assert.match(
      await answer.text(),
      /The relation is by \\"by\[\*\]\.id\\", and artworks has no such field any more\./,
    )
  }
  await importText(service, JSON.stringify(artworks[0]), { entity: 'artworks', key: 'id', replace: true })
  assert.deepEqual(await found(service, 'artists { artworks { } }'), [7, 8])
  const root = await administrator(service)
  const refused = await root.send('POST', '/artworks/fields', { remove: ['by'] })
  assert.equal(refused.status, 422)
  assert.match(
    refused.body.detail,
    /A relation or the default condition of artworks uses .*by.*; change that first/i,
  )
})

testOn(
  'postgres',
  'Q21 tables with JSON and lists are related by path, to each other and to imported records',
  async t => {
    const { service, client } = await withTables(
      t,
      `CREATE TABLE shows (id integer PRIMARY KEY, works jsonb, places text[], notes json);
       INSERT INTO shows VALUES (1, '[{"no": 1}, {"no": 2.0}]', '{Rome,Oslo}', '{"by": ["Ruth"]}'), (2, '[]', '{}', '{}'),
         (3, NULL, NULL, NULL), (4, '{"no": 1}', '{Bern}', '{"by": [7, "Zoë"]}');
       CREATE TABLE people (id integer PRIMARY KEY, name text);
       INSERT INTO people VALUES (1, 'Ruth'), (2, 'Zoë'), (3, 'Ada')`,
    )
    for (const name of ['shows', 'people']) await exposeIn(service, name)
    await service.addRecords('artworks', 'id', artworks)
    await service.addRecords('places', 'name', [{ name: 'Rome' }, { name: 'Bern' }, { name: 'Paris' }])
    for (const [one, other] of [
      ['shows.works[*].no', 'artworks.id'],
      ['shows.notes.by[*]', 'people.name'],
      ['places.name', 'shows.places'],
    ] as const) {
      const done = await relate(service, one, other)
      assert.equal(done.code, 0, done.stderr)
      assert.match(done.stdout, /^[^\n]+\n$/, 'no warning')
    }
    for (const [query, ids] of [
      ['shows { artworks { } }', [1]],
      ['shows { ! artworks { } }', [2, 3, 4]],
      ['artworks { shows { } }', [1, 2]],
      ['artworks { shows { id = 4 } }', []],
      ['shows { people { name = "Zoë" } }', [4]],
      ['people { shows { } }', [1, 2]],
      ['people { ! shows { id = 1 } }', [2, 3]],
      ['shows { places { name = "Rome" } }', [1]],
      ['people { shows { artworks { title = "Wall" } } }', [1]],
    ] as const)
      assert.deepEqual(await found(service, query), ids, query)
    const places = await list<{ name: string }>(client, '', { query: 'places { shows { } }' })
    assert.deepEqual(
      places.map(({ name }) => name),
      ['Bern', 'Rome'],
    )
    for (const [one, other, message] of [
      ['shows.works[*].nr', 'people.id', /no record of shows has "works\[\*\]\.nr"$/],
      [
        'shows.works[*].no',
        'people.name',
        /values of shows\.works\[\*\]\.no are numbers and those of people\.name are texts/,
      ],
    ] as const) {
      await carrel(service.dataFolder, ['entity', 'unrelate', 'shows', 'people'])
      const done = await relate(service, one, other)
      assert.match(done.stderr.trimEnd(), message)
    }
  },
)
