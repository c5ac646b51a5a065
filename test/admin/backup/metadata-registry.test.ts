import assert from 'node:assert/strict'
import { join } from 'node:path'
import { commandEvent } from '../../../src/cli/store.ts'
import { assertDone, backUp, emptyPlace, restore } from '../../support/data/backups.ts'
import { tricky, writeSite } from '../../support/data/copies.ts'
import { allEngines, test } from '../../support/service/engines.ts'
import { type Service, startService, temporaryFolder } from '../../support/service/service.ts'

const all = { offset: 0, limit: 100 }
const inStore = async ({ storage: { registry, repository } }: Service) => [
  await repository.site(),
  await registry.schemas(all),
  await registry.fields({}, all),
]

test('D8 S6 S11 a backup brings the metadata registry and the texts of the site to either engine, and they go on there', async t => {
  const service = await startService(t)
  const { registry } = service.storage
  const event = commandEvent('metadata-schema.add')
  const schema = await registry.addSchema({ prefix: 'local', namespace: 'Größe\\N\t' }, event)
  assert.ok(typeof schema === 'object')
  const wanted = { element: 'shelf', qualifier: null, scopeNote: 'Two\nlines, \\. and a tab\t' }
  assert.ok(typeof (await registry.addField(schema.id, wanted, event)) === 'object')
  // A schema of new stores was deleted, and stays deleted.
  assert.equal(await registry.removeSchema(1, { ...event, event: 'metadata-schema.delete' }), true)
  await writeSite(service, ['once'])
  await writeSite(service, tricky)
  const before = await inStore(service)
  const folder = join(temporaryFolder(t, 'sqlite'), 'backups')
  await backUp(service.dataFolder, folder)
  for (const engine of allEngines) {
    const place = emptyPlace(t, engine)
    assertDone(await restore(place, folder))
    const restored = await startService(t, { dataFolder: place })
    assert.deepEqual(await inStore(restored), before)
    const more = await restored.storage.registry.addSchema({ prefix: 'more', namespace: 'x' }, event)
    assert.ok(typeof more === 'object' && more.id > schema.id)
    const field = await restored.storage.registry.addField(more.id, wanted, event)
    assert.ok(typeof field === 'object')
    await writeSite(restored, ['restored'])
  }
})
