import assert from 'node:assert/strict'
import { bodyOf, list, listPath } from '../../support/clients/listings.ts'
import { importText, ndjson } from '../../support/data/imports.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { exposeIn, withTables } from '../../support/service/exposed-tables.ts'
import { type Service, startService } from '../../support/service/service.ts'

const objects = ['{"a":1,"b":[2]}', '{"b":[2],"a":1}', '{"a":1}', '{"b":[2.0],"a":1.0}']

async function assertEqual(service: Service): Promise<void> {
  const ask = (...query: readonly unknown[]) => list(service.client(), 'things', { query: query as never })
  const counts = (await ask('extract', ['value', ['function', 'count']], ['group_by', 'value'])).map(
    ({ count }) => count,
  )
  assert.deepEqual(counts.toSorted(), [1, 3])
  assert.equal((await ask('extract', 'value', ['distinct'])).length, 2)
  assert.equal((await ask('extract', ['value.b', 'value.a'], ['distinct'])).length, 2)
  assert.deepEqual(await ask('extract', [['function', 'count_distinct', 'value']]), [{ count_distinct: 2 }])
}

test('Q20 Q22 objects are one group whatever the order of their members', async t => {
  const service = await startService(t)
  const lines = objects.map((value, id) => `{"id":${id},"value":${value}}\n`).join('')
  await importText(service, lines, { entity: 'things', key: 'id' })
  await assertEqual(service)
})

testOn(
  'postgres',
  'Q20 Q22 objects of a table are one group whatever the order of their members',
  async t => {
    const { service } = await withTables(
      t,
      `CREATE TABLE things (id integer PRIMARY KEY, value json);
     INSERT INTO things VALUES ${objects.map((value, id) => `(${id}, '${value}')`).join(', ')}`,
    )
    await exposeIn(service, 'things')
    await assertEqual(service)
  },
)

testOn('postgres', 'Q20 Q22 a null of JSON in a table is null, whatever is around it', async t => {
  const { service } = await withTables(
    t,
    `CREATE TABLE things (id integer PRIMARY KEY, value json);
     INSERT INTO things VALUES (1, E' null\\n'), (2, E'\\r\\n "a" '), (3, NULL)`,
  )
  await exposeIn(service, 'things')
  const ask = (...query: readonly unknown[]) => list(service.client(), 'things', { query: query as never })
  assert.deepEqual(await ask('extract', 'id', ['null?', 'value', true]), [{ id: 1 }, { id: 3 }])
  assert.deepEqual(await ask('extract', 'id', ['not', ['=', 'value', 'a']]), [{ id: 1 }, { id: 3 }])
  assert.deepEqual(await ask('extract', [['function', 'count', 'value']]), [{ count: 1 }])
})

testOn('postgres', 'Q22 a sum or an average of doubles may leave their range', async t => {
  const { service } = await withTables(
    t,
    `CREATE TABLE things (id integer PRIMARY KEY, value double precision);
     INSERT INTO things VALUES (1, 1.7976931348623157e308), (2, 1.7976931348623157e308), (3, 0.5)`,
  )
  await exposeIn(service, 'things')
  const functions = [
    ['function', 'sum', 'value'],
    ['function', 'avg', 'value'],
  ]
  const body = await bodyOf(service, listPath('things', { query: ['extract', functions] }))
  assert.equal(body, `[{"sum":35953862697246314${'0'.repeat(292)}.5,"avg":1.1984620899082105e+308}]`)
})

test('Q17 Q22 having compares the least and the greatest text in the order of their field', async t => {
  const service = await startService(t)
  const collations = new Map([['name', 'sv']])
  const records = ['ö', 'z', 'Z', 'a'].map((name, id) => ({ id, name }))
  await importText(service, ndjson(records), { entity: 'names', key: 'id', collations })
  const extremes = [
    ['function', 'min', 'name'],
    ['function', 'max', 'name'],
  ]
  const ask = (having: unknown) =>
    list(service.client(), 'names', { query: ['extract', extremes, ['having', having]] })
  const expected = [{ min: 'a', max: 'ö' }]
  // By code point, a comes after Z, and ö after å.
  for (const having of [
    ['<', 'min', 'Z'],
    ['<=', 'min', 'a'],
    ['>', 'max', 'å'],
    ['not', ['>', 'min', 'Z']],
  ])
    assert.deepEqual(await ask(having), expected, JSON.stringify(having))
  assert.deepEqual(await ask(['>', 'min', 'Z']), [])
})
