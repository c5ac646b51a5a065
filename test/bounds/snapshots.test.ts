import assert from 'node:assert/strict'
import { commandEvent } from '../../src/cli/store.ts'
import { administrator } from '../support/clients/administrator.ts'
import { listPath } from '../support/clients/listings.ts'
import { snapshotOf } from '../support/data/changes.ts'
import { importText, ndjson } from '../support/data/imports.ts'
import { putRecord } from '../support/data/record-writes.ts'
import { test } from '../support/service/engines.ts'
import { startService } from '../support/service/service.ts'

test('Q37 requests for many states at once hold the changes of a version in memory once', async t => {
  const service = await startService(t)
  const root = await administrator(service)
  const imports = (records: readonly object[]) =>
    importText(service, ndjson(records), { entity: 'works', key: 'id', read: 'anonymous' })
  await imports(Array.from({ length: 10 }, (_, id) => ({ id, title: 't' })))
  await service.storage.entities.changeWriteRule('works', 'admin', commandEvent('entity.writers'))
  const client = service.client()
  const taken: string[] = []
  // 3.6 MB of changes: each of these requests would need twice as much for its own copy.
  for (let n = 0; n < 300; n++) {
    await putRecord(root.client, 'works', n % 10, { id: n % 10, title: 'x'.repeat(12_000) + n })
    taken.push(await snapshotOf(client, 'works'))
  }
  await imports([{ id: 1, title: 't' }])
  const before = process.memoryUsage.rss()
  let most = before
  const measuring = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss())
  }, 5)
  const found = await Promise.all(
    taken.map(async snapshot => {
      const response = await client.get(
        listPath('works', { snapshot, query: ['extract', ['title']], order_by: [{ field: 'id' }] }),
      )
      return [response.status, ((await response.json()) as { readonly title: string }[]).length]
    }),
  )
  clearInterval(measuring)
  assert.deepEqual(
    found,
    taken.map(() => [200, 10]),
  )
  const megabytes = (most - before) / 2 ** 20
  assert.ok(megabytes < 300, `${megabytes} MB`)
})
