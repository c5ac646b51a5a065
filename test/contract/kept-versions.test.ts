import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../src/cli/store.ts'
import type { KeptVersion } from '../../src/model/kept-versions.ts'
import { type Administrator, administrator } from '../support/clients/administrator.ts'
import { list } from '../support/clients/listings.ts'
import { changeText, leftoversIn, ndjson } from '../support/data/imports.ts'
import { deleteRecord, putRecord } from '../support/data/record-writes.ts'
import { test } from '../support/service/engines.ts'
import { type Service, startService } from '../support/service/service.ts'

interface Work {
  readonly id: number
  readonly title: string
}
const works = (count: number, title: string): Work[] =>
  Array.from({ length: count }, (_, at) => ({ id: at + 1, title: `${title} ${at + 1}` }))

interface Started {
  readonly service: Service
  readonly root: Administrator
  /** Imports these records over HTTP. */
  imports(records: readonly object[], query?: string): Promise<void>
  versions(): Promise<readonly KeptVersion[]>
  restore(id: number): Promise<void>
  /** The records in an order that needs ranks, so that those are looked at, too. */
  records(): Promise<Record<string, unknown>[]>
}

async function started(t: TestContext, env: Readonly<Record<string, string>> = {}): Promise<Started> {
  const service = await startService(t, { env })
  const root = await administrator(service)
  const post = async (records: readonly object[], query: string) => {
    const ended = await root.imports(
      `/works/import?key=id&read=anonymous&replace=true${query}`,
      ndjson(records),
      {
        'content-type': 'application/x-ndjson',
      },
    )
    assert.equal(ended.state, 'completed', String(ended.fault))
  }
  return {
    service,
    root,
    imports: async (records, query = '') => post(records, query),
    versions: async () => (await service.storage.entities.versions('works')) as readonly KeptVersion[],
    restore: async id => {
      const answer = await root.send('POST', `/works/versions/${id}/restore`)
      assert.equal(answer.status, 204, JSON.stringify(answer.body))
    },
    records: () =>
      list(service.client(), 'works', { order_by: [{ field: 'title', order: 'desc' }, { field: 'id' }] }),
  }
}

test('D15 EA10 an import is undone by one request, and that is undone by another', async t => {
  const { root, imports, versions, restore, records } = await started(t)
  await imports(works(20, 'old'))
  const old = await records()
  assert.deepEqual(await versions(), [])
  await imports(works(5, 'new').map(work => ({ ...work, year: 1900 })))
  const renewed = await records()
  const { status, body } = await root.send('GET', '/works/versions')
  assert.equal(status, 200)
  const [version] = body._embedded.versions
  assert.deepEqual(
    [version.records, version.fields, version.key, version.replacedBy],
    [20, 2, 'id', 'entity.import'],
  )
  assert.equal(Date.parse(version.until) - Date.parse(version.replaced), 7 * 24 * 3600 * 1000)
  await restore(version.id)
  assert.deepEqual(await records(), old)
  const [undo, ...more] = await versions()
  assert.deepEqual([undo?.records, undo?.fields.length, undo?.replacedBy, more], [5, 3, 'entity.restore', []])
  await restore(undo?.id ?? 0)
  assert.deepEqual(await records(), renewed)
})

test('D15 R8 single records belong to the version that they were written over, folded or not', async t => {
  const { service, root, imports, versions, restore, records } = await started(t)
  await imports(works(20, 'old'))
  await service.storage.entities.changeWriteRule('works', 'admin', commandEvent('entity.writers'))
  await putRecord(root.client, 'works', 3, { id: 3, title: 'zebra' })
  await putRecord(root.client, 'works', 99, { id: 99, title: 'added' })
  await deleteRecord(root.client, 'works', 7)
  const written = await records()
  assert.equal(written.length, 20)
  await imports(works(5, 'new'))
  const [kept] = await versions()
  assert.equal(kept?.records, 20)
  await putRecord(root.client, 'works', 1, { id: 1, title: 'over the new one' })
  const renewed = await records()
  await restore(kept?.id ?? 0)
  assert.deepEqual(await records(), written)
  // Writing goes on where it was, and the version takes in what comes by file.
  await putRecord(root.client, 'works', 3, { id: 3, title: 'again' })
  await changeText(service, ndjson([{ id: 4, title: 'by file' }]), { entity: 'works', kind: 'update' })
  const [before, undo] = await versions()
  assert.deepEqual([before?.replacedBy, undo?.replacedBy], ['entity.update', 'entity.restore'])
  const expected = written.map(one =>
    one.id === 3 ? { id: 3, title: 'again' } : one.id === 4 ? { id: 4, title: 'by file' } : one,
  )
  const byId = (all: readonly Record<string, unknown>[]) =>
    all.toSorted((one, other) => Number(one.id) - Number(other.id))
  assert.deepEqual(byId(await records()), byId(expected))
  await restore(undo?.id ?? 0)
  assert.deepEqual(await records(), renewed)
  assert.deepEqual(await leftoversIn(service.dataFolder), [])
})

test('D12 D15 a version that is restored is changed by file like any other, beside what was changed after it', async t => {
  const { service, imports, versions, restore, records } = await started(t)
  await imports(works(200, 'old'))
  const change = (id: number, title: string) =>
    changeText(service, ndjson([{ id, title }]), { entity: 'works', kind: 'update' })
  const old = await records()
  await change(1, 'first')
  const first = await records()
  await change(2, 'second')
  const second = await records()
  const [ofFirst, ofOld] = await versions()
  await restore(ofOld?.id ?? 0)
  assert.deepEqual(await records(), old)
  await change(3, 'third')
  const third = (await records()).map(one => one.title)
  assert.ok(third.includes('third') && third.includes('old 1') && third.includes('old 2'))
  await restore(ofFirst?.id ?? 0)
  assert.deepEqual(await records(), first)
  const ofSecond = (await versions()).find(({ replacedBy, id }) => replacedBy === 'entity.restore' && id > 0)
  assert.ok(ofSecond)
  const found = []
  for (const { id } of await versions()) {
    await restore(id)
    found.push(JSON.stringify(await records()))
  }
  assert.ok(found.includes(JSON.stringify(second)))
  assert.ok(found.includes(JSON.stringify(old)))
})
