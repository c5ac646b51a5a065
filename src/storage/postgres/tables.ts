import type { FoundTable, FoundTables, TableSearch } from '../entities.ts'
import type { Queries } from './driver.ts'
import { type ColumnRow, findColumns, primaryKeyOf, toField } from './expose.ts'

const kinds: Readonly<Record<string, FoundTable['kind']>> = {
  r: 'table',
  p: 'table',
  v: 'view',
  m: 'materialized view',
  f: 'foreign table',
}

/**
 * What this database user may read, but for Carrel's own tables, those of PostgreSQL and of extensions, and the parts of
 * partitioned tables.
 */
export const readableTables = `FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
    AND n.nspname NOT IN ('carrel', 'information_schema') AND n.nspname !~ '^pg_'
    AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
    AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = CAST('pg_class' AS REGCLASS) AND d.objid = c.oid
      AND d.deptype = 'e')`

/** The operator's tables and views, by name. */
export async function findTables(db: Queries, { text, offset, limit }: TableSearch): Promise<FoundTables> {
  const all = await db.rows<{ oid: number; schema: string; name: string; kind: string }>(
    `SELECT CAST(c.oid AS BIGINT) AS oid, n.nspname AS schema, c.relname AS name, CAST(c.relkind AS TEXT) AS kind
     ${readableTables} ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C"`,
  )
  // Here, because what PostgreSQL takes for the same letter depends on the locale of the database.
  const wanted = text.toLowerCase()
  const found = all.filter(({ schema, name }) => `${schema}.${name}`.toLowerCase().includes(wanted))
  const rows: FoundTable[] = []
  for (const { oid, schema, name, kind } of found.slice(offset, offset + limit)) {
    const columns = await db.rows<ColumnRow>(findColumns, oid)
    const key = await primaryKeyOf(db, oid)
    rows.push({ schema, name, kind: kinds[kind] ?? 'table', key, fields: columns.map(toField) })
  }
  return { rows, total: found.length }
}
