import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { asking } from '../../support/clients/asking.ts'
import { engines } from '../../support/service/engines.ts'
import { exposeIn, withTables } from '../../support/service/exposed-tables.ts'
import { startService } from '../../support/service/service.ts'

const artworks = [
  { id: 1, makers: [{ name: 'Ruth', born: 1880 }, { name: 'Abel' }], tags: ['a', 'b'] },
  { id: 2, makers: [{ name: 'Zoë', born: 1920 }], tags: [] },
  { id: 3, makers: [], tags: ['b'] },
  { id: 4, makers: null, tags: null },
  { id: 5, makers: [{ name: null }, { name: ['Ruth'] }], tags: ['c', 'b', 'a'] },
]

for (const engine of engines)
  describe(`lists on ${engine}`, () => {
    test('Q30 [*] is any element of a list, in conditions', async t => {
      const service = await startService(t, { engine })
      await service.addRecords('artworks', 'id', artworks)
      await findsElements(asking(service.client()), 'artworks')
    })

    test('Q30 length is the number of elements, in conditions, columns, groups and orders', async t => {
      const service = await startService(t, { engine })
      await service.addRecords('artworks', 'id', artworks)
      await countsElements(asking(service.client()), 'artworks')
    })

    test('Q30 a member that only elements of a list have is refused, and says what to write', async t => {
      const service = await startService(t, { engine })
      await service.addRecords('artworks', 'id', artworks)
      const { refused } = asking(service.client())
      for (let time = 0; time < 2; time++) {
        const { detail, mistake, found, nearest } = await refused(
          'artworks[count()] { makers.name = "Ruth" }',
        )
        assert.match(
          detail,
          /makers is a list\. Write makers\[\*\]\.name for any of its elements, or makers\[0\]\.name for the first/,
        )
        assert.deepEqual([mistake, found, nearest], ['list', 'makers', 'makers[*].name'])
      }
      const { detail, mistake, found, nearest } = await refused('artworks { tags.name = "a" }')
      assert.match(detail, /write tags\[\*\]\.name/)
      assert.deepEqual([mistake, found, nearest], ['list', 'tags', 'tags[*].name'])
      const other = await refused('artworks { id = tags.name }')
      assert.deepEqual([other.mistake, other.found, other.nearest], ['list', 'tags', 'tags[*].name'])
    })

    test('Q30 what is wrong about lists is refused at its place', async t => {
      const service = await startService(t, { engine })
      await service.addRecords('artworks', 'id', artworks)
      const { refused } = asking(service.client())
      const wrong: readonly (readonly [string, RegExp])[] = [
        ['artworks { length(id) > 1 }', /length can't be made of "id"/],
        ['artworks { length(tags) > "1" }', /is a whole number, and "1" isn't/],
        ['artworks { count() > 1 }', /can only compare functions behind "having"/],
        ['artworks { id[*] = 1 }', /"id" has no members/],
        [`artworks { makers${'[*]'.repeat(6)} = 1 }`, /at most 5 times/],
        ['artworks[sum(makers[*].born)] {}', /can't be made of lists/],
        ['artworks { makers[*.name = 1 }', /is no index/],
      ]
      for (const [query, message] of wrong) assert.match((await refused(query)).detail, message, query)
    })
  })

test('Q30 columns of JSON and arrays of tables have elements and lengths, too', async t => {
  const rows = artworks.map(
    ({ id, makers, tags }) =>
      `(${id}, ${makers ? `'${JSON.stringify(makers)}'` : 'NULL'}, ${tags ? `ARRAY[${tags.map(tag => `'${tag}'`).join()}]::text[]` : 'NULL'})`,
  )
  for (const type of ['json', 'jsonb']) {
    const { service } = await withTables(
      t,
      `CREATE TABLE artworks (id integer PRIMARY KEY, makers ${type}, tags text[]); INSERT INTO artworks VALUES ${rows.join()}`,
    )
    await exposeIn(service, 'artworks')
    await findsElements(asking(service.client()), 'artworks')
    await countsElements(asking(service.client()), 'artworks')
  }
})

async function findsElements({ rows }: ReturnType<typeof asking>, entity: string): Promise<void> {
  const found: readonly (readonly [string, readonly number[]])[] = [
    ['makers[*].name = "Ruth"', [1]],
    ['makers[*].name = "Abel"', [1]],
    ['makers[*].name != "Ruth"', [2, 3, 4, 5]],
    ['makers[*].born > 1900', [2]],
    ['makers[*].born <= 1900', [1]],
    ['makers[*].name ~ "^(R|Z)"', [1, 2]],
    ['makers[*].name in ["Abel", "Zoë"]', [1, 2]],
    ['makers[*].name[*] = "Ruth"', [5]],
    ['makers[*].name is null', [3, 4]],
    ['makers[1].name = "Abel"', [1]],
    ['tags[*] = "b"', [1, 3, 5]],
    ['tags = "b"', [1, 3, 5]],
  ]
  for (const [condition, ids] of found)
    assert.deepEqual(
      await rows(`${entity}[id] { ${condition} }`),
      ids.map(id => ({ id })),
      condition,
    )
  assert.deepEqual(await rows(`${entity}[makers[*].name] { id < 4 }`), [
    { 'makers[*].name': ['Ruth', 'Abel'] },
    { 'makers[*].name': ['Zoë'] },
    { 'makers[*].name': null },
  ])
}

async function countsElements({ rows }: ReturnType<typeof asking>, entity: string): Promise<void> {
  assert.deepEqual(await rows(`${entity}[id] { length(tags) > 1 }`), [{ id: 1 }, { id: 5 }])
  assert.deepEqual(await rows(`${entity}[id] { length(makers) in [0, 1] and length(tags) is not null }`), [
    { id: 2 },
    { id: 3 },
  ])
  assert.deepEqual(
    await rows(`${entity}[length(tags), count()] { group by length(tags) order by length(tags) desc }`),
    [
      { length: null, count: 1 },
      { length: 3, count: 1 },
      { length: 2, count: 1 },
      { length: 1, count: 1 },
      { length: 0, count: 1 },
    ],
  )
  const lists = await rows(`${entity}[tags, count()] { group by tags order by count() desc limit 10 }`)
  assert.deepEqual(
    new Set(lists.map(row => JSON.stringify(row))),
    new Set(artworks.map(({ tags }) => JSON.stringify({ tags, count: 1 }))),
  )
  assert.deepEqual(await rows(`${entity}[count()] { tags is null }`), [{ count: 1 }])
  assert.deepEqual(await rows(`${entity}[id] { id < 4 order by length(tags), id desc }`), [
    { id: 2 },
    { id: 3 },
    { id: 1 },
  ])
}
