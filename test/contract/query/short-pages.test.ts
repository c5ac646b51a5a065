import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { bodyOf, listPath } from '../../support/clients/listings.ts'
import { importText } from '../../support/data/imports.ts'
import { runSqlIn, test, testOn } from '../../support/service/engines.ts'
import { type Service, startService } from '../../support/service/service.ts'

/**
 * Number of records of an entity that isn't kept in memory. Its pages are requested many at a time
 * (docs/decisions/0054).
 */
const count = 3_000
const note = 'x'.repeat(300)
const lineOf = (id: number) => `{"id":${id},"turned":${count - id},"note":"${note} 𝄞, \\\\ ${id}"}`

async function startFull(t: TestContext, line = lineOf, length = count): Promise<Service> {
  const service = await startService(t, { env: { CARREL_CACHE_SIZE: '1' } })
  const lines = Array.from({ length }, (_, id) => `${line(id)}\n`)
  await importText(service, lines.join(''), { entity: 'things', key: 'id' })
  return service
}

/** Pages in both directions, as JSON and as lines, of various lengths and offsets. */
const pages = Array.from({ length: 120 }, (_, at) => {
  const [limit, offset] = [1 + (at % 12), (at * 997) % (count - 12)]
  const turned = at % 3 === 0
  const ids = Array.from({ length: limit }, (_, n) => (turned ? count - 1 - offset - n : offset + n))
  const order = turned ? { order_by: [{ field: 'turned' }] } : {}
  return {
    path: listPath('things', { limit, offset, ...order }),
    lines: ids.map(lineOf),
    plain: at % 5 === 0,
  }
})

async function assertPages(service: Service): Promise<void> {
  await Promise.all(
    pages.map(async ({ path, lines, plain }) =>
      plain
        ? assert.equal(
            await bodyOf(service, path, 'application/x-ndjson'),
            lines.map(line => `${line}\n`).join(''),
          )
        : assert.equal(await bodyOf(service, path), `[${lines.join()}]`),
    ),
  )
}

test('Q2 Q10 of many pages at once, each has its own records', async t => {
  const service = await startFull(t)
  for (let round = 0; round < 3; round++) await assertPages(service)
})

testOn('postgres', 'Q2 pages that are asked for together are read together', async t => {
  const service = await startFull(t)
  await assertPages(service)
  const reads = await countReads(service)
  await assertPages(service)
  const statements = await reads()
  t.diagnostic(`${pages.length} pages, ${statements} statements`)
  assert.ok(statements > 0 && statements < pages.length / 2, `${statements} statements`)
})

testOn('postgres', 'Q10 of large records, few are read together', async t => {
  const large = (id: number) => `{"id":${id},"text":"${'x'.repeat(400_000)}"}`
  const service = await startFull(t, large, 24)
  const reads = await countReads(service)
  await Promise.all(
    Array.from({ length: 24 }, async (_, offset) =>
      assert.equal(await bodyOf(service, listPath('things', { limit: 1, offset })), `[${large(offset)}]`),
    ),
  )
  assert.ok((await reads()) >= 12)
})

/** @returns a function that counts the statements that have read records since */
async function countReads({ dataFolder }: Service): Promise<() => Promise<number>> {
  const table = await tableOf({ dataFolder })
  // Each statement counts itself.
  await runSqlIn(
    dataFolder,
    `CREATE SEQUENCE carrel.reads;
     ALTER TABLE carrel."${table}" RENAME TO "records.itself";
     CREATE VIEW carrel."${table}" AS WITH counted AS MATERIALIZED (SELECT nextval('carrel.reads') AS n)
       SELECT r.* FROM carrel."records.itself" r JOIN counted ON counted.n > 0`,
  )
  return async () => {
    const [made] = await runSqlIn<{ last_value: string }>(dataFolder, 'SELECT last_value FROM carrel.reads')
    return Number(made?.last_value)
  }
}

testOn('postgres', 'Q2 a page without all of its records fails alone', async t => {
  const service = await startFull(t)
  await assertPages(service)
  await runSqlIn(service.dataFolder, `DELETE FROM carrel."${await tableOf(service)}" WHERE n = 1500`)
  const path = (offset: number) => listPath('things', { limit: 10, offset })
  const answers = await Promise.all([0, 1495, 2000].map(offset => fetch(service.address + path(offset))))
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 503, 200],
  )
})

/** Returns the table of the entity's only version. */
async function tableOf({ dataFolder }: Pick<Service, 'dataFolder'>): Promise<string> {
  const sql = "SELECT relname AS name FROM pg_class WHERE relname LIKE 'records.%' AND relkind = 'r'"
  const [table] = await runSqlIn<{ name: string }>(dataFolder, sql)
  return table?.name ?? ''
}
