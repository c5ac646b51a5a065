import assert from 'node:assert/strict'
import { runSql } from '../support/service/databases.ts'
import { testOn } from '../support/service/engines.ts'
import { exposeIn, withTables } from '../support/service/exposed-tables.ts'

testOn(
  'postgres',
  'Q21 a subquery whose rows are elements of lists has at most a million of them, also of one record',
  async t => {
    const { service, client } = await withTables(
      t,
      'CREATE TABLE shows (id integer PRIMARY KEY, works jsonb)',
    )
    await exposeIn(service, 'shows')
    await service.addRecords('artworks', 'id', [{ id: 1 }, { id: -1 }])
    const { database } = service.config
    assert.ok(database.kind === 'postgres')
    const add = (id: number, to: number) =>
      runSql(
        database.url,
        `INSERT INTO shows SELECT ${id}, jsonb_agg(jsonb_build_object('no', n)) FROM generate_series(1, ${to}) AS n`,
      )
    await add(1, 1_000_001)
    const asked = `/api/query/v4?query=${encodeURIComponent(
      '["from", "artworks", ["in", "id", ["from", "shows", ["extract", "works[*].no"]]]]',
    )}`
    const refused = await client.get(asked)
    assert.equal(refused.status, 400)
    assert.match(await refused.text(), /The subquery on shows has more than 1,000,000 different rows/)
  },
)
