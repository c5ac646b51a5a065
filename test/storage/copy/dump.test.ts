import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { copiedColumns } from '../../../src/storage/copy/dump.ts'
import { copiedTables } from '../../../src/storage/schema.ts'
import { schema } from '../../../src/storage/sqlite/schema.ts'
import { createStore, runSql } from '../../support/service/databases.ts'
import { testOn } from '../../support/service/engines.ts'

/** Tables and columns that a copy transfers in another way, or leaves out. */
const left = [
  // Single-use tickets, and the throttle of password guessing.
  ...['ticket', 'attempt'],
  // Versions of entities that no request reads a minute later.
  'retired',
  'kept_version',
  'kept_change',
  // Versions that snapshots name, and claims of uploads under way.
  ...['held_version', 'held_change', 'content_claim'],
  // The size of events that repeat, which the copy measures again.
  'trail_size',
  // Counters of writes, which start again in a copy.
  'entity_writes',
  // Counters, which triggers compute again.
  ...['audience.items', 'audience.bitstreams', 'audience.bytes'],
  // Tables copied field by field.
  ...['entity', 'state', 'stamp', 'secret', 'rank', 'store_schema'],
]

const without = (columns: readonly string[], names: readonly string[]) =>
  columns.filter(column => !names.includes(column) && !names.includes(column.replace(/\..*/, ''))).toSorted()

testOn(
  'postgres',
  'D8 a backup and a copy have every column of every table, apart from those that are named here',
  async t => {
    const db = new DatabaseSync(':memory:')
    db.exec(schema.create)
    for (const sql of schema.later) db.exec(sql)
    const embedded = db
      .prepare(
        `SELECT s.name || '.' || c.name AS name FROM sqlite_schema s, pragma_table_info(s.name) c
       WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite_%'`,
      )
      .all()
      .map(({ name }) => String(name))
    db.close()
    const copied = copiedTables.flatMap(table =>
      copiedColumns(table).columns.map(column => `${table.name}.${column}`),
    )
    assert.deepEqual(without(embedded, left), copied.toSorted())
    const rows = await runSql<{ name: string }>(
      await createStore(t),
      `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
     JOIN information_schema.tables USING (table_schema, table_name)
     WHERE table_schema = 'carrel' AND table_type = 'BASE TABLE'`,
    )
    const postgres = rows.map(({ name }) => name)
    assert.deepEqual(without(postgres, left), without(embedded, left))
  },
)
