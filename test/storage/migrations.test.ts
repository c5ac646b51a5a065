import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { commandEvent, openStore } from '../../src/cli/store.ts'
import { toConfig } from '../../src/config/config.ts'
import { StoreUnavailable } from '../../src/lib/errors.ts'
import { version } from '../../src/lib/version.ts'
import { migrations as postgresMigrations } from '../../src/storage/postgres/schema.ts'
import { migrations as sqliteMigrations } from '../../src/storage/sqlite/schema.ts'
import { addEvents, storedEvents, verify } from '../support/data/trail.ts'
import { createDatabase, runSql } from '../support/service/databases.ts'
import { type Engine, engineIn, test } from '../support/service/engines.ts'
import { temporaryFolder } from '../support/service/service.ts'

const migrations = { sqlite: sqliteMigrations, postgres: postgresMigrations }

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

/** SHA-256 of every migration, in order. Append, and never change one. */
const released: Readonly<Record<Engine, readonly string[]>> = {
  sqlite: [
    'a408e9766b3ceffd3e06baff4c99953dc3967649ad9ebe2cdf2a2a4ef0bd4920',
    '42d0257cdd6205d47781b0e8e5bd305f05ab91295159cf3ad70dcef6b9fc77ab',
    '4f3d43e36837e09dc7326bd567b2edba9ce9409e1cd2fa67a0b09e031c653e8c',
    'bb20e9ab097ecad51226bd36b3eda4f833fa61c136c4ced0578e883ca2f88662',
    'e8c1a3759ca416395d60fc0d1093f4d00df53c1fde84e1d02e11a54b8ba98ae9',
    '8d72138b402623e527c914e4a5385d61367a8f8305b674d54523a1e28f404530',
    'bb9c886644dd578be324555f1d1889065bc9df68b49f18d1d57f1d7f70f274ad',
    'a342e41192a7e66a5bac94978f5b74133cd336edc273c34d63301565882920ff',
  ],
  postgres: [
    '1abd8cc832a8a6cdeeff38b64b9a0f28ad7e57ba0ced052cc33c32b8b86c65c4',
    'ec3e9d08c81db07dd84997bace2a2df9f1af091da349a4442a50177f0edba57b',
    'd85897050c4e8767d075617b822ec41a50814f6522a245a31ea20d503d9c597b',
    'bb20e9ab097ecad51226bd36b3eda4f833fa61c136c4ced0578e883ca2f88662',
    'ba58be0d8470a18ab31ee4ec4fe2dca2a819c105a61561ba41a6d58488ec5dfb',
    '1b2c2cd957f070cf648fdbe1faa209424e5b452daff70956f1cd294e3e6dbec7',
    'd1dacf70ef968617a92ecd15748e2568742326385d3c578f18168e1f50ab0020',
    '38d2f43baa5c434ce2f332cbb401b0d55a2d9a30b8b14ff22e8a1bfedba86326',
    '5eead2b7f3ab4f403573e44a06d9a9952109cf9cd6b9658ad12a4b8d10eef63d',
  ],
}

test('migrations are only ever appended', t => {
  const engine = engineIn(t)
  const checksums = migrations[engine].map(sql => createHash('sha256').update(sql).digest('hex'))
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
    `Carrel ${version} knows versions up to ${migrations[engineIn(t)].length}`,
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

/** SQL that takes back what later versions added. */
const firstVersion = {
  sqlite: `ALTER TABLE state DROP COLUMN demo; DROP TABLE held_change; DROP TABLE held_version; DROP TABLE recovery_code; DROP TABLE factor; DROP TABLE content_claim; ALTER TABLE session DROP COLUMN browser; DROP INDEX event_of_record; DROP TABLE kept_change; DROP TABLE kept_version; DROP VIEW own_events; DROP VIEW events; DROP INDEX event_that_repeats; DROP INDEX event_of_change;
    DROP TABLE trail_size; ALTER TABLE event DROP COLUMN repeats; ALTER TABLE event DROP COLUMN request; CREATE VIEW events AS SELECT id FROM event;
    CREATE VIEW own_events AS SELECT id FROM events; PRAGMA user_version = 1`,
  postgres: `SET search_path TO carrel; ALTER TABLE state DROP COLUMN server; ALTER TABLE state DROP COLUMN demo; DROP TABLE held_change; DROP TABLE held_version; DROP TABLE recovery_code; DROP TABLE factor; DROP TABLE content_claim; ALTER TABLE session DROP COLUMN browser; DROP INDEX event_of_record; DROP TABLE kept_change; DROP TABLE kept_version; DROP VIEW own_events; DROP VIEW events; DROP INDEX event_that_repeats;
    DROP TABLE trail_size; ALTER TABLE event DROP COLUMN repeats; ALTER TABLE event DROP COLUMN request; CREATE VIEW events AS SELECT id FROM event;
    CREATE VIEW own_events AS SELECT id FROM events; UPDATE store_schema SET version = 1`,
}

test('D9 a store of the first version is updated, and its trail verifies and goes on', async t => {
  const engine = engineIn(t)
  const settings = await emptyPlace(t)
  await opened(settings, storage => addEvents(storage, 5))
  if (engine === 'postgres') await runSql(settings.CARREL_DATABASE_URL ?? '', firstVersion.postgres)
  else {
    const db = new DatabaseSync(join(settings.CARREL_DATA ?? '', 'carrel.db'))
    db.exec(firstVersion.sqlite)
    db.close()
  }
  await opened(settings, async storage => {
    await addEvents(storage, 5)
    for (let at = 0; at < 3; at++)
      await storage.trail.record({ ...commandEvent('download', 'a file'), session: 1, request: `${at}` })
    await storage.trail.checkpoint()
    const verdict = await verify(storage)
    assert.deepEqual([verdict.faults, verdict.events], [[], 11])
  })
  await opened(settings, async storage => {
    const verdict = await verify(storage)
    assert.deepEqual([verdict.faults, verdict.events], [[], 12])
    assert.deepEqual(
      (await storedEvents(storage)).map(({ chain, count }) => [Math.sign(chain ?? 0), count]).slice(-2),
      [
        [-1, 1],
        [-1, 2],
      ],
    )
  })
})
