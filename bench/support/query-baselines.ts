import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'

/** A database with the same records in tables that have an index on each field. */
export interface Baseline {
  readonly name: 'SQLite' | 'PostgreSQL'
  /** Runs a statement, which is prepared once. @param sql with `?` for values */
  ask(sql: string, values: readonly (number | string)[]): Promise<unknown[]>
  close(): Promise<void>
}

export interface Table {
  readonly name: string
  /** Columns with their types, the key first. A further column `json` has the whole record. */
  readonly columns: readonly (readonly [name: string, type: 'bigint' | 'text' | 'double precision'])[]
  /** Path of a file of JSON lines. */
  readonly file: string
}

type Cell = string | number | null

async function* rowsOf({ columns, file }: Table): AsyncIterable<Cell[]> {
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const record = JSON.parse(line) as Record<string, Cell>
    yield [...columns.map(([name]) => record[name] ?? null), line]
  }
}

const indexesOf = ({ name, columns }: Table) =>
  columns.slice(1).map(([column]) => `CREATE INDEX ${name}_${column} ON ${name} (${column})`)

/** @param more statements that create further indexes */
export async function sqliteBaseline(
  path: string,
  tables: readonly Table[],
  more: readonly string[],
): Promise<Baseline> {
  const db = new DatabaseSync(path)
  db.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -500000')
  const expressions = new Map<string, RegExp>()
  db.function('regexp', { deterministic: true }, (expression, text) => {
    const known = expressions.get(String(expression)) ?? new RegExp(String(expression))
    expressions.set(String(expression), known)
    return Number(known.test(String(text)))
  })
  for (const table of tables) {
    const { name, columns } = table
    const described = columns.map(
      ([column, type], at) =>
        `${column} ${type === 'bigint' ? 'INTEGER' : type === 'text' ? 'TEXT' : 'REAL'}${at === 0 ? ' PRIMARY KEY' : ''}`,
    )
    db.exec(`CREATE TABLE ${name} (${described.join()}, json TEXT)`)
    const insert = db.prepare(`INSERT INTO ${name} VALUES (${[...columns, ''].map(() => '?').join()})`)
    db.exec('BEGIN')
    for await (const row of rowsOf(table)) insert.run(...row)
    db.exec('COMMIT')
    for (const index of indexesOf(table)) db.exec(index)
  }
  for (const statement of more) db.exec(statement)
  db.exec('ANALYZE')
  const statements = new Map<string, ReturnType<typeof db.prepare>>()
  return {
    name: 'SQLite',
    ask: async (sql, values) => {
      const statement = statements.get(sql) ?? db.prepare(sql)
      statements.set(sql, statement)
      return statement.all(...values)
    },
    close: async () => db.close(),
  }
}

/** @param more statements that create further indexes */
export async function postgresBaseline(
  url: string,
  tables: readonly Table[],
  more: readonly string[],
): Promise<Baseline> {
  const db = new pg.Client({ connectionString: url })
  await db.connect()
  for (const table of tables) {
    const { name, columns } = table
    const described = columns.map(
      ([column, type], at) =>
        `${column} ${type}${type === 'text' ? ' COLLATE "C"' : ''}${at === 0 ? ' PRIMARY KEY' : ''}`,
    )
    await db.query(`CREATE TABLE ${name} (${described.join()}, json text)`)
    const names = [...columns.map(([column]) => column), 'json']
    let rows: Cell[][] = []
    const write = async () => {
      const types = [...columns.map(([, type]) => type), 'text']
      const lists = types.map((type, at) => `$${at + 1}::${type}[]`)
      await db.query(
        `INSERT INTO ${name} SELECT * FROM unnest(${lists.join()})`,
        names.map((_, at) => rows.map(row => row[at])),
      )
      rows = []
    }
    for await (const row of rowsOf(table)) if (rows.push(row) === 5_000) await write()
    await write()
    for (const index of indexesOf(table)) await db.query(index)
  }
  for (const statement of more) await db.query(statement)
  await db.query('VACUUM ANALYZE')
  const names = new Map<string, string>()
  return {
    name: 'PostgreSQL',
    ask: async (sql, values) => {
      const name = names.get(sql) ?? `q${names.size}`
      names.set(sql, name)
      let at = 0
      const text = sql.replaceAll(' REGEXP ', ' ~ ').replace(/\?/g, () => `$${++at}`)
      return (await db.query({ name, text, values: [...values] })).rows
    },
    close: () => db.end(),
  }
}
