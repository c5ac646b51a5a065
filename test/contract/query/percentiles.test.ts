import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { administrator } from '../../support/clients/administrator.ts'
import { asking } from '../../support/clients/asking.ts'
import { engines } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

for (const engine of engines)
  describe(`percentiles on ${engine}`, () => {
    test('Q31 median and percentile lie between the two values next to their place, exactly, by group and in whole', async t => {
      const { rows } = await withPrices(t, engine)
      assert.deepEqual(await rows('prices[median(price), percentile(price, 90), percentile(price, 0)] {}'), [
        { median: 0.2, percentile: 7.8, percentile_2: 0.1 },
      ])
      assert.deepEqual(
        await rows(
          'prices[kind, median(price), median(any.n)] { group by kind order by median(price) desc }',
        ),
        [
          { kind: 'none', median: null, median_2: null },
          { kind: 'b', median: 6.45, median_2: 2 },
          { kind: 'a', median: 0.2, median_2: null },
        ],
      )
      assert.deepEqual(
        await rows('prices[kind, percentile(price, 50)] { group by kind having percentile(price, 50) < 1 }'),
        [{ kind: 'a', percentile: 0.2 }],
      )
      assert.deepEqual(await rows('prices[median(price)] { id > 100 }'), [{ median: null }])
    })

    test('Q31 tables have the same percentiles', async t => {
      const service = await startService(t, { engine })
      const { rows } = asking((await administrator(service)).client)
      const ids = (await rows('audit_events[id] {}')).map(({ id }) => Number(id))
      const [first = 0, last = 0] = [ids[0], ids.at(-1)]
      const [{ percentile } = {}] = await rows('audit_events[percentile(id, 25)] {}')
      const place = (ids.length - 1) / 4
      const low = ids[Math.floor(place)] ?? first
      assert.equal(percentile, low + ((ids[Math.floor(place) + 1] ?? last) - low) * (place % 1))
    })

    test('Q31 a wrong percentile is refused at its place', async t => {
      const { refused } = await withPrices(t, engine)
      const wrong: readonly (readonly [string, RegExp])[] = [
        ['prices[percentile(price, 101)] {}', /from 0 to 100 .* not 101/],
        ['prices[percentile(price, -1)] {}', /from 0 to 100 .* not -1/],
        ['prices[percentile(price, 1e-300)] {}', /at most 20 digits/],
        ['prices[percentile(price, "90")] {}', /not "90"/],
        ['prices[percentile(price)] {}', /takes a field and a number/],
        ['prices[median(kind)] {}', /can't be made of "kind", which is text/],
        ['prices { median(price) > 1 }', /behind "having"/],
      ]
      for (const [query, message] of wrong) assert.match((await refused(query)).detail, message, query)
    })
  })

async function withPrices(t: Parameters<typeof startService>[0], engine: (typeof engines)[number]) {
  const service = await startService(t, { engine })
  await service.addRecords('prices', 'id', [
    { id: 1, kind: 'a', price: 0.1, any: { n: 'one' } },
    { id: 2, kind: 'a', price: 0.3, any: null },
    { id: 3, kind: 'b', price: 12.8, any: { n: 1 } },
    { id: 4, kind: 'b', price: 0.1, any: { n: 3 } },
    { id: 5, kind: 'none', price: null, any: {} },
    { id: 6, kind: 'a', price: 0.2, any: {} },
  ])
  return asking(service.client())
}
