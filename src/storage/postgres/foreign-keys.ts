import type { Entity } from '../../model/entities.ts'
import type { ForeignKey } from '../entities.ts'
import type { Queries } from './driver.ts'

type ConstraintRow = {
  schema: string
  table: string
  columns: readonly string[]
  otherSchema: string
  otherTable: string
  otherColumns: readonly string[]
}

/** Columns come in the order of the constraint, which is that of the pairs. */
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

/** The foreign keys between the table of this entity and those of other exposed ones, where all columns are shown. */
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
