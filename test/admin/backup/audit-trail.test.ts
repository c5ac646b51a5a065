import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { hex, nothingBefore } from '../../../src/model/trail.ts'
import type { StoredEvent } from '../../../src/storage/trail.ts'
import { assertDone, backUp, emptyPlace, restore } from '../../support/data/backups.ts'
import { addEvents, storedEvents, tamper, verify, withStorage } from '../../support/data/trail.ts'
import { isLong, repeats } from '../../support/scale.ts'
import { allEngines, type Engine, engineIn, test } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

const backupsIn = (t: TestContext) => join(temporaryFolder(t, 'sqlite'), 'backups')

/** Converts hashes to hex, because the drivers use byte arrays of their own. */
const plain = (events: readonly StoredEvent[]) =>
  events.map(event => ({ ...event, hash: hex(event.hash ?? nothingBefore) }))

/** Adds events at the same time, which on PostgreSQL makes several chains. */
const addAtOnce = ({ storage }: Service) => Promise.all([1, 2, 3, 4].map(() => addEvents(storage, 5)))

test('D8 D9 a trail that was backed up verifies in either engine, and goes on there', async t => {
  const service = await startService(t)
  await addAtOnce(service)
  await service.storage.trail.checkpoint()
  // No checkpoint has signed these events when the backup is made.
  await addAtOnce(service)
  const before = await storedEvents(service.storage)
  const folder = backupsIn(t)
  await backUp(service.dataFolder, folder)
  // Each engine restores into the other one, and back.
  for (const engine of allEngines.filter(one => isLong || one !== engineIn(t))) {
    const place = emptyPlace(t, engine)
    assertDone(await restore(place, folder))
    assert.match(assertDone(await carrel(place, ['events', 'verify'])), /all as they were written/)
    await withStorage(place, async storage => {
      assert.deepEqual(plain(await storedEvents(storage)).slice(0, before.length), plain(before))
      await addEvents(storage, 3)
      await storage.trail.checkpoint()
      const { faults, events } = await verify(storage)
      assert.deepEqual(faults, [])
      assert.equal(events, before.length + 4)
      await prunedStillVerifies(t, place, engine, before.length)
      // The end of no chain can be cut off, not even one without a signature.
      const ends = new Map(before.map(({ chain, id }) => [chain, id]))
      await tamper(place, `DELETE FROM event WHERE id IN (${[...ends.values()].join(', ')})`)
      assert.ok((await verify(storage)).faults.length >= ends.size, `${ends.size} chains`)
    })
  }
})

/** Restores a copy of the store to the other engine, and prunes it there in two steps. */
async function prunedStillVerifies(t: TestContext, dataFolder: string, engine: Engine, count: number) {
  const folder = backupsIn(t)
  await backUp(dataFolder, folder)
  const place = emptyPlace(t, engine === 'sqlite' ? 'postgres' : 'sqlite')
  assertDone(await restore(place, folder))
  await withStorage(place, async storage => {
    const all = await storedEvents(storage)
    let removed = 0
    for (const at of [Math.floor(count / 2), count + 1]) {
      for (let some = -1; some !== 0; ) {
        some = await storage.trail.pruneSome(all[at]?.time ?? '')
        removed += some
      }
      assert.deepEqual((await verify(storage)).faults, [])
    }
    assert.ok(removed > count / 2)
    await addEvents(storage, 1)
    await storage.trail.checkpoint()
    const { faults, events } = await verify(storage)
    assert.deepEqual(faults, [])
    assert.equal(events, all.length - removed + 1)
  })
}

test('D8 D9 backups that are made while events are written verify when they are restored', async t => {
  const service = await startService(t)
  const folder = backupsIn(t)
  const others = allEngines.filter(engine => engine !== engineIn(t))
  let isOver = false
  const busy = [1, 2, 3, 4].map(async () => {
    while (!isOver) await addEvents(service.storage, 1)
  })
  const signing = (async () => {
    while (!isOver) await service.storage.trail.checkpoint()
  })()
  const names: string[] = []
  try {
    await until(
      'three events',
      () => storedEvents(service.storage),
      found => found.length > 2,
    )
    for (let round = 0; round < repeats(2, 3); round++)
      names.push((await backUp(service.dataFolder, folder)).name)
  } finally {
    isOver = true
    await Promise.all([...busy, signing])
  }
  assert.deepEqual((await verify(service.storage)).faults, [])
  for (const [at, name] of names.entries()) {
    const place = emptyPlace(t, (at === 0 ? others[0] : undefined) ?? engineIn(t))
    assertDone(await restore(place, folder, '--backup', name))
    const { stdout } = await carrel(place, ['events', 'verify', '--json'])
    const { faults, events } = JSON.parse(stdout) as { faults: readonly object[]; events: number }
    assert.deepEqual(faults, [])
    assert.ok(events > 2)
  }
})

test('D8 D9 ids of events that were pruned are not given again after a restore', async t => {
  const service = await startService(t)
  await addEvents(service.storage, 9)
  const last = (await storedEvents(service.storage)).at(-1)?.id ?? 0
  await service.storage.trail.pruneSome(new Date(Date.now() + 1).toISOString())
  assert.deepEqual(await storedEvents(service.storage), [])
  const folder = backupsIn(t)
  await backUp(service.dataFolder, folder)
  for (const engine of allEngines) {
    const place = emptyPlace(t, engine)
    assertDone(await restore(place, folder))
    await withStorage(place, async storage => {
      const [first] = await storedEvents(storage)
      assert.ok((first?.id ?? 0) > last, `${first?.id} > ${last}`)
      assert.deepEqual((await verify(storage)).faults, [])
    })
  }
})
