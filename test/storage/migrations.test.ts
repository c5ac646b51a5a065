import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { openStore } from '../../src/cli/store.ts'
import { toConfig } from '../../src/config/config.ts'
import { StoreUnavailable } from '../../src/lib/errors.ts'
import { version } from '../../src/lib/version.ts'
import { schema as postgres } from '../../src/storage/postgres/schema.ts'
import { newestOf } from '../../src/storage/schema.ts'
import { schema as sqlite } from '../../src/storage/sqlite/schema.ts'
import { list } from '../support/clients/listings.ts'
import { assertDone, emptyPlace as emptyPlaceFor, restore } from '../support/data/backups.ts'
import { verify } from '../support/data/trail.ts'
import { createDatabase, createStore, runSql } from '../support/service/databases.ts'
import { type Engine, engineIn, test, testOn } from '../support/service/engines.ts'
import { repository, run } from '../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../support/service/service.ts'

const schemas = { sqlite, postgres }

const emptyPlace = async (t: TestContext): Promise<Readonly<Record<string, string>>> => ({
  CARREL_DATA: temporaryFolder(t),
  ...(engineIn(t) === 'postgres' && { CARREL_DATABASE_URL: await createDatabase(t) }),
})

const opened = async <T>(
  settings: Readonly<Record<string, string>>,
  work: (storage: Awaited<ReturnType<typeof openStore>>) => T,
) => {
  const storage = await openStore(toConfig(settings), { create: true })
  try {
    return await work(storage)
  } finally {
    await storage.close()
  }
}

test('each store has an id of its own that stays', async t => {
  const stores = [await emptyPlace(t), await emptyPlace(t)]
  const idOf = (settings: Readonly<Record<string, string>>) =>
    opened(settings, ({ repository }) => repository.storeId())
  const ids = []
  for (const one of stores) ids.push(await idOf(one))
  for (const id of ids) assert.match(id, /^[0-9a-f-]{36}$/)
  assert.equal(new Set(ids).size, stores.length)
  for (const [at, one] of stores.entries()) assert.equal(await idOf(one), ids[at])
})

test('S6 a new store has Dublin Core in the registry of metadata', async t => {
  const { rows, total } = await opened(await emptyPlace(t), ({ registry }) =>
    registry.fields({ schema: 'dc' }, { offset: 0, limit: 1 }),
  )
  assert.deepEqual([total, rows[0]?.element], [42, 'contributor'])
})

/** SHA-256 of the steps from each version of the schema to the next. Append, and never change one. */
const released: Readonly<Record<Engine, readonly string[]>> = {
  sqlite: [],
  postgres: ['779a3222ed417bdc6ba583be75257e7cb3c08848523095e5de434c3dea857c0c'],
}

test('migrations are only ever appended', t => {
  const engine = engineIn(t)
  const checksums = schemas[engine].later.map(sql => createHash('sha256').update(sql).digest('hex'))
  assert.deepEqual(checksums, released[engine])
})

/** Functions that create a store of another program. They return its settings, and its name in messages. */
const other = {
  sqlite: async (t: TestContext, sql: string) => {
    const settings = await emptyPlace(t)
    await opened(settings, () => {})
    const db = new DatabaseSync(join(settings.CARREL_DATA ?? '', 'carrel.db'))
    db.exec(sql)
    db.close()
    return { settings, name: settings.CARREL_DATA ?? '' }
  },
  postgres: async (t: TestContext, sql: string) => {
    const settings = await emptyPlace(t)
    await opened(settings, () => {})
    await runSql(settings.CARREL_DATABASE_URL ?? '', sql)
    const { host, pathname } = new URL(settings.CARREL_DATABASE_URL ?? '')
    return { settings, name: `${host}${pathname}` }
  },
}

const refused = async (
  t: TestContext,
  sql: Readonly<Record<Engine, string>>,
  ...says: readonly (string | RegExp)[]
) => {
  const engine = engineIn(t)
  const { settings, name } = await other[engine](t, sql[engine])
  for (const create of [true, false])
    await assert.rejects(openStore(toConfig(settings), { create }), (error: Error) => {
      assert.ok(error instanceof StoreUnavailable)
      for (const one of [name, ...says])
        assert.ok(
          typeof one === 'string' ? error.message.includes(one) : one.test(error.message),
          error.message,
        )
      assert.ok(!error.message.includes('\n'))
      return true
    })
}

test('a store that a newer Carrel wrote is refused by name, with both versions', t =>
  refused(
    t,
    { sqlite: 'PRAGMA user_version = 4711', postgres: 'UPDATE carrel.store_schema SET version = 4711' },
    /schema version 4711.*use a newer Carrel/,
    `Carrel ${version} knows versions up to ${newestOf(schemas[engineIn(t)])}`,
  ))

test('a store from before the first release is refused, with its version and the first that opens', t =>
  refused(
    t,
    { sqlite: 'PRAGMA user_version = 7', postgres: 'UPDATE carrel.store_schema SET version = 7' },
    /schema version 7, which is older than the first release/,
    `Carrel ${version} opens versions from ${schemas[engineIn(t)].first}`,
  ))

test('a database of another program is refused, and nothing in it changes', t =>
  refused(
    t,
    {
      sqlite: 'PRAGMA application_id = 0',
      postgres: 'ALTER TABLE carrel.store_schema RENAME TO schema_version',
    },
    /is not a database of Carrel|tables that are no store of this Carrel/,
  ))

/** Stores and backups of the embedded engine as each version made them. Those of later versions are added. */
const madeBy = [8]

const unpacked = async (t: TestContext, name: string): Promise<string> => {
  const folder = temporaryFolder(t, 'sqlite')
  const archive = join(repository, 'test/storage/stores', `${name}.tar.gz`)
  assert.equal((await run('tar', ['-xzf', archive, '-C', folder])).code, 0)
  return folder
}

/** Asserts that a store has what was put into the stores in that folder. */
async function assertWhole(t: TestContext, dataFolder: string): Promise<Service> {
  const service = await startService(t, { dataFolder, realPasswords: true })
  const ruth = service.client()
  await ruth.login('ruth@example.org')
  assert.deepEqual(await list(ruth, 'works'), [
    { id: 1, title: 'Ribbon', year: 1901 },
    { id: 2, title: 'Wall', year: 1905 },
    { id: 3, title: 'Sea', year: null },
  ])
  const [file] = await list<{ uuid: string; name: string }>(ruth, 'bitstreams')
  assert.equal(file?.name, 'a.txt')
  const content = await ruth.get(`/api/core/bitstreams/${file.uuid}/content`)
  assert.equal(await content.text(), 'A letter.\n')
  assert.deepEqual((await verify(service.storage)).faults, [])
  return service
}

for (const version of madeBy) {
  testOn('sqlite', `D6 a store of version ${version} opens, and has what was put into it`, async t => {
    const { storage } = await assertWhole(t, await unpacked(t, `${version}-store`))
    const kept = await storage.entities.versions('works')
    assert.deepEqual(
      kept.map(({ records }) => records),
      [2],
    )
  })

  test(`D8 a backup of version ${version} is restored, and has what was put into it`, async t => {
    const backups = await unpacked(t, `${version}-backup`)
    const place = emptyPlaceFor(t, engineIn(t))
    assertDone(await restore(place, backups))
    await assertWhole(t, place)
  })
}

/** Tables with their columns and options, indexes, references, triggers and views of an embedded store, without comments. */
function structureOf(dataFolder: string): readonly string[] {
  const db = new DatabaseSync(join(dataFolder, 'carrel.db'), { readOnly: true })
  const tables = "pragma_table_list t WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite_%'"
  const found = [
    `SELECT t.type, t.name, t.wr, t.strict FROM ${tables}`,
    `SELECT t.name, c.name AS column, c.type, c."notnull", c.dflt_value, c.pk FROM pragma_table_xinfo(t.name) c, ${tables}`,
    `SELECT t.name, f."table", f."from", f."to", f.on_delete FROM pragma_foreign_key_list(t.name) f, ${tables}`,
    `SELECT i.name, i."unique", i.origin, i.partial, x.seqno, x.name AS column, x."desc", x.coll
       FROM pragma_index_list(t.name) i, pragma_index_xinfo(i.name) x, ${tables}`,
    'SELECT tbl, idx, stat FROM sqlite_stat1',
  ].flatMap(sql =>
    db
      .prepare(sql)
      .all()
      .map(row => JSON.stringify(row)),
  )
  const texts = db.prepare('SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL').all()
  db.close()
  const written = texts.map(({ type, name, sql }) => {
    const text = String(sql)
      .replaceAll(/--.*$/gm, '')
      .replaceAll(/\s+/g, ' ')
      .replaceAll(/ ?([(),]) ?/g, '$1')
    // Columns that were added come last, and what is demanded of them is above.
    return [type, name, type === 'table' ? text.match(/CHECK\([^)]*\)|AUTOINCREMENT/g) : text]
  })
  return [...found, ...written.map(row => JSON.stringify(row))].toSorted()
}

testOn('sqlite', 'a store of each version that was updated has the structure of a new one', async t => {
  const made = await emptyPlace(t)
  await opened(made, () => {})
  for (const version of madeBy) {
    const dataFolder = await unpacked(t, `${version}-store`)
    await opened({ CARREL_DATA: dataFolder }, () => {})
    assert.deepEqual(structureOf(dataFolder), structureOf(made.CARREL_DATA ?? ''))
  }
})

/** The versions of the schema on PostgreSQL, each with its text in `stores`. */
const written = [9, 10]

/** The structure of the schema on PostgreSQL, in the same form. */
const structureIn = async (url: string): Promise<readonly string[]> => {
  const found = await runSql(
    url,
    `SELECT c.relname AS of, c.relkind::text AS kind, c.reloptions::text AS more, a.attname::text AS name,
       format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull, a.attidentity::text, l.collname::text AS collation,
       pg_get_expr(d.adbin, d.adrelid) AS value
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
       LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum LEFT JOIN pg_collation l ON l.oid = a.attcollation
     WHERE c.relnamespace = 'carrel'::regnamespace
     UNION ALL SELECT conrelid::regclass::text, contype::text, conname, pg_get_constraintdef(oid), '', false, '', '', ''
       FROM pg_constraint WHERE connamespace = 'carrel'::regnamespace AND contype <> 'n'
     UNION ALL SELECT tablename, 'index', indexname, indexdef, '', false, '', '', ''
       FROM pg_indexes WHERE schemaname = 'carrel'
     UNION ALL SELECT viewname, 'view', '', definition, '', false, '', '', '' FROM pg_views WHERE schemaname = 'carrel'
     UNION ALL SELECT tgrelid::regclass::text, 'trigger', tgname, pg_get_triggerdef(oid), '', false, '', '', ''
       FROM pg_trigger WHERE NOT tgisinternal
     UNION ALL SELECT proname, 'function', '', pg_get_functiondef(oid), '', false, '', '', ''
       FROM pg_proc WHERE pronamespace = 'carrel'::regnamespace`,
  )
  const lines = found.map(row => JSON.stringify(row).replaceAll(/(?:\\n|\s)+/g, ' '))
  return lines.filter(line => !line.includes('store_schema')).toSorted()
}

testOn('postgres', 'the schema of each version that was updated has the structure of a new one', async t => {
  const made = await createStore(t)
  for (const version of written) {
    const url = await createDatabase(t)
    const text = readFileSync(join(repository, 'test/storage/stores', `${version}.sql`), 'utf8')
    const later = postgres.later.slice(version - postgres.first)
    await runSql(url, ['CREATE SCHEMA carrel; SET search_path = carrel', text, ...later].join(';\n'))
    assert.deepEqual(await structureIn(url), await structureIn(made))
  }
})
