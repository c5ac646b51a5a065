import assert from 'node:assert/strict'
import { join } from 'node:path'
import { commandEvent } from '../../../src/cli/store.ts'
import { administrator } from '../../support/clients/administrator.ts'
import { assertProblem } from '../../support/clients/answers.ts'
import { listPath } from '../../support/clients/listings.ts'
import { assertDone, backUp, emptyPlace, restore } from '../../support/data/backups.ts'
import { feedPath, snapshotOf } from '../../support/data/changes.ts'
import { importText, ndjson } from '../../support/data/imports.ts'
import { putRecord } from '../../support/data/record-writes.ts'
import { testOn } from '../../support/service/engines.ts'
import { startService, temporaryFolder } from '../../support/service/service.ts'

testOn(
  'sqlite',
  'Q37 a state of a restored store is gone when the same backup is restored again, and no other state is taken for it',
  async t => {
    const service = await startService(t)
    await administrator(service)
    const records = ndjson([{ id: 1, title: 'first' }])
    await importText(service, records, { entity: 'works', key: 'id', read: 'anonymous' })
    await service.storage.entities.changeWriteRule('works', 'admin', commandEvent('entity.writers'))
    const folder = join(temporaryFolder(t), 'backups')
    await backUp(service.dataFolder, folder)
    const taken: string[] = []
    for (const title of ['one', 'other']) {
      const place = emptyPlace(t, 'sqlite')
      assertDone(await restore(place, folder))
      const restored = await startService(t, { dataFolder: place })
      const client = restored.client()
      await client.login('root@example.org')
      const before = await snapshotOf(client, 'works')
      // It was the same before the backup.
      taken[0] ??= before
      assert.equal(before, taken[0])
      await putRecord(client, 'works', 1, { id: 1, title })
      for (const snapshot of taken.slice(1)) {
        await assertProblem(await client.get(listPath('works', { snapshot })), 410, 'snapshot-expired')
        await assertProblem(await client.get(feedPath('works', snapshot)), 410, 'snapshot-expired')
      }
      taken.push(await snapshotOf(client, 'works'))
    }
    assert.equal(new Set(taken).size, 3)
  },
)
