import { StoreUnavailable } from '../../lib/errors.ts'
import type { Entity, Field, FieldType } from '../../model/entities.ts'
import { ExposeError, type ExposeRequest } from '../exposing.ts'
import { quoteName } from '../tables/cells.ts'
import type { Connection, Queries } from './driver.ts'
import { Conflict, codeOf } from './errors.ts'

/**
 * The role that reads exposed tables: it may read the exposed columns and nothing else. Roles belong to the
 * whole server, so each database has its own.
 */
const readerRole = "left('carrel_reader_' || current_database(), 63)"

/**
 * Sets up a connection for exposed tables. It runs again before each page, because a view's function may have
 * changed the settings. The role can't write, and the transaction is read-only, so a view can't write either.
 * Values are printed the same way whatever the database's settings.
 */
export const readAsReader = `SET default_transaction_read_only = on; SET TIME ZONE 'UTC'; SET DateStyle = ISO;
  SET IntervalStyle = postgres; SET bytea_output = hex; SET extra_float_digits = 1;
  SELECT set_config('role', ${readerRole}, false)`

/**
 * Describes one of the operator's tables or views as a read-only entity. Types come from the catalogue, and
 * columns whose type has no order can't be sorted by.
 */
export async function describeTable(db: Connection, request: ExposeRequest): Promise<Omit<Entity, 'read'>> {
  const { schema, table } = request
  const full = `${schema}.${table}`
  if (/^(carrel|pg_.*|information_schema)$/.test(schema))
    throw new ExposeError(
      `tables of the schema ${schema} can't be exposed: it belongs to Carrel or PostgreSQL`,
    )
  // Reading a view runs it, as Carrel's own user.
  await db.exec('BEGIN READ ONLY')
  const [found] = await db.rows<{ oid: number }>(findTable, schema, table)
  if (!found)
    throw new ExposeError(`there is no table or view ${full}, or Carrel's database user can't see it`)
  const all = await db.rows<ColumnRow>(findColumns, found.oid)
  const columns = request.fields ? distinct(request.fields).map(field => columnNamed(all, field, full)) : all
  const key = request.key ? distinct(request.key) : await primaryKey(db, found.oid, full)
  if (columns.length === 0 || key.length === 0)
    throw new ExposeError('--fields and --key must name at least one column each, unless they are left out')
  const fields = columns.map(toField)
  for (const name of key) {
    const field = fields.find(one => one.name === name)
    if (!field) throw new ExposeError(`the key column ${name} must be one of the fields: ${list(columns)}`)
    if (field.sortable === false)
      throw new ExposeError(`the column ${name} can't be part of the key: its values have no order`)
  }
  try {
    await checkKey(db, found.oid, request, key)
  } catch (error) {
    if (codeOf(error) !== canceled) throw error
    throw new ExposeError(
      `it takes too long to look through ${full} for duplicate keys; use --key to name columns of a unique index that are never null, or the command \`carrel expose\`, which has no time limit`,
    )
  }
  const [first, ...more] = key
  return {
    name: request.name,
    key: first !== undefined && more.length === 0 ? first : key,
    fields,
    source: { kind: 'exposed', schema, table, asText: columns.filter(isText).map(column => column.name) },
  }
}

/** SQLSTATE of a statement that a time limit or an administrator of the database has cancelled. */
const canceled = '57014'

const distinct = (names: readonly string[]) => [...new Set(names)]

const findTable = `SELECT CAST(c.oid AS BIGINT) AS oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind IN ('r', 'p', 'v', 'm', 'f')`

export const tableExists = async (
  db: Queries,
  { schema, table }: Pick<ExposeRequest, 'schema' | 'table'>,
): Promise<boolean> => (await db.rows(findTable, schema, table)).length > 0

/**
 * The columns of a table. Domains are resolved to their base types. `ordered`: the type has an order (a
 * default operator class for B-trees). `castsToJson`: the type belongs to an extension, such as hstore, that
 * defines a cast to JSON.
 */
export const findColumns = `SELECT a.attname AS name, NOT a.attnotnull AS nullable, b.typname AS type, b.typtype AS kind,
    b.typcategory AS category, EXISTS (SELECT 1 FROM pg_opclass o JOIN pg_am m ON m.oid = o.opcmethod
      WHERE m.amname = 'btree' AND o.opcdefault AND o.opcintype = b.oid) AS ordered,
    EXISTS (SELECT 1 FROM pg_cast k WHERE b.oid >= 16384 AND k.castsource = b.oid AND k.castmethod = 'f'
      AND k.casttarget = CAST('json' AS REGTYPE)) AS "castsToJson"
  FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    JOIN pg_type b ON b.oid = (WITH RECURSIVE base (oid, kind, made_of) AS (SELECT t.oid, t.typtype, t.typbasetype
      UNION ALL SELECT n.oid, n.typtype, n.typbasetype FROM base JOIN pg_type n ON n.oid = base.made_of WHERE base.kind = 'd')
      SELECT oid FROM base WHERE kind <> 'd')
  WHERE a.attrelid = CAST($1 AS BIGINT) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`

export type ColumnRow = {
  name: string
  nullable: boolean
  type: string
  kind: string
  category: string
  ordered: boolean
  castsToJson: boolean
}

const list = (columns: readonly ColumnRow[]) => columns.map(column => column.name).join(', ')

function columnNamed(columns: readonly ColumnRow[], name: string, table: string): ColumnRow {
  const column = columns.find(one => one.name === name)
  if (!column) throw new ExposeError(`${table} has no column ${name}; it has ${list(columns)}`)
  return column
}

const types: Readonly<Record<string, FieldType>> = {
  int2: 'integer',
  int4: 'integer',
  int8: 'integer',
  float4: 'number',
  float8: 'number',
  numeric: 'number',
  bool: 'boolean',
  timestamptz: 'date-time',
  json: 'json',
  jsonb: 'json',
}

const texts: ReadonlySet<string> = new Set(['text', 'varchar', 'bpchar', 'name', 'citext', 'char'])
const isText = ({ type, kind }: ColumnRow) => texts.has(type) || kind === 'e'

export function toField(column: ColumnRow): Field {
  const { name, type, nullable, kind, category, ordered, castsToJson } = column
  // Arrays and composite types become nested JSON. Every other type without an entry in `types` becomes text.
  const shown = types[type] ?? (category === 'A' || kind === 'c' || castsToJson ? 'json' : 'text')
  const sortable = isText(column) || (ordered && shown !== 'json')
  const order = sortable ? {} : ({ sortable: false } as const)
  return { name, type: shown, nullable, ...order, ...(category === 'A' && ({ list: true } as const)) }
}

/** @returns the columns of the primary key; none if there is no such key */
export const primaryKeyOf = async (db: Queries, oid: number): Promise<readonly string[]> =>
  (
    await db.rows<{ name: string }>(
      `SELECT a.attname AS name FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
       WHERE i.indrelid = CAST($1 AS BIGINT) AND i.indisprimary
       ORDER BY array_position(CAST(i.indkey AS SMALLINT[]), a.attnum)`,
      oid,
    )
  ).map(column => column.name)

async function primaryKey(db: Queries, oid: number, table: string): Promise<readonly string[]> {
  const columns = await primaryKeyOf(db, oid)
  if (columns.length > 0) return columns
  throw new ExposeError(
    `${table} has no primary key; use --key to name columns that are never null and unique together`,
  )
}

/** @throws ExposeError if two records could have the same key, because their order would be undefined */
async function checkKey(
  db: Queries,
  oid: number,
  { schema, table }: ExposeRequest,
  key: readonly string[],
): Promise<void> {
  const [unique] = await db.rows(
    `SELECT 1 FROM pg_index i WHERE i.indrelid = CAST($1 AS BIGINT) AND i.indisunique AND i.indpred IS NULL
       AND i.indexprs IS NULL AND i.indisvalid
       AND ARRAY(SELECT a.attname FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnotnull
         AND a.attnum = ANY(i.indkey[0:i.indnkeyatts - 1])) <@ CAST($2 AS NAME[])
       AND i.indnkeyatts = (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnotnull
         AND a.attnum = ANY(i.indkey[0:i.indnkeyatts - 1]))`,
    oid,
    key,
  )
  if (unique) return
  // A view, or a table without a matching unique index: only the current values can be checked.
  const columns = key.map(quoteName)
  const [bad] = await db.rows(
    `SELECT 1 FROM ${quoteName(schema)}.${quoteName(table)} GROUP BY ${columns.join(', ')}
     HAVING count(*) > 1 OR ${columns.map(column => `${column} IS NULL`).join(' OR ')} LIMIT 1`,
  )
  if (bad)
    throw new ExposeError(
      `${key.join(', ')} can't be the key of ${schema}.${table}: it has duplicate values or nulls`,
    )
}

/**
 * Grants the reader role these columns of the table, and revokes all others.
 * @throws ExposeError if this user may not; the message has the statements for an authorized user to run
 */
export async function grantReader(
  db: Connection,
  { schema, table }: Pick<ExposeRequest, 'schema' | 'table'>,
  columns: readonly string[],
): Promise<void> {
  const full = `${quoteName(schema)}.${quoteName(table)}`
  const [role] = await db.rows<RoleRow>(findRole, schema, table, columns)
  if (!role) throw new Error(`${full} does not exist`)
  const reader = quoteName(role.name)
  const statements = [
    ...(role.known ? [] : [`CREATE ROLE ${reader} NOLOGIN`]),
    ...(role.member ? [] : [`GRANT ${reader} TO ${quoteName(role.user)}`]),
    ...(role.inSchema ? [] : [`GRANT USAGE ON SCHEMA ${quoteName(schema)} TO ${reader}`]),
    ...(role.owner || !role.reads ? [`REVOKE SELECT ON ${full} FROM ${reader}`] : []),
    ...(columns.length === 0 || (role.reads && !role.owner)
      ? []
      : [`GRANT SELECT (${columns.map(quoteName).join(', ')}) ON ${full} TO ${reader}`]),
  ]
  try {
    for (const sql of statements) await db.exec(sql)
    // Reads as the role, because a failed grant may only warn, and a view may read with the caller's rights.
    if (columns.length > 0)
      await db.exec(
        `SET LOCAL ROLE ${reader}; SELECT ${columns.map(quoteName).join(', ')} FROM ${full} LIMIT 0; RESET ROLE`,
      )
  } catch (error) {
    if (!(error instanceof StoreUnavailable) || error instanceof Conflict) throw error
    throw new ExposeError(
      `${error.message}; have an authorized user run: ${statements.join('; ')}; then run this command again`,
      { cause: error },
    )
  }
}

type RoleRow = {
  name: string
  user: string
  known: boolean
  member: boolean
  /** True if this user owns the table or has its owner's rights. */
  owner: boolean
  inSchema: boolean
  /** True if the reader role can already read all the columns. */
  reads: boolean
}

const findRole = `SELECT r.name, current_user AS user, p.oid IS NOT NULL AS known,
    coalesce(pg_has_role(current_user, p.oid,
      -- From PostgreSQL 16 on a member may lack the right to become the role.
      CASE WHEN CAST(current_setting('server_version_num') AS INTEGER) >= 160000 THEN 'SET' ELSE 'MEMBER' END), false) AS member,
    pg_has_role(current_user, c.relowner, 'USAGE') AS owner,
    CASE WHEN p.oid IS NULL THEN EXISTS (SELECT 1 FROM aclexplode(n.nspacl) WHERE grantee = 0 AND privilege_type = 'USAGE')
      ELSE has_schema_privilege(p.oid, n.oid, 'USAGE') END AS "inSchema",
    p.oid IS NOT NULL AND NOT EXISTS (SELECT 1 FROM unnest(CAST($3 AS NAME[])) AS wanted (name)
      WHERE NOT has_column_privilege(p.oid, c.oid, wanted.name, 'SELECT')) AS reads
  FROM (SELECT ${readerRole} AS name) r LEFT JOIN pg_roles p ON p.rolname = r.name, pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = $1 AND c.relname = $2`
