import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import { commandEvent } from '../../src/cli/store.ts'
import { Client } from '../support/clients/client.ts'
import { list, listPath } from '../support/clients/listings.ts'
import { deleteRecord, putRecord, recordPath } from '../support/data/record-writes.ts'
import { isLong, repeats } from '../support/scale.ts'
import { test, testOnOne } from '../support/service/engines.ts'
import { serve } from '../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

const admin = 'admin@example.org'
/**
 * A text large enough that new versions of an entity become due by their bytes; in the long run they are due
 * by the number of changes.
 */
const text = 'x'.repeat(repeats(40_000, 10))

async function prepare(service: Service, count: number): Promise<void> {
  await service.addEperson(admin, { admin: true })
  await service.addRecords(
    'things',
    'id',
    Array.from({ length: count }, (_, id) => ({ id, n: 0, text: `Thing ${id}` })),
  )
  await service.storage.entities.changeWriteRule('things', 'eperson', commandEvent('entity.writers'))
}

async function loggedIn(address: string): Promise<Client> {
  const client = new Client(address)
  await client.login(admin)
  return client
}

// On PostgreSQL, test/faults/node.test.ts kills a node during logins and logouts; records there are for the
// long run.
testOnOne('R9 SIGKILL while records are written loses none that was acknowledged', async t => {
  const dataFolder = temporaryFolder(t)
  const count = 40
  await t.test('prepare', async own => prepare(await startService(own, { dataFolder }), count))
  const told = new Map<number, number>()
  let served = await serve(t, dataFolder, { env: { CARREL_WORKERS: '2' } })
  let next = 1
  for (let round = 0; round < repeats(1, 5); round++) {
    let left = randomInt(60, repeats(300, 900))
    const running = served
    const work = async (writer: number) => {
      try {
        const client = await loggedIn(running.address)
        // Each writer has records of its own, so that it knows their state.
        for (let id = writer; ; id = (id + 8) % count) {
          const n = next++
          await putRecord(client, 'things', id, { n })
          told.set(id, n)
          if (--left === 0) running.signal('SIGKILL')
        }
      } catch (error) {
        if (!(error instanceof TypeError && /fetch failed|terminated/.test(error.message))) throw error
      }
    }
    await Promise.all(Array.from({ length: 8 }, (_, writer) => work(writer)))
    await running.ended
    served = await serve(t, dataFolder, { env: { CARREL_WORKERS: '2' } })
    const client = await loggedIn(served.address)
    const now = await list<{ id: number; n: number }>(client, 'things')
    assert.equal(now.length, count)
    // Writes that were on their way may have been carried out, too.
    for (const [id, n] of told) assert.ok((now[id]?.n ?? -1) >= n, `record ${id}: ${now[id]?.n} is not ${n}`)
    const sorted = await list<{ n: number }>(client, 'things', { order_by: [{ field: 'n' }] })
    assert.deepEqual(
      sorted.map(({ n }) => n),
      now.map(({ n }) => n).toSorted((one, other) => one - other),
    )
    const written = (await list<{ event: string }>(client, 'audit-events')).filter(
      ({ event }) => event === 'record.put',
    )
    assert.ok(written.length >= told.size)
  }
})

test('R1 R8 what one writes, everybody sees with their next request, on every node, while versions are made', async t => {
  const one = await startService(t)
  await prepare(one, 30)
  const other = await startService(t, { dataFolder: one.dataFolder })
  const before = await storedVersion(one)
  const clients = [await loggedIn(one.address), await loggedIn(other.address)] as const
  const model = new Map<number, number | undefined>(Array.from({ length: 30 }, (_, id) => [id, 0]))
  // Enough writes for new versions.
  const work = async (part: number) => {
    for (let step = 0; step < repeats(60, 160); step++) {
      const id = randomInt(12) * 4 + part
      const [writer, reader] = step % 2 === 0 ? clients : ([clients[1], clients[0]] as const)
      const isThere = model.get(id) !== undefined
      if (isThere && randomInt(4) === 0) {
        await deleteRecord(writer, 'things', id)
        model.set(id, undefined)
        assert.equal((await reader.get(recordPath('things', id))).status, 404)
      } else {
        await putRecord(writer, 'things', id, { n: step, text })
        model.set(id, step)
        const seen = (await (await reader.get(recordPath('things', id))).json()) as { n: number }
        assert.equal(seen.n, step)
        if (step % 8 !== 0) continue
        const query = `?query=${JSON.stringify(['and', ['=', 'id', id], ['=', 'n', step]])}`
        assert.equal(((await (await reader.get(listPath('things') + query)).json()) as unknown[]).length, 1)
      }
    }
  }
  await Promise.all(Array.from({ length: 4 }, (_, part) => work(part)))
  const expected = [...model]
    .flatMap(([id, n]) => (n === undefined ? [] : [[id, n] as const]))
    .toSorted(([a], [b]) => a - b)
  for (const client of clients)
    assert.deepEqual(
      (await list<{ id: number; n: number }>(client, 'things')).map(({ id, n }) => [id, n]),
      expected,
    )
  // New versions were made in between.
  await until(
    'another version',
    () => storedVersion(one),
    version => version !== before,
  )
})

async function storedVersion({ storage }: Service): Promise<string> {
  const entity = (await storage.entities.all()).get('things')
  assert.equal(entity?.source.kind, 'records')
  return entity?.source.kind === 'records' ? (entity.source.version.split('+')[0] ?? '') : ''
}

test('R8 Q10 a page that is being sent stays as it was when it began, whatever is written and folded meanwhile', async t => {
  const service = await startService(t)
  await service.addEperson(admin, { admin: true })
  const padding = 'x'.repeat(16_000)
  const each = repeats(20, 80)
  const count = 1_200
  await service.addRecords(
    'things',
    'id',
    Array.from({ length: count }, (_, id) => ({ id, n: count - id, text: padding })),
  )
  await service.storage.entities.changeWriteRule('things', 'eperson', commandEvent('entity.writers'))
  const client = await loggedIn(service.address)
  for (const id of [3, 700, 1_199]) await putRecord(client, 'things', id, { n: -id, text: 'before' })
  await putRecord(client, 'things', 5_000, { n: 5_000, text: 'new' })
  for (const order of [...(isLong ? [''] : []), `?order_by=${JSON.stringify([{ field: 'n' }])}`]) {
    const expected = await (await client.get(listPath('things') + order)).text()
    const sent = get(service.address + listPath('things') + order)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    response.pause()
    await Promise.all(
      Array.from({ length: 8 }, async (_, writer) => {
        for (let n = 0; n < each; n++)
          await putRecord(client, 'things', writer * each + n, { n: randomInt(9_999), text })
      }),
    )
    await deleteRecord(client, 'things', order === '' ? 1_100 : 1_101)
    response.resume()
    assert.equal(await textOf(response), expected)
  }
})
