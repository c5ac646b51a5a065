import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { administrator } from '../../support/clients/administrator.ts'
import { asking } from '../../support/clients/asking.ts'
import { engines } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

for (const engine of engines)
  describe(`comparisons of two fields on ${engine}`, () => {
    test('Q33 two fields of a record are compared by their values', async t => {
      const { rows } = await withSizes(t, engine)
      const found: readonly (readonly [string, readonly number[]])[] = [
        ['height > width', [2]],
        ['height = width', [3]],
        ['height != width', [1, 2]],
        ['!(height > width)', [1, 3]],
        ['height <= width', [1, 3]],
        ['size.h > height', [1]],
        ['size.h = height', [2]],
        ['name < title', [1, 2]],
        ['made < sold', [1]],
        ['made = sold', [2]],
        ['name = size.h', [4]],
        ['length(tags) = height', [3]],
        ['height by 10 = width by 10', [2, 3]],
      ]
      for (const [condition, ids] of found)
        assert.deepEqual(
          await rows(`sizes[id] { ${condition} }`),
          ids.map(id => ({ id })),
          condition,
        )
    })

    test('Q33 two columns of a table are compared', async t => {
      const service = await startService(t, { engine })
      const { rows } = asking((await administrator(service)).client)
      assert.deepEqual(await rows('audit_events[count()] { id < count }'), [{ count: 0 }])
      assert.deepEqual(
        await rows('audit_events[count()] { eperson = actor or id = id }'),
        await rows('audit_events[count()] {}'),
      )
    })

    test('Q33 what can not be compared is refused at its place', async t => {
      const { refused } = await withSizes(t, engine)
      const wrong: readonly (readonly [string, RegExp])[] = [
        [
          'sizes { name > height }',
          /"name" is text and "height" is a number, so they can't be compared by >/,
        ],
        ['sizes { name = Leiden }', /no field "Leiden".* A text needs quotes: "Leiden"/],
        ['sizes { made = size.h }', /can't be compared by =/],
        ['sizes { name > size.h }', /can't be compared by >/],
        ['sizes { tags = name }', /"tags" is a list/],
        ['sizes[max(height), min(width)] { having max(height) > width }', /expected one of/],
      ]
      for (const [query, message] of wrong) assert.match((await refused(query)).detail, message, query)
      assert.match(
        (await refused('["from", "sizes", ["=", "height", ["field", "width"]]]')).detail,
        /\["=", \["field", "height"\], \["field", "width"\]\]/,
      )
    })
  })

async function withSizes(t: Parameters<typeof startService>[0], engine: (typeof engines)[number]) {
  const service = await startService(t, { engine })
  await service.addRecords('sizes', 'id', [
    {
      ...{ id: 1, height: 9.5, width: 10, name: 'A', title: 'a', tags: ['x'] },
      ...{ made: '2020-01-01T00:00:00Z', sold: '2020-01-01T00:00:01Z', size: { h: 20 } },
    },
    {
      ...{ id: 2, height: 0.3, width: 0.1, name: 'z', title: 'é', tags: [] },
      ...{ made: '2020-01-01T01:00:00+01:00', sold: '2020-01-01T00:00:00Z', size: { h: 0.3 } },
    },
    {
      id: 3,
      height: 2,
      width: 2,
      name: 'b',
      title: 'b',
      tags: ['x', 'y'],
      made: null,
      sold: null,
      size: { h: 'two' },
    },
    {
      id: 4,
      height: null,
      width: 1,
      name: 'w',
      title: null,
      tags: null,
      made: null,
      sold: null,
      size: { h: 'w' },
    },
  ])
  return asking(service.client())
}
