import { renameSync, rmSync } from 'node:fs'
import type { Entity, Field, ReadRule, Relation, WriteRule } from '../../model/entities.ts'
import { type Database, openDatabase, transaction } from '../sqlite/driver.ts'
import { createIn, databaseFile, isOfNow } from '../sqlite/migrate.ts'
import { definitionOf } from '../statements/entity-rows.ts'
import { columnsOf, tables } from './dump.ts'

/** The last schema of before the first release, whose backups can be restored. */
export const lastBefore = 21

/** Brings the database of a restored backup of before the first release to the first schema. */
export function convertBefore(folder: string): void {
  const file = databaseFile(folder)
  if (isOfFirst(file)) return
  const before = `${file}.before`
  renameSync(file, before)
  const db = openDatabase(file, { mode: 'write' })
  try {
    db.run('ATTACH ? AS before', before)
    transaction(db, () => {
      createIn(db)
      for (const table of tables) {
        const columns = columnsOf(db, table).columns.join(', ')
        db.exec(`INSERT INTO main.${table} (${columns}) SELECT ${columns} FROM before.${table}`)
      }
      const entities = db.all<EntityBefore & Record<string, unknown>>('SELECT * FROM before.entity')
      for (const entity of entities) addEntity(db, entity)
      db.exec(`
        UPDATE main.state SET (store, entities, records, mark, audiences) =
          (SELECT store, entities, records, mark, (SELECT coalesce(max(id), 0) FROM main.audience) FROM before.state);
        UPDATE stamp SET last = (SELECT stamp FROM before.state);
        DELETE FROM main.sqlite_sequence;
        INSERT INTO main.sqlite_sequence SELECT name, seq FROM before.sqlite_sequence
          WHERE name IN (SELECT name FROM main.sqlite_schema)`)
    })
    db.exec('DETACH before')
  } finally {
    db.close()
  }
  rmSync(before)
}

function isOfFirst(file: string): boolean {
  const db = openDatabase(file, { mode: 'write' })
  try {
    return isOfNow(db)
  } finally {
    db.close()
  }
}

interface EntityBefore {
  readonly name: string
  readonly key: string
  readonly read: ReadRule
  readonly fields: string
  readonly version: string
  readonly count: number
  readonly bytes: number
  readonly largest: number
  readonly slots: number | null
  readonly imported: string
  readonly relations: string | null
  readonly default_condition: string | null
  readonly description: string | null
  readonly write: WriteRule | null
}

function addEntity(db: Database, row: EntityBefore): void {
  const { name, read, version, count, bytes, largest, slots, imported } = row
  const entity: Entity = {
    name,
    key: JSON.parse(row.key) as Entity['key'],
    read,
    fields: JSON.parse(row.fields) as Field[],
    source: { kind: 'records', version, count, bytes, largest, ...(slots !== null && { slots }), imported },
    ...(row.relations !== null && { relations: JSON.parse(row.relations) as readonly Relation[] }),
    ...(row.default_condition !== null && { defaultCondition: row.default_condition }),
    ...(row.description !== null && { description: row.description }),
    ...(row.write !== null && { write: row.write }),
  }
  const sql = 'INSERT INTO main.entity (name, definition, version, changed) VALUES (?, ?, ?, ?)'
  db.run(sql, name, definitionOf(entity), version, imported)
}
