import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import fc from 'fast-check'
import { commandEvent } from '../../src/cli/store.ts'
import { entityTag } from '../../src/model/declared.ts'
import { asking } from '../support/clients/asking.ts'
import { queryPath } from '../support/clients/listings.ts'
import { addItem, everybody, membersOf } from '../support/data/repository.ts'
import { repeats, runs } from '../support/scale.ts'
import { type Engine, engineIn, test, testWithoutStore } from '../support/service/engines.ts'
import { startService } from '../support/service/service.ts'

/** Records of which the even ones have no third, and a tenth has no kind. */
const count = 300
const records = Array.from({ length: count }, (_, id) => ({
  id,
  kind: id % 10 === 0 ? null : `kind ${id % 7}`,
  third: id % 2 === 0 ? null : id / 3,
}))

/** Conditions of all forms that find many, few and no records. */
const conditions = [
  '',
  'id < 100',
  'third is null',
  'kind = "kind 3"',
  '!(kind = "kind 3") and id > 20',
  'id = 7 or third > 80',
  'kind ~ "[0-2]$"',
  'id in things[id] { kind = "kind 1" }',
  'id by 50 = 100',
  'id < third',
]

const asked = fc.record({
  condition: fc.constantFrom(...conditions),
  size: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: count + 20 })),
  seed: fc.oneof(fc.nat(9), fc.integer({ min: 0, max: 2 ** 32 - 1 })),
  page: fc.integer({ min: 1, max: 40 }),
})

type Asked = typeof asked extends fc.Arbitrary<infer T> ? T : never

async function started(t: TestContext, engine: Engine) {
  const service = await startService(t, { engine })
  await service.addRecords('things', 'id', records)
  const { rows } = asking(service.client())
  const ids = async (inside: string) => (await rows(`things[id] { ${inside} }`)).map(({ id }) => Number(id))
  return { service, rows, ids }
}

testWithoutStore(
  'Q32 a sample has the wanted number of different records of those that match, the same on both engines, on pages and in every order',
  async t => {
    const [one, other] = [await started(t, 'sqlite'), await started(t, 'postgres')]
    const check = async ({ condition, size, seed, page }: Asked) => {
      const sample = `${condition} sample ${size} seed ${seed}`
      const matching = new Set(await one.ids(condition))
      const sampled = await one.ids(sample)
      assert.equal(sampled.length, Math.min(size, matching.size))
      assert.equal(new Set(sampled).size, sampled.length)
      assert.ok(sampled.every(id => matching.has(id)))
      assert.deepEqual(await other.ids(sample), sampled)
      for (const { ids, rows } of [one, other]) {
        const pages: number[] = []
        for (let offset = 0; offset < sampled.length; offset += page)
          pages.push(...(await ids(`${sample} limit ${page} offset ${offset}`)))
        assert.deepEqual(pages, sampled)
        assert.deepEqual(await ids(`${sample} order by id desc`), sampled.toReversed())
        assert.deepEqual(
          (await ids(`${sample} order by third desc, kind`)).toSorted((a, b) => a - b),
          sampled,
        )
        assert.deepEqual(await rows(`things[count()] { ${sample} }`), [{ count: sampled.length }])
        const groups = await rows(`things[kind, count()] { ${sample} group by kind }`)
        assert.equal(
          groups.reduce((sum, group) => sum + Number(group.count), 0),
          sampled.length,
        )
      }
    }
    await fc.assert(fc.asyncProperty(asked, check), runs(25, 250))
  },
)

test('Q32 over many seeds each record is chosen equally often, and seeds have samples of their own', async t => {
  const { ids } = await started(t, engineIn(t))
  const [size, seeds] = [30, repeats(80, 800)]
  const chosen = new Map<number, number>()
  let shared = 0
  let before: readonly number[] = []
  for (let seed = 0; seed < seeds; seed++) {
    const sample = await ids(`sample ${size} seed ${seed}`)
    for (const id of sample) chosen.set(id, (chosen.get(id) ?? 0) + 1)
    shared += sample.filter(id => before.includes(id)).length
    before = sample
  }
  // Chi-square with 299 degrees of freedom has a standard deviation of 24; the seeds are always the same.
  const share = size / count
  const expected = seeds * share
  const distance = records.reduce((sum, { id }) => sum + ((chosen.get(id) ?? 0) - expected) ** 2, 0)
  const square = distance / (expected * (1 - share))
  assert.ok(square > 170 && square < 430, `chi-square is ${square}`)
  // Two samples of a tenth share three records, as a rule.
  const overlap = shared / (seeds - 1)
  assert.ok(overlap > 1.5 && overlap < 4.5, `neighbors share ${overlap} records`)
})

test('Q32 Q25 a sample is of what its caller may see, of the default condition and of the records that belong to one', async t => {
  const { service, ids } = await started(t, engineIn(t))
  const member = await service.addEperson('ruth@example.org', { groups: ['Readers'] })
  assert.ok(member)
  for (let n = 0; n < 24; n++)
    await addItem(service, {
      identifier: `test/${n}`,
      readers: n % 2 === 0 ? everybody : membersOf('Readers'),
    })
  const reader = service.client()
  await reader.login('ruth@example.org')
  for (const [client, sees] of [
    [service.client(), 12],
    [reader, 24],
  ] as const) {
    const { rows } = asking(client)
    const all = new Set((await rows('items[identifier] { }')).map(({ identifier }) => identifier))
    assert.equal(all.size, sees)
    for (const [size, seed] of [
      [5, 1],
      [11, 2],
      [20, 3],
      [100, 4],
    ] as const) {
      const sample = await rows(`items[identifier] { sample ${size} seed ${seed} }`)
      assert.equal(sample.length, Math.min(size, sees))
      assert.ok(sample.every(({ identifier }) => all.has(identifier)))
    }
  }

  const { entities } = service.storage
  await service.addRecords(
    'parts',
    'part',
    records.map(({ id }) => ({ part: id, of: id % 5 })),
  )
  const parts = (await entities.all()).get('parts') ?? assert.fail('there are no parts')
  const relations = [{ fields: ['of'], to: { entity: 'things', fields: ['id'] } }]
  const declared = { read: 'anonymous', relations } as const
  assert.equal(
    await entities.declare('parts', declared, entityTag(parts), commandEvent('entity.change')),
    'declared',
  )
  const query = encodeURIComponent('["from", "parts", ["sample", 40, 9]]')
  const response = await service.client().get(`${queryPath}/things/3/parts?query=${query}`)
  const related = (await response.json()) as readonly { readonly part: number; readonly of: number }[]
  assert.equal(related.length, 40, JSON.stringify(related))
  assert.ok(related.every(({ of }) => of === 3))
  const third = ['function', 'bucket', 'part', 100]
  const grouped = [
    'extract',
    [third, ['function', 'count']],
    ['with_empty'],
    ['group_by', third],
    ['<', 'part', 250],
  ]
  const counted = encodeURIComponent(JSON.stringify(['from', 'parts', grouped, ['limit', 2]]))
  assert.deepEqual(
    await (await service.client().get(`${queryPath}/things/3/parts?query=${counted}`)).json(),
    [
      { part: 0, count: 20 },
      { part: 100, count: 20 },
    ],
  )

  const things = (await entities.all()).get('things') ?? assert.fail('there are no things')
  const limited = { read: 'anonymous', defaultCondition: '["<", "id", 50]' } as const
  assert.equal(
    await entities.declare('things', limited, entityTag(things), commandEvent('entity.change')),
    'declared',
  )
  const own = encodeURIComponent('["from", "things", ["sample", 40, 9]]')
  const shown = (await (await service.client().get(`${queryPath}/things?query=${own}`)).json()) as readonly {
    readonly id: number
  }[]
  assert.equal(shown.length, 40)
  assert.ok(shown.every(({ id }) => id < 50))
  assert.deepEqual(
    await ids('sample 40 seed 9'),
    shown.map(({ id }) => id),
  )
})
