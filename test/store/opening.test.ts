import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openStore } from '../../src/cli/store.ts'
import { toConfig } from '../../src/config/config.ts'
import { StoreUnavailable } from '../../src/lib/errors.ts'
import { createDatabase, runSql } from '../support/service/databases.ts'
import { engineIn, storeSettings, test } from '../support/service/engines.ts'
import { carrel, cleanEnvironment, repository, run } from '../support/service/process.ts'
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

test('Q20 the thread for long work starts before the first question, if an entity is large', async t => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'many.ndjson')
  writeFileSync(file, '{"id":1}\n{"id":2}\n{"id":3}\n')
  assert.equal((await carrel(folder, ['import', file, '--entity', 'many', '--key', 'id'])).code, 0)
  // In this process, a thread of another test may be idle.
  const script = `
    import { setImmediate } from 'node:timers/promises'
    import { openStore } from '${repository}src/cli/store.ts'
    import { toConfig } from '${repository}src/config/config.ts'
    let started = 0
    process.on('worker', () => started++)
    const { entities, close } = await openStore(toConfig(process.env), { create: false })
    const counts = []
    for (const large of [4, 3, 3]) {
      await setImmediate()
      const before = started
      await entities.prepare(large)
      await setImmediate()
      counts.push(started - before)
    }
    console.log(JSON.stringify(counts))
    await close()
  `
  const env = cleanEnvironment(await storeSettings(folder))
  const { stdout, stderr } = await run(process.execPath, ['--input-type=module', '--eval', script], { env })
  assert.equal(stdout, '[0,1,0]\n', stderr)
})
