import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import type { Store } from '../../../src/features.ts'
import { checkpointName } from '../../../src/model/trail.ts'
import { addEvents, storedEvents, tamper, verify } from '../../support/data/trail.ts'
import { engineIn, runSqlIn, test, testOn } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

/**
 * Creates a store with twelve events in one chain and two checkpoints. @returns it, with a function that
 * restores the tables
 */
async function storeWithTrail(t: TestContext) {
  const { dataFolder, storage } = await startService(t)
  await addEvents(storage, 6)
  await storage.trail.checkpoint()
  await addEvents(storage, 6)
  await storage.trail.checkpoint()
  const tables = ['event', 'trail_checkpoint', 'trail_head', 'trail_key']
  await tamper(dataFolder, tables.map(one => `CREATE TABLE ${one}_before AS SELECT * FROM ${one}`).join(';'))
  const restore = () =>
    tamper(
      dataFolder,
      tables.map(one => `DELETE FROM ${one}; INSERT INTO ${one} SELECT * FROM ${one}_before`).join(';'),
    )
  assert.deepEqual((await verify(storage)).faults, [])
  const events = await storedEvents(storage)
  return { dataFolder, storage, restore, ids: events.map(({ id }) => id) }
}

/** @returns the ids of the events with faults */
const blamed = async (storage: Store) => (await verify(storage)).faults.map(({ event }) => event)

test('D9 verify names an event of which any column was changed', async t => {
  const { dataFolder, storage, restore, ids } = await storeWithTrail(t)
  const bytes = engineIn(t) === 'sqlite' ? `x'${'ab'.repeat(32)}'` : `'\\x${'ab'.repeat(32)}'`
  const changes = {
    id: '9000',
    time: "'2020-01-01T00:00:00.000Z'",
    event: "'group.delete'",
    outcome: "'failure'",
    eperson: "'someone'",
    actor: "'someone'",
    client_ip: "'192.0.2.1'",
    method: "'password'",
    object: "'another group'",
    reason: "'a reason'",
    count: '2',
    changes: `'{"before":null,"after":{}}'`,
    chain: '5',
    place: '500',
    hash: bytes,
  }
  for (const [column, value] of Object.entries(changes))
    for (const at of [0, 4, ids.length - 1]) {
      const id = ids[at] ?? 0
      await tamper(dataFolder, `UPDATE event SET ${column} = ${value} WHERE id = ${id}`)
      const found = column === 'id' ? 9000 : id
      assert.ok((await blamed(storage)).includes(found), `${column} of event ${id}`)
      await restore()
    }
  assert.deepEqual(await blamed(storage), [])
})

test('D9 verify names an event that is missing, or the one after it', async t => {
  const { dataFolder, storage, restore, ids } = await storeWithTrail(t)
  await tamper(dataFolder, `DELETE FROM event WHERE id = ${ids[3]}`)
  const { faults } = await verify(storage)
  assert.deepEqual(
    faults.map(({ event, problem }) => [event, problem]),
    [[ids[4], 'the event before it is missing']],
  )
  await restore()

  await tamper(dataFolder, `DELETE FROM event WHERE id <= ${ids[2]}`)
  assert.match((await verify(storage)).faults[0]?.problem ?? '', /^3 events before it are missing$/)
  await restore()

  // Cut off at the end, up to events that a checkpoint has signed.
  await tamper(dataFolder, `DELETE FROM event WHERE id > ${ids.at(-3)}`)
  assert.deepEqual(
    (await verify(storage)).faults.map(({ event, problem }) => [event, problem]),
    [[ids.at(-1), 'it and 1 before it are missing: the checkpoint 3 signed it']],
  )
  await restore()

  await tamper(dataFolder, 'DELETE FROM event')
  assert.deepEqual(await blamed(storage), [ids.at(-1)])
})

test('D9 events that come after the end was cut off differ from what was signed', async t => {
  const { dataFolder, storage, ids } = await storeWithTrail(t)
  await tamper(dataFolder, `DELETE FROM event WHERE id > ${ids.at(-3)}`)
  await addEvents(storage, 3)
  await storage.trail.checkpoint()
  const { faults } = await verify(storage)
  assert.ok(faults.length > 0)
  assert.match(faults[0]?.problem ?? '', /the checkpoint 3 signed|events? before it (is|are) missing/)
})

test('D9 verify names events that were moved, inserted or repeated', async t => {
  const { dataFolder, storage, restore, ids } = await storeWithTrail(t)
  const [, , one = 0, , other = 0] = ids
  const swap = (columns: readonly string[]) =>
    `DROP INDEX IF EXISTS event_by_place; UPDATE event SET ${columns
      .map(
        column =>
          `${column} = (SELECT ${column} FROM event_before b WHERE b.id = CASE event.id WHEN ${one} THEN ${other} ELSE ${one} END)`,
      )
      .join(', ')} WHERE id IN (${one}, ${other})`
  for (const columns of [['place'], ['place', 'hash'], ['time', 'event', 'object'], ['hash']]) {
    await tamper(dataFolder, swap(columns))
    const found = await blamed(storage)
    assert.ok(found.includes(one) && found.includes(other), `${columns} of ${one} and ${other}: ${found}`)
    await restore()
  }

  const columns = 'time, event, outcome, eperson, actor, client_ip, method, object, reason, count'
  const forgeries = {
    'at the end': `SELECT 9001, ${columns}, chain, place + 20, hash FROM event WHERE id = ${one}`,
    'after the last': `SELECT 9001, ${columns}, chain, (SELECT max(place) + 1 FROM event), hash FROM event WHERE id = ${one}`,
    'in its own chain': `SELECT 9001, ${columns}, 7, 1, hash FROM event WHERE id = ${one}`,
    'in no chain': `SELECT 9001, ${columns}, NULL, NULL, NULL FROM event WHERE id = ${one}`,
    repeated: `SELECT 9001, ${columns}, chain, place, hash FROM event WHERE id = ${one}`,
  }
  for (const [name, sql] of Object.entries(forgeries)) {
    await tamper(dataFolder, `INSERT INTO event (id, ${columns}, chain, place, hash) ${sql}`)
    assert.ok((await blamed(storage)).includes(9001), name)
    // A later checkpoint doesn't make a forgery valid.
    await storage.trail.checkpoint()
    assert.ok((await blamed(storage)).includes(9001), `${name}, signed`)
    await restore()
  }
  assert.deepEqual(await blamed(storage), [])
})

test('D9 verify finds checkpoints that were changed, forged or removed', async t => {
  const { dataFolder, storage, restore } = await storeWithTrail(t)
  const bytes = engineIn(t) === 'sqlite' ? `x'${'cd'.repeat(32)}'` : `'\\x${'cd'.repeat(32)}'`
  const changes = [
    "UPDATE trail_checkpoint SET time = '2020-01-01T00:00:00.000Z' WHERE n = 2",
    "UPDATE trail_checkpoint SET kind = 'prune' WHERE n = 2",
    "UPDATE trail_checkpoint SET detail = '{}' WHERE n = 2",
    "UPDATE trail_checkpoint SET detail = 'not JSON' WHERE n = 3",
    `UPDATE trail_checkpoint SET mac = ${bytes} WHERE n = 3`,
    'UPDATE trail_head SET place = place - 1 WHERE checkpoint = 3',
    `UPDATE trail_head SET hash = ${bytes} WHERE checkpoint = 2`,
    'UPDATE trail_head SET event = 4 WHERE checkpoint = 2',
    "UPDATE trail_head SET time = '2020-01-01T00:00:00.000Z' WHERE checkpoint = 2",
    'UPDATE trail_head SET chain = 4 WHERE checkpoint = 2',
    'DELETE FROM trail_head WHERE checkpoint = 2',
    'DELETE FROM trail_checkpoint WHERE n = 1',
    'DELETE FROM trail_checkpoint WHERE n = 2',
    'DELETE FROM trail_checkpoint',
    'DELETE FROM trail_key',
    `UPDATE trail_key SET wrapped = ${bytes}`,
    `INSERT INTO trail_checkpoint SELECT 4, time, kind, detail, mac FROM trail_checkpoint WHERE n = 3`,
    // A forged marker that would excuse missing events.
    `DELETE FROM event WHERE id < 5; INSERT INTO trail_checkpoint SELECT 4, time, 'prune', '{"first":1}', mac
       FROM trail_checkpoint WHERE n = 3; INSERT INTO trail_head SELECT chain, 4, 4, event, time, hash
       FROM trail_head WHERE checkpoint = 3`,
  ]
  for (const change of changes) {
    await tamper(dataFolder, change)
    assert.ok((await verify(storage)).faults.length > 0, change)
    await restore()
  }
  assert.deepEqual(await blamed(storage), [])
})

test('D9 a checkpoint that was kept elsewhere shows that the newest events and checkpoints were removed', async t => {
  const { dataFolder, storage, ids } = await storeWithTrail(t)
  const kept = (await verify(storage)).last?.name
  assert.ok(kept)
  assert.deepEqual((await verify(storage, kept)).faults, [])
  // The remaining rows are those of an earlier time.
  await tamper(
    dataFolder,
    `DELETE FROM event WHERE id > ${ids[5]}; DELETE FROM trail_head WHERE checkpoint = 3;
     DELETE FROM trail_checkpoint WHERE n = 3`,
  )
  assert.deepEqual((await verify(storage)).faults, [])
  const { faults } = await verify(storage, kept)
  assert.deepEqual(
    faults.map(({ problem }) => problem),
    [`the checkpoint ${kept} is not in the trail`],
  )
  const other = await storage.trail.read(async reader => {
    for await (const checkpoint of reader.checkpoints()) return checkpointName(checkpoint)
    return ''
  })
  assert.notEqual(other, kept)
})

test('D9 verify names no more faults than it was asked for', async t => {
  const { dataFolder, storage } = await storeWithTrail(t)
  await tamper(dataFolder, "UPDATE event SET reason = 'changed'")
  assert.equal((await verify(storage, null, 5)).faults.length, 5)
  assert.equal((await verify(storage, null, 100)).faults.length, 12)
})

/** Returns statements that someone may run by mistake. @param event the name of the table */
const mistakes = (event: string) => [`UPDATE ${event} SET count = 2`, `DELETE FROM ${event}`]

testOn('sqlite', 'D9 an event can be neither changed nor removed by mistake', async t => {
  const { dataFolder, storage } = await startService(t)
  await addEvents(storage, 2)
  const db = new DatabaseSync(join(dataFolder, 'carrel.db'))
  for (const sql of mistakes('event')) assert.throws(() => db.exec(sql), /append-only/)
  db.close()
})

testOn('postgres', 'D9 an event of a database can be neither changed nor removed by mistake', async t => {
  const { dataFolder, storage } = await startService(t)
  await addEvents(storage, 2)
  for (const sql of mistakes('carrel.event')) await assert.rejects(runSqlIn(dataFolder, sql), /append-only/)
})
