import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { administrator } from '../../support/clients/administrator.ts'
import { asking } from '../../support/clients/asking.ts'
import { list } from '../../support/clients/listings.ts'
import { engines } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

for (const engine of engines)
  describe(`buckets on ${engine}`, () => {
    test('Q29 numbers are put into buckets of any width, each named by its lower bound', async t => {
      const { rows } = await withWorks(t, engine)
      assert.deepEqual(await rows('works[year by 10, count()] { group by year by 10 order by year by 10 }'), [
        { year: -10, count: 1 },
        { year: 1890, count: 2 },
        { year: 1920, count: 1 },
        { year: null, count: 1 },
      ])
      assert.deepEqual(
        await rows('works[price by 0.1, count()] { group by price by 0.1 order by price desc }'),
        [
          { price: null, count: 2 },
          { price: 0.7, count: 1 },
          { price: 0.3, count: 1 },
          { price: -0.1, count: 1 },
        ],
      )
    })

    test('Q29 instants are put into periods in UTC, each named by its beginning', async t => {
      const { rows } = await withWorks(t, engine)
      const starts: Readonly<Record<string, readonly string[]>> = {
        year: ['2023-01-01T00:00:00.000Z', '2024-01-01T00:00:00.000Z'],
        quarter: ['2023-10-01T00:00:00.000Z', '2024-04-01T00:00:00.000Z'],
        month: ['2023-12-01T00:00:00.000Z', '2024-05-01T00:00:00.000Z'],
        week: ['2023-12-25T00:00:00.000Z', '2024-05-13T00:00:00.000Z'],
        day: ['2023-12-31T00:00:00.000Z', '2024-05-15T00:00:00.000Z'],
        hour: ['2023-12-31T23:00:00.000Z', '2024-05-15T08:00:00.000Z'],
      }
      for (const [unit, [first, second]] of Object.entries(starts))
        assert.deepEqual(await rows(`works[changed by ${unit}, count()] { group by changed by ${unit} }`), [
          { changed: first, count: 2 },
          { changed: second, count: 1 },
          { changed: null, count: 2 },
        ])
    })

    test('Q29 JSON has buckets where it has numbers, and conditions, columns and orders take buckets, too', async t => {
      const { rows } = await withWorks(t, engine)
      assert.deepEqual(await rows('works[size.width by 50, count()] { group by size.width by 50 }'), [
        { 'size.width': 0, count: 1 },
        { 'size.width': 100, count: 2 },
        { 'size.width': null, count: 2 },
      ])
      assert.deepEqual(
        await rows('works[id, year by 100] { year by 10 in [1890, 1920] order by year by 10 desc }'),
        [
          { id: 3, year: 1900 },
          { id: 1, year: 1800 },
          { id: 2, year: 1800 },
        ],
      )
      assert.deepEqual(
        await rows('works[year by 10, count()] { group by year by 10 having year > 1000 limit 1 }'),
        [{ year: 1890, count: 2 }],
      )
    })

    test('Q29 buckets without records are listed where they are asked for, within a bound', async t => {
      const { rows, refused } = await withWorks(t, engine)
      const filled = 'works[year by 10, count(), max(id)] { year > 0 group by year by 10 with empty'
      assert.deepEqual(await rows(`${filled} }`), [
        { year: 1890, count: 2, max: 2 },
        { year: 1900, count: 0, max: null },
        { year: 1910, count: 0, max: null },
        { year: 1920, count: 1, max: 3 },
      ])
      assert.deepEqual(await rows(`${filled} order by year desc limit 2 offset 1 }`), [
        { year: 1910, count: 0, max: null },
        { year: 1900, count: 0, max: null },
      ])
      const months = await rows('works[changed by month, count()] { group by changed by month with empty }')
      assert.deepEqual(
        months.map(({ count }) => count),
        [2, 0, 0, 0, 0, 1, 2],
      )
      const { detail } = await refused('works[year by 0.001, count()] { group by year by 0.001 with empty }')
      assert.match(detail, /more than 1,000 buckets/)
    })

    test('Q29 tables have the same buckets', async t => {
      const { service } = await withWorks(t, engine)
      const { client } = await administrator(service)
      const { rows: ask } = asking(client)
      const ids = await list<{ id: number; time: string }>(client, 'audit-events')
      const wanted = new Map<number, number>()
      for (const { id } of ids) wanted.set(id - (id % 2), (wanted.get(id - (id % 2)) ?? 0) + 1)
      assert.deepEqual(
        await ask('audit_events[id by 2, count()] { group by id by 2 }'),
        [...wanted].map(([id, count]) => ({ id, count })).toSorted((one, other) => one.id - other.id),
      )
      const [only] = await ask(
        'audit_events[time by year, count()] { time by year = "2000" or id > 0 group by time by year }',
      )
      assert.deepEqual(only, { time: `${ids[0]?.time.slice(0, 4)}-01-01T00:00:00.000Z`, count: ids.length })
    })

    test('Q29 a wrong bucket is refused at its place, and says what would be right', async t => {
      const { refused } = await withWorks(t, engine)
      const wrong: readonly (readonly [string, RegExp])[] = [
        ['works[year by month] {}', /such as 10, not by "month"/],
        ['works[changed by 10] {}', /one of year, quarter, month, week, day, hour, not by 10/],
        ['works[title by 10] {}', /can't be made of "title", which is text/],
        ['works[year by 0] {}', /above 0/],
        ['works[year by -5] {}', /above 0/],
        ['works[year by 1e-300] {}', /lies between 1e-100 and 1e100/],
        ['works[year by 1e300] {}', /lies between 1e-100 and 1e100/],
        ['works[year by decade] {}', /expected one of: <number> {2}year/],
        ['works[year by 10, count()] { group by year }', /add it to group_by/],
        ['works[year, count()] { group by year with empty }', /one bucket alone/],
        ['works[count()] { group by year by 10 with empty }', /to the columns/],
        [
          'works[year by 10, count()] { group by year by 10 with empty order by count() }',
          /sorted by the bucket alone/,
        ],
        [
          'works[year by 10, count()] { group by year by 10 with empty having count() > 1 }',
          /beside with empty/,
        ],
      ]
      for (const [query, message] of wrong) assert.match((await refused(query)).detail, message, query)
    })
  })

async function withWorks(t: Parameters<typeof startService>[0], engine: (typeof engines)[number]) {
  const service = await startService(t, { engine })
  await service.addRecords('works', 'id', [
    { id: 1, title: 'a', year: 1899, price: 0.3, changed: '2023-12-31T23:30:00Z', size: { width: 100 } },
    {
      id: 2,
      title: 'b',
      year: 1890,
      price: 0.75,
      changed: '2024-01-01T01:30:00+02:00',
      size: { width: 149.5 },
    },
    { id: 3, title: 'c', year: 1920, price: -0.01, changed: '2024-05-15T08:59:59.9Z', size: { width: 49 } },
    { id: 4, title: 'd', year: -1, price: null, changed: null, size: { width: 'wide' } },
    { id: 5, title: 'e', year: null, price: null, changed: null, size: null },
  ])
  return { service, ...asking(service.client()) }
}
