import { renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseExact } from '../../lib/json.ts'
import { mixedKey } from '../../lib/sort-keys.ts'
import type { Entity, Field, ReadRule, Relation, WriteRule } from '../../model/entities.ts'
import { type Database, openDatabase, transaction } from '../sqlite/driver.ts'
import { createIn, databaseFile, isOfNow } from '../sqlite/migrate.ts'
import { openRecords, ranksIn, recordReader, slotsIn } from '../sqlite/record-versions.ts'
import { definitionOf } from '../statements/entity-rows.ts'
import { columnsOf, tables } from './dump.ts'
import { entityPath } from './snapshot.ts'

/** The last schema before the first release, of which backups can be restored. */
export const lastBefore = 21

/** Converts the database of a restored backup from before the first release to the first schema. */
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
        const there = new Set(
          db
            .all<{ name: string }>("SELECT name FROM pragma_table_info(?, 'before')", table)
            .map(({ name }) => name),
        )
        // Tables and columns of later schemas stay empty.
        if (there.size === 0) continue
        const columns = columnsOf(db, table)
          .columns.filter(name => there.has(name))
          .join(', ')
        db.exec(`INSERT INTO main.${table} (${columns}) SELECT ${columns} FROM before.${table}`)
      }
      const entities = db.all<EntityBefore & Record<string, unknown>>('SELECT * FROM before.entity')
      for (const entity of entities) {
        addEntity(db, entity)
        rankJson(folder, entity)
      }
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

/**
 * Ranks JSON fields again: values of several kinds and nested ones had another order. No key is JSON.
 * @param fields of the entity, as JSON
 */
export function rankJson(
  folder: string,
  { version, fields }: { readonly version: string; readonly fields: string },
): void {
  const fileOf = (one: string) => join(folder, entityPath(one))
  for (const [at, { name, type }] of (JSON.parse(fields) as Field[]).entries()) {
    if (type !== 'json') continue
    const db = openDatabase(fileOf(version), { mode: 'write' })
    try {
      db.exec('PRAGMA journal_mode = OFF')
      db.exec('CREATE TEMP TABLE value (key BLOB NOT NULL, rank INTEGER NOT NULL)')
      transaction(db, () => {
        const ranks = addValues(db, fileOf, version, { at, name })
        const moved = newRanks(db, ranks.length + 1)
        for (let n = 0; n < ranks.length; n++) ranks[n] = moved[ranks[n] as number] as number
        const bytes = new Uint8Array(ranks.buffer, ranks.byteOffset, ranks.byteLength)
        db.run('UPDATE main.rank SET ranks = ? WHERE field = ?', bytes, at)
      })
    } finally {
      db.close()
    }
  }
}

/** Adds the key of each distinct value, with its rank. @returns the ranks of all records */
function addValues(
  db: Database,
  fileOf: (version: string) => string,
  version: string,
  { at, name }: { readonly at: number; readonly name: string },
): Uint32Array<ArrayBuffer> {
  const records = openRecords(fileOf, version, {})
  try {
    const slots = slotsIn(records)
    const read = recordReader(records)
    const ranks = ranksIn(records, at).slice()
    const isKnown = new Uint8Array(ranks.length + 1)
    for (const [n, rank] of ranks.entries()) {
      if (isKnown[rank] === 1) continue
      isKnown[rank] = 1
      const record = parseExact(read(slots ? (slots[n] as number) : n)) as Readonly<Record<string, unknown>>
      const value = Object.hasOwn(record, name) ? record[name] : null
      if (value === null) continue
      db.run('INSERT INTO temp.value VALUES (?, ?)', Buffer.from(mixedKey(value), 'latin1'), rank)
    }
    return ranks
  } finally {
    records.close()
  }
}

/**
 * Returns the new rank of each old one. Equal values get one rank; null, which has no key, gets the last.
 * SQLite sorts the keys, on disk if they are large.
 */
function newRanks(db: Database, count: number): Uint32Array {
  const distinct = db.get<{ n: number }>('SELECT count(DISTINCT key) n FROM temp.value')?.n ?? 0
  const moved = new Uint32Array(count).fill(distinct)
  for (const [rank, place] of db.iterate('SELECT rank, dense_rank() OVER (ORDER BY key) FROM temp.value'))
    moved[rank as number] = (place as number) - 1
  return moved
}
