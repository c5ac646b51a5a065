import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { commandEvent } from '../../src/cli/store.ts'
import { addEvents, storedEvents, verify } from '../support/data/trail.ts'
import { storeTests } from '../support/service/stores.ts'
import { until } from '../support/service/waiting.ts'

/** Declares tests of the size of the audit trail in the store. */
const test = storeTests()

const eperson = randomUUID()

test('D9 events that repeat are pruned at their size, oldest first, and logins and changes stay', async storage => {
  const { trail, metrics } = storage
  const add = async (from: number, count: number) => {
    for (let at = from; at < from + count; at++) {
      await trail.record({ ...commandEvent('download', `file ${at}`), eperson, actor: eperson, session: at })
      if (at % 10 === 0) await addEvents(storage, 1)
    }
  }
  const kinds = async () => {
    const events = await storedEvents(storage)
    return {
      changes: events.filter(({ event }) => event === 'group.add').length,
      downloads: events.flatMap(({ event, object }) => (event === 'download' ? [object] : [])),
    }
  }
  const keepWithin = async (limit: number) => {
    let removed = 0
    for (;;) {
      const kept = await trail.keepWithin(limit)
      removed += kept.removed
      if (kept.isDone) return { bytes: kept.bytes, removed }
    }
  }
  await add(0, 300)
  await trail.checkpoint()
  const { bytes: whole, removed: none } = await keepWithin(1e9)
  assert.deepEqual([none, await trail.size()], [0, whole])
  await until(
    'the size among the metrics',
    () => metrics.repeatedEvents(),
    size => size === whole,
  )
  const { bytes, removed } = await keepWithin(whole / 2)
  assert.ok(bytes <= whole / 2 && bytes > whole / 2 - 1_000, `${bytes} of ${whole} bytes`)
  assert.equal(await trail.size(), bytes)
  const { changes, downloads } = await kinds()
  assert.deepEqual([changes, downloads.length], [30, 300 - removed])
  assert.equal(downloads.at(-1), 'file 299', 'the newest stay')
  const verdict = await verify(storage)
  assert.deepEqual([verdict.faults, verdict.pruned?.events], [[], removed])

  // The trail goes on, whatever is pruned next.
  await add(300, 50)
  await trail.checkpoint()
  assert.ok((await keepWithin(whole / 4)).removed > 50)
  assert.deepEqual((await verify(storage)).faults, [])
  assert.ok((await trail.pruneSome(new Date(Date.now() + 1).toISOString())) > 0)
  assert.equal(await trail.size(), 0)
  assert.deepEqual((await verify(storage)).faults, [])
  await add(350, 2)
  await trail.checkpoint()
  assert.deepEqual((await verify(storage)).faults, [])
  assert.equal((await keepWithin(0)).removed, 2)
  assert.deepEqual([(await verify(storage)).faults, (await kinds()).changes], [[], 1])
})
