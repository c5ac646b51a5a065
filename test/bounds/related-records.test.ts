import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commandEvent } from '../../src/cli/store.ts'
import { asking } from '../support/clients/asking.ts'
import { exposeIn, withTables } from '../support/service/exposed-tables.ts'
import { type Service, startService } from '../support/service/service.ts'

const relate = ({ storage }: Service, from: string, field: string, to: string) =>
  storage.entities.describe(
    from,
    { relate: { fields: [field], to: { entity: to, fields: ['id'] } } },
    commandEvent('entity.relate'),
  )

test('Q34 more than 200,000 records of a table are too many for fields of it in a query of imported records', async t => {
  const { service } = await withTables(
    t,
    'CREATE TABLE parts (id integer PRIMARY KEY); INSERT INTO parts SELECT * FROM generate_series(1, 200001)',
  )
  await exposeIn(service, 'parts')
  await service.addRecords('orders', 'id', [{ id: 1, part: 7 }])
  await relate(service, 'orders', 'part', 'parts')
  const { rows, refused } = asking(service.client())
  const { detail } = await refused('orders[id, parts.id]{}')
  assert.match(
    detail,
    /Fields of parts in a query of orders would take more than 200,000 records, or 16 MB of them/,
  )
  assert.match(detail, /or query parts, with a subquery about orders\./)
  assert.deepEqual(await rows('parts[id]{orders { id = 1 }}'), [{ id: 7 }])
})

test('Q34 Q26 a query has at most 20 fields of related entities, however often each stands in it', async t => {
  const service = await startService(t)
  const names = Array.from({ length: 21 }, (_, at) => `f${at}`)
  await service.addRecords('wide', 'id', [{ id: 1, ...Object.fromEntries(names.map(name => [name, name])) }])
  await service.addRecords('notes', 'id', [
    { id: 1, wide: 1 },
    { id: 2, wide: null },
  ])
  await relate(service, 'notes', 'wide', 'wide')
  const { rows, refused } = asking(service.client())
  const columns = (count: number) => names.slice(0, count).map(name => `wide.${name}`)
  assert.match((await refused(`notes[${columns(21)}]{}`)).detail, /at most 20 fields of related entities/)
  const [first, second] = await rows(`notes[${columns(20)}]{} `)
  assert.deepEqual([first?.['wide.f19'], second?.['wide.f19']], ['f19', null])
  const often = Array.from({ length: 300 }, () => 'wide.f1 = "f1"').join(' or ')
  assert.deepEqual(await rows(`notes[id]{${often}}`), [{ id: 1 }])
  const hostile = [
    'wide.constructor',
    'wide."f1"."x"',
    'wide..f1',
    'wide.',
    `wide.${'x.'.repeat(600)}`,
    'wide.f1[0]',
  ]
  for (const name of hostile) await refused(`notes[id]{${name} = 1}`)
})
