import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { builtInEntities } from '../../../src/model/built-in-entities.ts'
import { list } from '../../support/clients/listings.ts'
import { runSqlIn, testOn } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

const fields = builtInEntities.find(({ name }) => name === 'items')?.fields.map(({ name }) => name) ?? []

/** Returns the nth of very many orders by all fields of items. */
function orderNumber(n: number): object[] {
  const left = fields.filter(name => name !== 'uuid')
  const order: object[] = []
  for (let rest = n; left.length > 0; rest = Math.floor(rest / 3)) {
    const [field] = left.splice(rest % left.length, 1)
    order.push({ field, order: (n >> left.length) % 2 === 0 ? 'asc' : 'desc' })
  }
  return order
}

/** Returns the private memory of a process in bytes. */
const memoryOf = (pid: number) =>
  Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024

// On SQLite, every statement goes through one file; test/lib/sqlite.test.ts has the same test for it.
testOn('postgres', 'Q17 a client that asks for ever new orders costs the database no memory', async t => {
  const service = await startService(t, { env: { CARREL_DATABASE_POOL_SIZE: '1' } })
  const askFor = async (from: number, end: number) => {
    for (let n = from; n < end; n++)
      assert.deepEqual(await list(service.client(), 'items', { order_by: orderNumber(n), limit: 1 }), [])
  }
  // The connection with the most memory counts.
  const memory = async () => {
    const sql =
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'carrel'"
    const backends = await runSqlIn<{ pid: number }>(service.dataFolder, sql)
    return Math.max(...backends.map(({ pid }) => memoryOf(pid)))
  }
  await askFor(0, 50)
  const before = await memory()
  await askFor(50, 350)
  const grown = (await memory()) - before
  assert.ok(grown < 5e6, `300 orders cost ${Math.round(grown / 1e6)} MB`)
})
