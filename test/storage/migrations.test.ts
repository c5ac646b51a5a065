import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { openStore } from '../../src/cli/store.ts'
import { toConfig } from '../../src/config/config.ts'
import { migrations as postgresMigrations } from '../../src/storage/postgres/migrations.ts'
import { migrations as sqliteMigrations } from '../../src/storage/sqlite/migrations.ts'
import { createDatabase, runSql } from '../support/service/databases.ts'
import { engines } from '../support/service/engines.ts'
import { temporaryFolder } from '../support/service/service.ts'

/** A store as the version before items and bitstreams left it. */
const older = {
  sqlite: async (t: TestContext) => {
    const folder = temporaryFolder(t)
    const db = new DatabaseSync(join(folder, 'carrel.db'))
    for (const sql of sqliteMigrations.slice(0, 2)) db.exec(sql)
    db.exec('PRAGMA user_version = 2')
    db.close()
    return { CARREL_DATA: folder }
  },
  postgres: async (t: TestContext) => {
    const url = await createDatabase(t)
    await runSql(
      url,
      'CREATE SCHEMA carrel; CREATE TABLE carrel.schema_version (one INTEGER PRIMARY KEY, version INTEGER NOT NULL)',
    )
    for (const sql of postgresMigrations.slice(0, 2)) await runSql(url, sql)
    await runSql(url, 'INSERT INTO carrel.schema_version VALUES (1, 2)')
    return { CARREL_DATA: temporaryFolder(t), CARREL_DATABASE_URL: url }
  },
}

for (const engine of engines)
  test(`each store has an id of its own that stays, one that an older version has made, too (${engine})`, async t => {
    const idOf = async (settings: Readonly<Record<string, string>>) => {
      const storage = await openStore(toConfig(settings))
      try {
        return await storage.repository.storeId()
      } finally {
        await storage.close()
      }
    }
    const created = async () =>
      engine === 'sqlite'
        ? { CARREL_DATA: temporaryFolder(t) }
        : { CARREL_DATA: temporaryFolder(t), CARREL_DATABASE_URL: await createDatabase(t) }
    const stores = [await older[engine](t), await older[engine](t), await created(), await created()]
    const ids = []
    for (const one of stores) ids.push(await idOf(one))
    for (const id of ids) assert.match(id, /^[0-9a-f-]{32,36}$/)
    assert.equal(new Set(ids).size, stores.length)
    for (const [at, one] of stores.entries()) assert.equal(await idOf(one), ids[at])
  })
