import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

/**
 * Answers questions with DuckDB, which the folder DUCKDB has: a table of the records is made in a file once. Standard
 * input has the questions, and standard output the time in ms that each took.
 */
interface Duckdb {
  readonly DuckDBInstance: {
    create(
      path: string,
      options?: Readonly<Record<string, string>>,
    ): Promise<{ connect(): Promise<Connection> }>
  }
}
interface Connection {
  run(sql: string): Promise<unknown>
  runAndReadAll(sql: string): Promise<{ getRowsJson(): unknown }>
  closeSync(): void
}

const { file, database, asked } = JSON.parse(readFileSync(0, 'utf8')) as {
  readonly file: string
  readonly database: string
  readonly asked: readonly (readonly string[])[]
}
const { DuckDBInstance } = createRequire(`${process.env.DUCKDB}/`)('@duckdb/node-api') as Duckdb
if (!existsSync(database)) {
  const connection = await (await DuckDBInstance.create(database)).connect()
  const columns =
    "id: 'BIGINT', title: 'VARCHAR', maker: 'VARCHAR', year: 'INTEGER', price: 'DOUBLE', changed: 'TIMESTAMP'"
  const read = `read_json('${file}', format = 'newline_delimited', columns = {${columns}})`
  await connection.run(`CREATE TABLE works AS SELECT * FROM ${read} ORDER BY id`)
  connection.closeSync()
}
const connection = await (await DuckDBInstance.create(database, { access_mode: 'READ_ONLY' })).connect()
const times: number[] = []
for (const statements of asked) {
  const begun = performance.now()
  for (const sql of statements) (await connection.runAndReadAll(sql)).getRowsJson()
  times.push(performance.now() - begun)
}
console.log(JSON.stringify(times))
