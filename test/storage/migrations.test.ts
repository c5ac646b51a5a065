import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { openStore } from '../../src/cli/store.ts'
import { toConfig } from '../../src/config/config.ts'
import { version } from '../../src/lib/version.ts'
import { StoreUnavailable } from '../../src/model/errors.ts'
import { migrations as postgresMigrations } from '../../src/storage/postgres/migrations.ts'
import { migrations as sqliteMigrations } from '../../src/storage/sqlite/migrations.ts'
import { storeClient } from '../support/clients/store-client.ts'
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
    await runSql(url, `INSERT INTO carrel.secret (secret, made) VALUES ('\\\\x${'ab'.repeat(32)}', now())`)
    return { CARREL_DATA: temporaryFolder(t), CARREL_DATABASE_URL: url }
  },
}

for (const engine of engines)
  test(`each store has an id of its own that stays, one that an older version has made, too (${engine})`, async t => {
    const idOf = async (settings: Readonly<Record<string, string>>) => {
      const storage = await openStore(toConfig(settings), { create: true })
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

for (const engine of engines)
  test(`S4 epersons and groups of an older version are found by their names in any case (${engine})`, async t => {
    const settings: Readonly<Record<string, string>> = await older[engine](t)
    const { CARREL_DATABASE_URL: url, CARREL_DATA: folder = '' } = settings
    const values = (session: string, enabled: string) =>
      `('u', 'a@example.org', 'a@example.org', 'Åsa', NULL, ${enabled}, 0, ${session}, 1, '2026-01-01T00:00:00Z')`
    const columns =
      '(uuid, email, email_key, first_name, last_name, enabled, password_stamp, session_key, stamp, created)'
    const group = "('g', 'Ärzte', '2026-01-01T00:00:00Z')"
    if (url !== undefined)
      await runSql(
        url,
        `INSERT INTO carrel.eperson ${columns} VALUES ${values("''", 'true')}; INSERT INTO carrel.epersongroup VALUES ${group}`,
      )
    else {
      const db = new DatabaseSync(join(folder, 'carrel.db'))
      db.exec(
        `INSERT INTO eperson ${columns} VALUES ${values("x''", '1')}; INSERT INTO epersongroup VALUES ${group}`,
      )
      db.close()
    }
    const { accounts, people, close } = await openStore(toConfig(settings), { create: true })
    try {
      const window = { offset: 0, limit: 10 }
      assert.equal(
        (await accounts.findEpersons({ text: 'åsa', membership: null }, window, storeClient)).rows[0]?.uuid,
        'u',
      )
      assert.equal(
        (await people.findGroups({ text: 'ärz', inside: null }, window, storeClient)).rows[0]?.uuid,
        'g',
      )
    } finally {
      await close()
    }
  })

for (const engine of engines)
  test(`S6 a store of an older version gets the fields of metadata that a new one has (${engine})`, async t => {
    const { registry, close } = await openStore(toConfig(await older[engine](t)), { create: true })
    try {
      const { rows, total } = await registry.fields({ schema: 'dc' }, { offset: 0, limit: 1 })
      assert.deepEqual([total, rows[0]?.element], [42, 'contributor'])
    } finally {
      await close()
    }
  })

/** SHA-256 of every migration, in order. Append; never change one: a store that has it would differ from a new one. */
const released = {
  sqlite: [
    '82e3362de235036ccc239a2c3f0c264db90cc63fba551f9316ac03056dc1f7eb',
    'b0b784d03a8998042825288290ae96bf0ab31c3e296e9366bc57407302287c0a',
    'f1b730554e7b782cfbb1efb75ab774326d77685f56989e5dfc23f52558b5cdf4',
    '898520a50d375c4290d190ee275ce878efea436f0374d6c19b915bf5cd7c1752',
    '646c90eb6c020d558441dbdd2dd72bb7588b3523c96066040695f7ea468f6387',
    '4d58c0f46b46fd93fa2bf6ffaf0457229b90bdf69ca82744dd7ed66c9821a04d',
    'd78ebc23ec23d15ef57efd3aff008a94ff269288ff34f98b0ec4d7db9dd7728f',
    '196793fce0d355b7da8c2b6dad53b92584e239fa8c6bd7efa5c99e394004f0d2',
    '590f258a37f1f50e6f707cbc0fafd22d7798d1bb34f42f40b950c5a35c5d2d14',
    '64348be5f444127ddca2fb2d2e6d7a7a0bf49b686e823de27b584bf281f3e05f',
    'dd17b00e4aab5d9556f6ecb631fe3ed9c090b687ba412cc5b6f2084fc59283dc',
    '2cbe9630316924b7ce88b86ef9c9e84301d1023028adf2829518aede09571e56',
    '9f5a05028105fd2c7ba5d93dfeabb304a133aaafbfc02d6790e800ecb0e03e87',
    '0882ba132688d3ab34b048c5aa25bdabf0409832618ab47017cd4bf0d5c194da',
    '900bf81e5a9e7d11a4c7422f01a878989e1ae408dc7528374071d7f9f3cae439',
    '796d43143e9669cfd303472b8f4830dcd6fe4980d044b4f7045096cb522a4134',
    'f3dde95890fd7316ad5270d7bf93e49a8686011307581c5c42484f4a0ca27432',
    '1b4db7fdccd63c7c15d8c96afa77991514197076b481c23fc22186fa3883b954',
    '95b963072b7bb2d341ce0b628df04e76d0161e0d3a3ab8f4754a4f8084e55522',
    '2ef9204bb3b27b0e91f696f49f2651e15ea09cac54b8227f58120a94043b48be',
    '5c5d3b0eefb13317ab878b6ea8a6dbcce4d9969717bd2fa2cbb9c98a7ce1b931',
  ],
  postgres: [
    '7fe7de4a5dc297483b31ef8467b19eda178ef8a37967d04bff0e7dd90a5a3127',
    '629058b4600e8186e356620526596fc5ebe3a7549ca9b40862f8f49e3c5d48bb',
    '72e375cb98b3c12e007c816b23bb8071977b16dde4847eed9f1a97f4f185efe2',
    '97c6d1dd2dda4c324406a7ea36099734242eab7111305cc0fe7929cbe8711fed',
    'c9ba0fb4e6fd4c9bfd0c04343058decb3574215eea46bf0e8da4cf40f6fb4717',
    '12ec0dcc31ab2a572a2fb8fb1eb6ebfd9defaaa943c27f7140f3f70e896560dc',
    '1d445088978541cae3d469bb6ef743eeeb991dae253fd517a8f400dce8d2a4ae',
    '9219007ba332ce52c3f053d2831aa91158c6e45a45cc0061bfb41c3c8e9d3e55',
    '4dacc2dd78e4f4068756095d9ed46dc6f5da008209ef2a4241e09de52e515919',
    'd6f46e36904b9c11f9c176692f86d0fcafb88ffbe8a4702c544ff9a2b1d24572',
    'd036072e413abdce9be9bc9cfe3a59fd0f0d121eba5f7779a8e67e8e11f3e913',
    '0d8426b26f4ca1a0db901deb085f16dd57a64fd84a45eed8002cb280c3beb015',
    '37ccaa85b18e73d7905cfd49d2d7a9d12138c2b7b14fa4d356b7f8da94942e97',
    '796d43143e9669cfd303472b8f4830dcd6fe4980d044b4f7045096cb522a4134',
    '323b2bef140b49c67bbaa2f19be3ab2f9b20500984ae069a36e7014d1e235a8f',
    'fa44287f05408efabe44c832302f9766775f5e0aa0c275186bfefe2f6c272f60',
    'dbd771199ef1319ffc0a3917e506520d73933b447e87cbf2cf951fea9f118824',
    'f1e1042fe8504a5719adb756b4b06481156848f158384811d6a0dc507f591b15',
    'e567763d6f57909d92fd109bf7459c577b538351584f6ede32407e6eef5f4dfb',
  ],
}
const migrations = { sqlite: sqliteMigrations, postgres: postgresMigrations }

for (const engine of engines)
  test(`migrations are only ever appended (${engine})`, () => {
    const checksums = migrations[engine].map(sql => createHash('sha256').update(sql).digest('hex'))
    assert.deepEqual(checksums, released[engine])
  })

const newer = {
  sqlite: async (t: TestContext) => {
    const folder = temporaryFolder(t)
    const db = new DatabaseSync(join(folder, 'carrel.db'))
    db.exec('CREATE TABLE kept (x); PRAGMA user_version = 4711')
    db.close()
    return { settings: { CARREL_DATA: folder }, name: folder }
  },
  postgres: async (t: TestContext) => {
    const { CARREL_DATABASE_URL, ...settings } = await older.postgres(t)
    await runSql(CARREL_DATABASE_URL, 'UPDATE carrel.schema_version SET version = 4711')
    const { host, pathname } = new URL(CARREL_DATABASE_URL)
    return { settings: { ...settings, CARREL_DATABASE_URL }, name: `${host}${pathname}` }
  },
}

for (const engine of engines)
  test(`a store that a newer Carrel wrote is refused by name, with both versions (${engine})`, async t => {
    const { settings, name } = await newer[engine](t)
    for (const create of [true, false])
      await assert.rejects(openStore(toConfig(settings), { create }), (error: Error) => {
        assert.ok(error instanceof StoreUnavailable)
        assert.ok(error.message.includes(name), error.message)
        assert.match(error.message, /schema version 4711.*use a newer Carrel/)
        assert.ok(
          error.message.includes(`Carrel ${version} knows versions up to ${migrations[engine].length}`),
        )
        assert.ok(!error.message.includes('\n'))
        return true
      })
  })
test('an entity that an older version imported keeps its key, whatever its name looks like', async t => {
  const folder = temporaryFolder(t)
  const keys = ['id', '["a","b"]', 'a"b', '1', 'null', 'ä\\']
  const db = new DatabaseSync(join(folder, 'carrel.db'))
  for (const sql of sqliteMigrations.slice(0, 3)) db.exec(sql)
  db.exec('PRAGMA user_version = 3')
  const insert = db.prepare(
    "INSERT INTO entity VALUES (?, ?, 'anonymous', ?, ?, 0, 0, 0, '2026-01-01T00:00:00Z')",
  )
  for (const [at, key] of keys.entries())
    insert.run(`e${at}`, key, JSON.stringify([{ name: key, type: 'text', nullable: false }]), `e${at}.0`)
  db.close()
  const storage = await openStore(toConfig({ CARREL_DATA: folder }), { create: false })
  try {
    const all = await storage.entities.all()
    assert.deepEqual(
      keys.map((_, at) => all.get(`e${at}`)?.key),
      keys,
    )
  } finally {
    await storage.close()
  }
})
