import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keepHouse } from '../../src/cli/housekeeping.ts'
import { runSql } from '../support/service/databases.ts'
import { adminOf, startNodes } from '../support/service/nodes.ts'
import type { Service } from '../support/service/service.ts'

/** The nodes on each duty, by their places. */
const onDuty = (nodes: readonly Service[]) =>
  Promise.all(
    (['trail', 'housekeeping'] as const).map(async duty => {
      const found = await Promise.all(nodes.map(({ storage }) => storage.isOnDuty(duty)))
      return nodes.filter((_, at) => found[at])
    }),
  )

test('D4 D9 of three nodes one is on each duty, for as long as it runs, and then another', async t => {
  let { nodes } = await startNodes(t, 3)
  while (nodes.length > 0) {
    const first = await onDuty(nodes)
    for (const found of first) assert.equal(found.length, 1)
    assert.deepEqual(await onDuty(nodes), first)
    const [[one] = []] = first
    assert.ok(one)
    await one.stop()
    nodes = nodes.filter(node => node !== one)
  }
})

test('D4 T11 the node that keeps the house forgets what has expired for all, and the others leave it to that one', async t => {
  const { nodes, url } = await startNodes(t, 2)
  const [one, other] = nodes
  assert.ok(one && other)
  await adminOf(one)
  assert.equal(await one.storage.isOnDuty('housekeeping'), true)
  const sessions = async () => (await runSql(url, 'SELECT 1 FROM carrel.session')).length
  await runSql(url, 'UPDATE carrel.session SET expires = 1')
  const before = await sessions()
  assert.ok(before > 0)
  await (await keepHouse(other.storage, other.config))()
  assert.equal(await sessions(), before)
  await (await keepHouse(one.storage, one.config))()
  assert.equal(await sessions(), 0)
})
