import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openStore } from '../../src/cli/store.ts'
import { toConfig } from '../../src/config/config.ts'
import { StoreUnavailable } from '../../src/lib/errors.ts'
import { createDatabase, runSql } from '../support/service/databases.ts'
import { engineIn, test } from '../support/service/engines.ts'
import { temporaryFolder } from '../support/service/service.ts'

/** Returns settings of a store that doesn't exist yet, and how to check whether it does. */
async function nowhere(t: TestContext) {
  const folder = join(temporaryFolder(t, 'sqlite'), 'data')
  if (engineIn(t) === 'sqlite')
    return { config: toConfig({ CARREL_DATA: folder }), isThere: () => existsSync(folder), place: folder }
  const url = await createDatabase(t)
  return {
    config: toConfig({ CARREL_DATA: folder, CARREL_DATABASE_URL: url }),
    isThere: async () =>
      (await runSql(url, "SELECT 1 FROM pg_namespace WHERE nspname = 'carrel'")).length === 1,
    place: new URL(url).pathname,
  }
}

test('D6 a store is made only by who may make one, and of many at once by one', async t => {
  const { config, isThere, place } = await nowhere(t)
  await assert.rejects(openStore(config, { create: false }), (error: Error) => {
    assert.ok(error instanceof StoreUnavailable)
    assert.match(error.message, /^no store in .*; set CARREL_DATA/)
    assert.ok(error.message.includes(place), error.message)
    return true
  })
  assert.equal(await isThere(), false)
  const stores = await Promise.all(Array.from({ length: 4 }, () => openStore(config, { create: true })))
  for (const one of stores) await one.close()
  assert.equal(stores.filter(({ isNew }) => isNew).length, 1)
  assert.equal(await isThere(), true)
})
