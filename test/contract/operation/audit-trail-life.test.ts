import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandEvent } from '../../../src/cli/store.ts'
import { eventHash, eventRow, hex, newChain, nothingBefore } from '../../../src/model/trail.ts'
import { pruneOlder } from '../../../src/storage/statements/keep-trail.ts'
import { addEvents, storedEvents, tamper, verify, withStorage } from '../../support/data/trail.ts'
import { createDatabase } from '../../support/service/databases.ts'
import { databaseOf, engineIn, runSqlIn, test, testOn } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../../support/service/service.ts'
import { clockOfStore } from '../../support/service/shifted-clock.ts'
import { until } from '../../support/service/waiting.ts'

/**
 * Creates a store with events in a chain, a minute apart, the newest of them two days old.
 *
 * @param ahead the number of the event during which the clock was a year ahead
 */
async function olderStore(dataFolder: string, count: number, ahead?: number): Promise<void> {
  const [key] = await withStorage(dataFolder, async ({ trail }) => {
    await trail.checkpoint()
    return trail.read(async ({ keys }) => keys)
  })
  assert.ok(key)
  const start = Date.now() - 2 * 24 * 3600 * 1000 - count * 60_000
  const isPostgres = (await databaseOf(dataFolder)) !== undefined
  const chain = newChain('changes')
  let before: Uint8Array = nothingBefore
  const rows = Array.from({ length: count }, (_, at) => {
    const time = new Date(start + at * 60_000 + (at === ahead ? 365 * 24 * 3600 * 1000 : 0)).toISOString()
    const event = { ...commandEvent('group.add'), object: `old ${at}` }
    before = eventHash(before, at + 1, key.seal(eventRow(event, time, chain, at + 1)))
    const hash = isPostgres ? `'\\x${hex(before)}'` : `x'${hex(before)}'`
    return `(${at + 1}, '${time}', 'group.add', 'success', 'old ${at}', ${chain}, ${at + 1}, ${hash})`
  })
  await tamper(
    dataFolder,
    `INSERT INTO event (id, time, event, outcome, object, chain, place, hash) VALUES ${rows.join(', ')}`,
  )
  if (isPostgres) await runSqlIn(dataFolder, `SELECT setval('carrel.event_id_seq', ${count})`)
}

test('D9 pruning removes old events in small steps, and leaves a marker that verifies', async t => {
  const dataFolder = temporaryFolder(t)
  await olderStore(dataFolder, 2_500)
  await withStorage(dataFolder, async storage => {
    await addEvents(storage, 5)
    await storage.trail.checkpoint()
    const all = await storedEvents(storage)
    const before = all[1_800]?.time ?? ''
    const removed: number[] = []
    for (let some = -1; some !== 0; removed.push(some)) some = await storage.trail.pruneSome(before)
    assert.deepEqual(removed, [1_000, 800, 0])
    await addEvents(storage, 5)
    const verdict = await verify(storage)
    assert.deepEqual(verdict.faults, [])
    assert.deepEqual(verdict.pruned, { events: 1_800, before })
    assert.equal(verdict.events, 710)
    assert.equal((await storedEvents(storage))[0]?.id, all[1_800]?.id)

    // An event that should have been kept.
    await tamper(dataFolder, `DELETE FROM event WHERE id = ${all[1_800]?.id}`)
    assert.equal((await verify(storage)).faults[0]?.problem, 'the event before it is missing')
  })
})

test('D9 pruning stops in a chain where the clock was ahead, and the rest of it stays', async t => {
  const dataFolder = temporaryFolder(t)
  await olderStore(dataFolder, 10, 4)
  await withStorage(dataFolder, async storage => {
    const aDayAgo = new Date(Date.now() - 24 * 3600 * 1000).toISOString()
    for (const count of [4, 0]) assert.equal(await storage.trail.pruneSome(aDayAgo), count)
    assert.deepEqual((await verify(storage)).faults, [])
    assert.equal((await storedEvents(storage))[0]?.object, 'old 4')
  })
})

const untilAfter = (time: number) => until(`a time after ${time}`, Date.now, now => now > time)

test('D9 chains of which everything was pruned are not missed later', async t => {
  const dataFolder = temporaryFolder(t)
  await olderStore(dataFolder, 20)
  await withStorage(dataFolder, async storage => {
    // On PostgreSQL, these events are in another chain than the earlier ones.
    await addEvents(storage, 1)
    const first = Date.now()
    await untilAfter(first)
    const begun = new Date().toISOString()
    await untilAfter(Date.parse(begun))
    await addEvents(storage, 2)
    const aDayAgo = new Date(Date.now() - 24 * 3600 * 1000).toISOString()
    for (const [before, count] of [
      [aDayAgo, 20],
      [begun, 1],
    ] as const) {
      assert.equal(await storage.trail.pruneSome(before), count)
      assert.deepEqual((await verify(storage)).faults, [])
    }
    await storage.trail.checkpoint()
    assert.deepEqual((await verify(storage)).faults, [])
  })
})

testOn(
  'postgres',
  'D9 chains that were signed long after they ended are not missed when they were pruned',
  async t => {
    const dataFolder = temporaryFolder(t)
    const day = 24 * 3600 * 1000
    const now = Date.now()
    const clock = await clockOfStore(t, dataFolder)
    const daysAgo = (days: number) => new Date(now - days * day).toISOString()
    await withStorage(dataFolder, async first => {
      const setBack = async (days: number) => {
        await clock.shift((-days * day) / 1000)
        // Each look-up reads the time.
        await first.sessions.of(randomUUID())
      }
      await setBack(4)
      await addEvents(first, 5)
      await withStorage(dataFolder, async second => {
        await setBack(2)
        await addEvents(second, 5)
        // No checkpoint was signed meanwhile, as if all nodes had been killed.
        await setBack(0)
        await second.trail.checkpoint()
      })
      for (const days of [3, 1]) {
        assert.equal(await first.trail.pruneSome(daysAgo(days)), 5)
        assert.deepEqual((await verify(first)).faults, [])
      }
    })
  },
)

test('D9 a marker of a pruning can be neither changed nor removed', async t => {
  const dataFolder = temporaryFolder(t)
  await olderStore(dataFolder, 20)
  await withStorage(dataFolder, async storage => {
    const all = await storedEvents(storage)
    assert.equal(await storage.trail.pruneSome(all[10]?.time ?? ''), 10)
    await addEvents(storage, 2)
    await storage.trail.checkpoint()
    assert.deepEqual((await verify(storage)).faults, [])
    for (const sql of [
      "DELETE FROM trail_checkpoint WHERE kind = 'prune'",
      "UPDATE trail_checkpoint SET kind = 'heads' WHERE kind = 'prune'",
      "UPDATE trail_checkpoint SET detail = replace(detail, '\"events\":10', '\"events\":9') WHERE kind = 'prune'",
      // More events are gone than the marker says.
      `DELETE FROM event WHERE id = ${all[10]?.id};
       UPDATE trail_head SET place = place + 1 WHERE place = 10`,
    ]) {
      await tamper(
        dataFolder,
        `DROP TABLE IF EXISTS a; DROP TABLE IF EXISTS b; DROP TABLE IF EXISTS c;
         CREATE TABLE a AS SELECT * FROM trail_checkpoint; CREATE TABLE b AS SELECT * FROM trail_head;
         CREATE TABLE c AS SELECT * FROM event; ${sql}`,
      )
      assert.ok((await verify(storage)).faults.length > 0, sql)
      await tamper(
        dataFolder,
        `DELETE FROM trail_checkpoint; DELETE FROM trail_head; DELETE FROM event;
         INSERT INTO trail_checkpoint SELECT * FROM a; INSERT INTO trail_head SELECT * FROM b;
         INSERT INTO event SELECT * FROM c`,
      )
    }
    assert.deepEqual((await verify(storage)).faults, [])
  })
})

test('D9 a trail of which everything was pruned goes on, and ids are not given again', async t => {
  const { storage } = await startService(t)
  await addEvents(storage, 10)
  await storage.trail.checkpoint()
  const last = (await storedEvents(storage)).at(-1)?.id ?? 0
  const now = new Date(Date.now() + 1).toISOString()
  assert.ok((await storage.trail.pruneSome(now)) > 0)
  assert.deepEqual(await storedEvents(storage), [])
  assert.deepEqual((await verify(storage)).faults, [])
  await addEvents(storage, 3)
  await storage.trail.checkpoint()
  const verdict = await verify(storage)
  assert.deepEqual(verdict.faults, [])
  assert.equal(verdict.events, 3)
  assert.ok(((await storedEvents(storage))[0]?.id ?? 0) > last)
})

test('D9 the housekeeping removes what is older than the retention, and nothing else', async t => {
  const dataFolder = temporaryFolder(t)
  await olderStore(dataFolder, 1_200)
  await withStorage(dataFolder, async storage => {
    await addEvents(storage, 4)
    await pruneOlder(storage.trail, 30, () => false, Date.now())
    assert.equal((await storedEvents(storage)).length, 1_204)
    // A clock that jumped ahead for a moment removes nothing.
    await pruneOlder(storage.trail, 1, () => false, Date.now() - 5 * 24 * 3600 * 1000)
    assert.equal((await storedEvents(storage)).length, 1_204)
    await pruneOlder(storage.trail, 1, () => false, Date.now())
    assert.equal((await storedEvents(storage)).length, 4)
    assert.deepEqual((await verify(storage)).faults, [])
  })
})

test('D9 several nodes or processes that write at full speed keep a trail that verifies', async t => {
  const first = await startService(t)
  const second = await startService(t, { dataFolder: first.dataFolder })
  const email = 'ruth@example.org'
  await first.addEperson(email)
  let isOver = false
  const sign = async () => {
    while (!isOver) await Promise.all([first.storage.trail.checkpoint(), second.storage.trail.checkpoint()])
  }
  const signing = sign()
  const refresh = async (service: Service) => {
    const client = await service.loggedIn(email)
    for (let at = 0; at < 40; at++) await client.refresh()
  }
  await Promise.all([first, second, first, second, first, second].map(refresh))
  isOver = true
  await signing
  const verdict = await verify(first.storage)
  assert.deepEqual(verdict.faults, [])
  // Each service has ended its own part of the trail.
  await Promise.all([first.stop(), second.stop()])
  await withStorage(first.dataFolder, async storage => {
    assert.deepEqual((await verify(storage)).faults, [])
    const events = await storedEvents(storage)
    const counted = (name: string) =>
      events.filter(({ event }) => event === name).reduce((sum, { count }) => sum + count, 0)
    assert.deepEqual([counted('login'), counted('refresh')], [6, 6 * 40])
  })
})

test('D9 a trail verifies when the secret was rotated and the old one is gone', async t => {
  const dataFolder = temporaryFolder(t)
  const secrets = ['a', 'b', 'c'].map(letter => letter.repeat(40))
  const [a = '', b = '', c = ''] = secrets
  for (const CARREL_TOKEN_SECRET of [a, `${b},${a}`, b])
    await withStorage(dataFolder, storage => addEvents(storage, 3), { CARREL_TOKEN_SECRET })
  await withStorage(
    dataFolder,
    async storage => {
      const verdict = await verify(storage)
      assert.deepEqual(verdict.faults, [])
      assert.equal(verdict.events, 9)
    },
    { CARREL_TOKEN_SECRET: b },
  )
  // A secret unrelated to the earlier ones.
  await withStorage(
    dataFolder,
    async storage => {
      assert.match(
        (await verify(storage)).faults[0]?.problem ?? '',
        /keys of the trail can't be opened.*CARREL_TOKEN_SECRET/,
      )
    },
    { CARREL_TOKEN_SECRET: c },
  )
  await withStorage(
    dataFolder,
    async storage => {
      assert.deepEqual((await verify(storage)).faults, [])
    },
    { CARREL_TOKEN_SECRET: `${c},${b}` },
  )
})

test('D9 T7 a trail verifies when the secret that the store keeps was rotated and the old one is gone', async t => {
  const dataFolder = temporaryFolder(t)
  await withStorage(dataFolder, async storage => {
    await addEvents(storage, 3)
    const [old] = storage.secrets.current()
    await storage.secrets.rotate(commandEvent('secret.rotate'))
    // Waits until this process signs with the new secret and gives the trail a new key.
    await until(
      'two secrets, the new one first',
      () => storage.secrets.current(),
      secrets => secrets[0] !== old && secrets.length === 2,
    )
    await addEvents(storage, 3)
  })
  if (engineIn(t) === 'postgres')
    await runSqlIn(dataFolder, 'DELETE FROM carrel.secret WHERE id < (SELECT max(id) FROM carrel.secret)')
  else {
    const file = join(dataFolder, 'secret')
    writeFileSync(file, `${readFileSync(file, 'utf8').split('\n')[0]}\n`)
  }
  await withStorage(dataFolder, async storage => {
    const verdict = await verify(storage)
    assert.deepEqual(verdict.faults, [])
    assert.equal(verdict.events, 7)
  })
})

testOn('sqlite', 'D9 D2 a trail that was copied to PostgreSQL verifies there, and goes on', async t => {
  const dataFolder = temporaryFolder(t)
  await withStorage(dataFolder, storage => addEvents(storage, 5))
  const url = new URL(await createDatabase(t))
  const password = decodeURIComponent(url.password)
  const CARREL_DATABASE_URL = url.href
  url.password = ''
  const copied = await carrel(dataFolder, ['copy', '--to', url.href], { env: { PGPASSWORD: password } })
  assert.equal(copied.code, 0, copied.stderr)
  await withStorage(
    dataFolder,
    async storage => {
      await addEvents(storage, 5)
      await storage.trail.checkpoint()
      const verdict = await verify(storage)
      assert.deepEqual(verdict.faults, [])
      assert.equal(verdict.events, 11)
      const [first] = await storedEvents(storage)
      assert.equal(first?.place, 1)
    },
    { CARREL_DATABASE_URL },
  )
  assert.equal(await databaseOf(dataFolder), undefined)
})
