import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Condition } from '../../src/model/plan.ts'
import { condition, groupedRows, inPlan, plainRows } from '../support/data/arbitrary-plans.ts'
import { matches } from '../support/data/condition-oracle.ts'
import { planOn, randomRecords, run } from '../support/data/plans.ts'
import { innerRows, rowsOf } from '../support/data/row-oracle.ts'
import { test } from '../support/service/engines.ts'
import { startService } from '../support/service/service.ts'

test('Q20 conditions list what an oracle finds record by record', async t => {
  const service = await startService(t)
  const records = randomRecords(90, 1)
  await service.addRecords('things', 'id', records)
  for (const where of fc.sample(condition, { numRuns: 1_500, seed: 7 })) {
    const { total, rows } = await run(service, await planOn(service, 'things', where))
    const expected = records.filter(record => matches(where, record)).map(({ id }) => id)
    assert.deepEqual(
      rows.map(({ id }) => id),
      expected,
      JSON.stringify(where),
    )
    assert.equal(total, expected.length)
  }
})

test('Q22 rows show what an oracle reads from the records', async t => {
  const service = await startService(t)
  const records = randomRecords(70, 2)
  await service.addRecords('things', 'id', records)
  const plans = fc.sample(
    fc.record({
      where: fc.option(condition),
      shape: fc.oneof(plainRows, groupedRows),
      offset: fc.constantFrom(0, 0, 1, 5),
      limit: fc.constantFrom(null, null, 1, 3, 1000),
    }),
    { numRuns: 1_500, seed: 3 },
  )
  for (const { where, shape, offset, limit } of plans) {
    const plan = { ...(await planOn(service, 'things', where, { offset, limit })), shape }
    const { total, rows } = await run(service, plan)
    const expected = rowsOf(plan, records)
    const told = JSON.stringify({ where, shape, offset, limit })
    assert.equal(total, expected.length, told)
    const page = expected.slice(offset, limit === null ? undefined : offset + limit)
    assert.deepEqual(
      rows.map(row => JSON.stringify(row)),
      page.map(row => JSON.stringify(row)),
      told,
    )
  }
})

test('Q21 a record is in the rows of a subquery if an oracle finds its values there', async t => {
  const service = await startService(t)
  const [outer, inner] = [randomRecords(60, 4), randomRecords(40, 5)]
  await service.addRecords('things', 'id', outer)
  await service.addRecords('others', 'id', inner)
  const others = (await service.storage.entities.all()).get('others')
  assert.ok(others)
  const wheres = fc.sample(fc.tuple(inPlan(others), fc.option(condition)), { numRuns: 600, seed: 5 })
  for (const [within, besides] of wheres) {
    const where: Condition = besides ? { kind: 'or', of: [within, besides] } : within
    const { rows } = await run(service, await planOn(service, 'things', where))
    assert.deepEqual(
      rows.map(({ id }) => id),
      outer.filter(record => matches(where, record, innerRows(inner))).map(({ id }) => id),
      JSON.stringify(where),
    )
  }
})
