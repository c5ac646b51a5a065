import { runSql } from '../service/databases.ts'
import { exposeIn } from '../service/exposed-tables.ts'
import type { Service } from '../service/service.ts'
import { lineOf, type Sheet } from './query-worlds.ts'

/** Tables of the operator with the records of random queries. */
const columns = {
  things: `id bigint PRIMARY KEY, big numeric, price numeric, word text COLLATE "en-x-icu", at timestamptz, flag boolean,
    doc json, tags jsonb, labels text[], mixed json, owner smallint`,
  links: `thing integer, label text COLLATE "sv-x-icu", note text, PRIMARY KEY (thing, label)`,
  owners: `number integer PRIMARY KEY, name varchar(20), rank numeric, born timestamptz, about json, nick text`,
  kinds: `id bigint PRIMARY KEY, mood mood, word text COLLATE blind, ratio double precision, part real, day date, code uuid,
    list integer[], words text[]`,
} as const

const types = `CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
  CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false);`

/** Values of types that imports lack, derived from `things`. */
const kinds = `SELECT id, (ARRAY['sad', 'ok', 'happy', NULL]::mood[])[abs(id) % 4 + 1], word, price, price,
  (at AT TIME ZONE 'UTC')::date, md5(word)::uuid, ARRAY[owner, NULL, abs(id) % 3], ARRAY[word, 'a'] FROM table_things`

/** The names of the tables as entities. */
export const tableNames = {
  things: 'table_things',
  owners: 'table_owners',
  links: 'table_links',
  kinds: 'table_kinds',
} as const

export const createTables: string = [
  types,
  ...Object.entries(columns).map(
    ([name, list]) => `CREATE TABLE ${tableNames[name as keyof typeof columns]} (${list});`,
  ),
].join('\n')

/** Replaces the content of the tables. */
export async function fillTables(url: string, all: readonly Sheet[]): Promise<void> {
  for (const { name, records } of all) {
    const table = tableNames[name as keyof typeof columns]
    await runSql(url, `TRUNCATE ${table}`)
    // PostgreSQL can't store NUL or unpaired surrogates. Without them, two keys may become equal.
    const json = `[${records.map(lineOf).join()}]`.replace(/\\u(0000|d[89a-f][0-9a-f]{2})/g, '?')
    await runSql(
      url,
      `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1) ON CONFLICT DO NOTHING`,
      [json],
    )
  }
  await runSql(url, `TRUNCATE ${tableNames.kinds}; INSERT INTO ${tableNames.kinds} ${kinds}`)
}

export async function exposeTables(service: Service): Promise<void> {
  for (const table of Object.values(tableNames)) await exposeIn(service, table)
}
