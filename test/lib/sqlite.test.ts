import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openSqlite } from '../../src/lib/sqlite.ts'
import { repository, run } from '../support/service/process.ts'

/** Older releases of Node behave differently here: `npm run test:oldest` runs these tests on the oldest one. */
function openMemory(t: TestContext) {
  const db = openSqlite(':memory:', { mode: 'read' }, why => new Error(why))
  t.after(() => db.close())
  return db
}

const threeRows = "SELECT column1 FROM (VALUES ('a'), ('b'), ('c'))"

test('Q10 an iterator that has reached the last row stays done', t => {
  const rows = openMemory(t).iterate(threeRows)
  assert.deepEqual([...rows], [['a'], ['b'], ['c']])
  assert.equal(rows.next().done, true)
  assert.equal(rows.next().done, true)
})

test('Q10 an iterator can be closed before the last row', t => {
  const db = openMemory(t)
  for (const taken of [0, 1, 2]) {
    const rows = db.iterate(threeRows)
    for (let n = 0; n < taken; n++) assert.equal(rows.next().done, false)
    rows.return?.()
    assert.equal(rows.next().done, true)
  }
})

test('D2 an empty byte array is stored as an empty blob, not as null', t => {
  const db = openMemory(t)
  db.exec('PRAGMA query_only = 0; CREATE TABLE rank (ranks BLOB NOT NULL)')
  const empties = [new Uint8Array(), new Uint8Array(new Uint32Array().buffer), Buffer.alloc(0)]
  const insert = db.prepare('INSERT INTO rank VALUES (?)')
  for (const empty of empties) {
    db.run('INSERT INTO rank VALUES (?)', empty)
    insert.run(empty)
  }
  const stored = db.all('SELECT typeof(ranks) AS type, length(ranks) AS length FROM rank')
  assert.deepEqual(
    stored.map(row => ({ ...row })),
    Array.from({ length: 2 * empties.length }, () => ({ type: 'blob', length: 0 })),
  )
})

test('D1 loading the driver writes nothing to standard error', async () => {
  assert.deepEqual(await run(process.execPath, [`${repository}src/lib/sqlite.ts`]), {
    code: 0,
    stdout: '',
    stderr: '',
  })
})
