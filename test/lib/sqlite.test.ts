import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { immutableUri, openSqlite } from '../../src/lib/sqlite.ts'
import { repository, run } from '../support/service/process.ts'

/**
 * Opens a database in memory. Older releases of Node behave differently here, so `npm run test:oldest` runs
 * these tests on the oldest one.
 */
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

test('Q17 a connection lets go of the statements that it has not used for long', t => {
  const db = openMemory(t)
  const columns = Array.from({ length: 30 }, (_, n) => `c${n}`)
  db.exec(`PRAGMA query_only = 0; CREATE TABLE wide (${columns.join()})`)
  const prepare = (from: number, end: number) => {
    for (let n = from; n < end; n++)
      db.all(`SELECT json_array(${columns.join()}) FROM wide ORDER BY ${columns.join()}, ${n}.0`)
  }
  prepare(0, 1_000)
  const before = process.memoryUsage.rss()
  prepare(1_000, 11_000)
  const grown = process.memoryUsage.rss() - before
  assert.ok(grown < 50e6, `10,000 statements cost ${Math.round(grown / 1e6)} MB`)
})

test('D2 a file that nobody changes can be in a folder of any name', t => {
  const path = join(mkdtempSync(join(tmpdir(), 'carrel-#?%41 ä-')), 'some.db')
  t.after(() => rmSync(dirname(path), { recursive: true }))
  const unavailable = (why: string) => new Error(why)
  const written = openSqlite(path, { mode: 'write' }, unavailable)
  written.exec('CREATE TABLE one (n INTEGER); INSERT INTO one VALUES (4711)')
  written.close()
  const opened = openSqlite(path, { mode: 'immutable' }, unavailable)
  t.after(() => opened.close())
  opened.run('ATTACH ? AS again', immutableUri(path))
  assert.deepEqual(
    opened.all('SELECT one.n FROM main.one JOIN again.one AS other USING (n)').map(({ n }) => n),
    [4711],
  )
})
