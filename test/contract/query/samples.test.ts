import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { administrator } from '../../support/clients/administrator.ts'
import { asking } from '../../support/clients/asking.ts'
import { engines } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

const records = Array.from({ length: 500 }, (_, at) => ({
  id: at,
  odd: at % 2 === 1,
  half: Math.floor(at / 250),
}))

for (const engine of engines)
  describe(`samples on ${engine}`, () => {
    test('Q32 a sample has as many records as are wanted, of those that match', async t => {
      const { rows } = await withRecords(t, engine)
      const ids = async (query: string) => (await rows(query)).map(({ id }) => Number(id))
      const some = await ids('things[id] { odd = true sample 40 }')
      assert.equal(some.length, 40)
      assert.ok(some.every(id => id % 2 === 1))
      assert.equal(new Set(some).size, 40)
      assert.deepEqual(
        some,
        some.toSorted((one, other) => one - other),
      )
      // Both halves are there; of 40 fair choices that fails less than once in 10^11 seeds.
      assert.deepEqual(await rows('things[distinct half] { odd = true sample 40 }'), [
        { half: 0 },
        { half: 1 },
      ])
      assert.equal((await ids('things[id] { odd = true sample 251 }')).length, 250)
      assert.deepEqual(await rows('things[count()] { id > 1000 sample 5 }'), [{ count: 0 }])
    })

    test('Q32 the same seed has the same sample, on pages, in groups and in every order', async t => {
      const { rows } = await withRecords(t, engine)
      const all = await rows('things[id] { sample 30 seed 7 }')
      assert.deepEqual(await rows('things[id] { sample 30 seed 7 }'), all)
      assert.deepEqual(await rows('things[id] { sample 30 seed 7 limit 10 offset 20 }'), all.slice(20))
      assert.deepEqual(await rows('things[id] { sample 30 seed 7 order by id desc }'), all.toReversed())
      assert.deepEqual(await rows('things[count()] { sample 30 seed 7 }'), [{ count: 30 }])
      assert.deepEqual(
        await rows('things[id] { sample 30 seed 7 }'),
        await rows('things[id] { sample 30 seed 7 limit 100 }'),
      )
      assert.notDeepEqual(await rows('things[id] { sample 30 seed 8 }'), all)
      assert.deepEqual(await rows('things[id] { sample 30 }'), await rows('things[id] { sample 30 seed 0 }'))
    })

    test('Q32 tables have samples of the rows that the caller sees', async t => {
      const service = await startService(t, { engine })
      for (let n = 0; n < 8; n++) await service.addEperson(`person${n}@example.org`)
      const { rows } = asking((await administrator(service)).client)
      const all = await rows('epersons[uuid] { enabled = true }')
      const some = await rows('epersons[uuid] { enabled = true sample 4 seed 3 }')
      assert.equal(some.length, 4)
      const known = new Set(all.map(({ uuid }) => uuid))
      assert.ok(some.every(({ uuid }) => known.has(uuid)))
      assert.deepEqual(await rows('epersons[uuid] { enabled = true sample 4 seed 3 }'), some)
      assert.deepEqual(await rows('epersons[count()] { sample 4 }'), [{ count: 4 }])
    })

    test('Q32 a wrong sample is refused at its place', async t => {
      const { refused } = await withRecords(t, engine)
      const wrong: readonly (readonly [string, RegExp])[] = [
        ['things { sample 1000000000 }', /from 1 to 1,000,000, not 1000000000/],
        ['things { sample 0 }', /from 1 to 1,000,000, not 0/],
        ['things { sample 5 seed 4294967296 }', /A seed is a whole number from 0/],
        ['things { sample 5 sample 6 }', /there is a second "sample"/],
        ['things { sample 1.5 }', /expected <whole number>/],
        ['things { id in things[id] { sample 5 } }', /A subquery has no sample/],
      ]
      for (const [query, message] of wrong) assert.match((await refused(query)).detail, message, query)
    })
  })

test('Q32 imported records have the same sample on every engine', async t => {
  const found = []
  for (const engine of ['sqlite', 'postgres'] as const) {
    const service = await startService(t, { engine })
    await service.addRecords('things', 'id', records)
    found.push(await asking(service.client()).rows('things[id] { id > 7 sample 50 seed 4 }'))
  }
  assert.deepEqual(found[0], found[1])
})

async function withRecords(t: Parameters<typeof startService>[0], engine: (typeof engines)[number]) {
  const service = await startService(t, { engine })
  await service.addRecords('things', 'id', records)
  return asking(service.client())
}
