import type { Entity } from '../../model/entities.ts'
import type { ForeignKey, FoundTable, TableSearch } from '../exposing.ts'
import type { Part } from '../storage.ts'
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
 * SQL of the tables that this database user may read, except those of Carrel, PostgreSQL and extensions, and
 * the parts of partitioned tables.
 */
export const readableTables = `FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
    AND n.nspname NOT IN ('carrel', 'information_schema') AND n.nspname !~ '^pg_'
    AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
    AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = CAST('pg_class' AS REGCLASS) AND d.objid = c.oid
      AND d.deptype = 'e')`

/** The operator's tables and views, by name. */
export async function findTables(
  db: Queries,
  { text, offset, limit }: TableSearch,
): Promise<Part<FoundTable>> {
  const all = await db.rows<{ oid: number; schema: string; name: string; kind: string }>(
    `SELECT CAST(c.oid AS BIGINT) AS oid, n.nspname AS schema, c.relname AS name, CAST(c.relkind AS TEXT) AS kind
     ${readableTables} ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C"`,
  )
  // Searched here, because in PostgreSQL, upper and lower case depend on the locale of the database.
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

type ConstraintRow = {
  schema: string
  table: string
  columns: readonly string[]
  otherSchema: string
  otherTable: string
  otherColumns: readonly string[]
}

/** SQL of foreign keys. Their columns are in the order of the constraint, so that pairs stay together. */
const findConstraints = `SELECT fn.nspname AS schema, f.relname AS "table", tn.nspname AS "otherSchema", t.relname AS "otherTable",
    ARRAY(SELECT a.attname FROM unnest(c.conkey) WITH ORDINALITY AS k (attnum, n)
      JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.attnum ORDER BY k.n)::text[] AS columns,
    ARRAY(SELECT a.attname FROM unnest(c.confkey) WITH ORDINALITY AS k (attnum, n)
      JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.attnum ORDER BY k.n)::text[] AS "otherColumns"
  FROM pg_constraint c JOIN pg_class f ON f.oid = c.conrelid JOIN pg_namespace fn ON fn.oid = f.relnamespace
    JOIN pg_class t ON t.oid = c.confrelid JOIN pg_namespace tn ON tn.oid = t.relnamespace
  WHERE c.contype = 'f' AND c.conparentid = 0
    AND ((fn.nspname = $1 AND f.relname = $2) OR (tn.nspname = $1 AND t.relname = $2))
  ORDER BY c.conname, c.oid`

/** The foreign keys between the tables of this and other exposed entities, where all columns are shown. */
export async function findForeignKeys(
  db: Queries,
  entities: ReadonlyMap<string, Entity>,
  name: string,
): Promise<readonly ForeignKey[]> {
  const source = entities.get(name)?.source
  if (source?.kind !== 'exposed') return []
  const constraints = await db.rows<ConstraintRow>(findConstraints, source.schema, source.table)
  return constraints.flatMap(({ columns, otherColumns, ...one }) =>
    showing(entities, one.schema, one.table, columns).flatMap(entity =>
      showing(entities, one.otherSchema, one.otherTable, otherColumns)
        .filter(other => other !== entity && [entity, other].includes(name))
        .map(other => ({ entity, fields: columns, to: { entity: other, fields: otherColumns } })),
    ),
  )
}

/** The entities that show these columns of a table. */
const showing = (
  entities: ReadonlyMap<string, Entity>,
  schema: string,
  table: string,
  columns: readonly string[],
): readonly string[] =>
  [...entities.values()]
    .filter(
      ({ source, fields }) =>
        source.kind === 'exposed' &&
        source.schema === schema &&
        source.table === table &&
        columns.every(column => fields.some(field => field.name === column)),
    )
    .map(entity => entity.name)
