import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { commandEvent } from '../../src/cli/store.ts'
import { list } from '../support/clients/listings.ts'
import { changeText, leftoversIn, ndjson } from '../support/data/imports.ts'
import { putRecord } from '../support/data/record-writes.ts'
import { repeats } from '../support/scale.ts'
import { storeSettings, test } from '../support/service/engines.ts'
import { cleanEnvironment, entry } from '../support/service/process.ts'
import { type Service, startService } from '../support/service/service.ts'

interface Versioned {
  readonly id: number
  readonly version: number
}

/** Returns records of a version, whose number differs so that a mixture of two versions shows. */
const versioned = (version: number): Versioned[] =>
  Array.from({ length: 300 + 10 * version }, (_, at) => ({ id: at + 1, version }))

/** Records that are written one by one have ids from here on. */
const firstWritten = 1_000_000

/** Asserts that records are those of one version, besides written ones. @returns the version */
function wholeVersion(records: readonly Versioned[]): number {
  const imported = records.filter(({ id }) => id < firstWritten)
  const version = imported[0]?.version ?? -1
  assert.deepEqual(imported, versioned(version))
  return version
}

const records = (service: Service) =>
  list<Versioned>(service.client(), 'thing', { order_by: [{ field: 'id' }] })

/** Restores each kept version once. @returns the records of each, and those before */
async function contents(service: Service): Promise<Versioned[][]> {
  const { entities } = service.storage
  const found = [await records(service)]
  for (const { id } of await entities.versions('thing')) {
    assert.equal(await entities.restore('thing', id, commandEvent('entity.restore')), 'restored')
    found.push(await records(service))
  }
  return found
}

test('D15 R8 imports, restores and single records at once lose no version and no record', async t => {
  const service = await startService(t)
  const { entities } = service.storage
  await service.addEperson('admin@example.org', { admin: true })
  const client = service.client()
  await client.login('admin@example.org')
  await service.addRecords('thing', 'id', versioned(0))
  await entities.changeWriteRule('thing', 'admin', commandEvent('entity.writers'))
  const newest = 5
  let restores = 0
  let isImported = false
  const isOver = () => isImported && restores >= 5 && written.length >= 20
  const imports = async (...versions: number[]) => {
    for (const version of versions) await service.addRecords('thing', 'id', versioned(version))
  }
  const restoring = async () => {
    while (!isOver()) {
      const kept = await entities.versions('thing')
      const some = kept[restores % Math.max(kept.length, 1)]
      if (some && (await entities.restore('thing', some.id, commandEvent('entity.restore'))) === 'restored')
        restores++
      // Otherwise, records could never be written.
      await sleep(20)
    }
  }
  const written: number[] = []
  const writing = async () => {
    for (let id = firstWritten; !isOver(); id++) {
      await putRecord(client, 'thing', id, { id, version: -1 })
      written.push(id)
    }
  }
  const reading = async () => {
    while (!isOver()) wholeVersion(await records(service))
  }
  await Promise.all([
    Promise.all([imports(1, 2, 3), imports(4, 5)]).then(() => {
      isImported = true
    }),
    restoring(),
    writing(),
    reading(),
  ])
  const all = await contents(service)
  assert.deepEqual(
    all.map(wholeVersion).sort(),
    Array.from({ length: newest + 1 }, (_, at) => at),
  )
  const ids = all.flatMap(one => one.map(({ id }) => id).filter(id => id >= firstWritten))
  assert.deepEqual(ids.toSorted(), written)
  t.diagnostic(`${restores} restores, ${written.length} records written`)
})

test('D12 D15 updates by file and restores at once leave whole versions that go on', async t => {
  const service = await startService(t)
  const { entities } = service.storage
  await service.addRecords('thing', 'id', versioned(0))
  const restoring = async () => {
    for (let round = 0; round < repeats(6, 30); round++) {
      const [newest] = await entities.versions('thing')
      if (newest) await entities.restore('thing', newest.id, commandEvent('entity.restore'))
      await sleep(100)
    }
  }
  const updating = async (first: number) => {
    for (let id = first; id < first + repeats(4, 20); id++)
      await changeText(service, ndjson([{ id, version: 0 }]), {
        ...{ entity: 'thing', kind: 'update', file: `changes-${first}.ndjson` },
      })
  }
  await Promise.all([updating(10_000), updating(20_000), restoring()])
  for (const one of await contents(service)) {
    assert.deepEqual(one.slice(0, 300), versioned(0))
    assert.ok(one.every(({ version }) => version === 0))
  }
  await changeText(service, ndjson([{ id: 30_000, version: 0 }]), { entity: 'thing', kind: 'update' })
  assert.equal((await records(service)).at(-1)?.id, 30_000)
})

test('D15 a restore that gets SIGKILL at any moment has been made or not, and can be repeated', async t => {
  const service = await startService(t)
  const { entities } = service.storage
  await service.addRecords('thing', 'id', versioned(0))
  await service.addRecords('thing', 'id', versioned(1))
  const env = cleanEnvironment(await storeSettings(service.dataFolder))
  const outcomes: string[] = []
  const start = (id: number) =>
    spawn(process.execPath, [entry, 'entity', 'restore', 'thing', String(id)], { env })
  const [first] = await entities.versions('thing')
  const begun = performance.now()
  await once(start(first?.id ?? 0), 'close')
  const whole = performance.now() - begun
  assert.equal(wholeVersion(await records(service)), 0)
  for (let round = 0; round < repeats(6, 30); round++) {
    const before = wholeVersion(await records(service))
    const [kept, ...more] = await entities.versions('thing')
    assert.ok(kept)
    assert.deepEqual(more, [])
    const child = start(kept.id)
    const ended = once(child, 'close')
    // Most of the time goes by before the command reaches the store.
    await sleep(whole * (0.6 + 0.6 * Math.random()))
    child.kill('SIGKILL')
    await ended
    const after = wholeVersion(await records(service))
    const [now, ...others] = await entities.versions('thing')
    assert.deepEqual([now?.id === kept.id, others], [after === before, []])
    outcomes.push(after === before ? 'not made' : 'made')
    if (after !== before) continue
    assert.equal(await entities.restore('thing', kept.id, commandEvent('entity.restore')), 'restored')
    assert.notEqual(wholeVersion(await records(service)), before)
  }
  assert.deepEqual(await leftoversIn(service.dataFolder), [])
  t.diagnostic(outcomes.join())
})
