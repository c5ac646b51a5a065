import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runSql } from '../support/service/databases.ts'
import {
  asSuperuser,
  startLine,
  startRestorable,
  startWithStandby,
  storeAt,
} from '../support/service/standby.ts'

/** The tests of failover rely on these servers. */

const write = (at: { readonly port: number }, text: string) =>
  runSql(
    storeAt(at),
    `CREATE TABLE IF NOT EXISTS written (text text); INSERT INTO written VALUES ('${text}')`,
  )

const written = async (at: { readonly port: number }) =>
  (await runSql<{ text: string }>(storeAt(at), 'SELECT text FROM written')).map(({ text }) => text)

const timeline = async (at: { readonly port: number }) =>
  (
    await runSql<{ name: string }>(asSuperuser(at), 'SELECT pg_walfile_name(pg_current_wal_lsn()) AS name')
  )[0]?.name.slice(0, 8)

test('a standby has what was written before the line was cut, and nothing later, when it is promoted', async t => {
  const pair = await startWithStandby(t)
  const line = await startLine(t, pair.primary)
  await write(line, 'before')
  await pair.caughtUp()
  pair.replication.leadTo(undefined)
  await write(line, 'lost')
  assert.deepEqual(await written(line), ['before', 'lost'])
  assert.deepEqual(await written(pair.standby), ['before'])
  assert.equal(await timeline(pair.primary), '00000001')
  await pair.killPrimary()
  await assert.rejects(written(line))
  await pair.promote()
  line.leadTo(pair.standby)
  assert.deepEqual(await written(line), ['before'])
  await write(line, 'after')
  assert.deepEqual(await written(line), ['before', 'after'])
  assert.equal(await timeline(pair.standby), '00000002')
})

test('a snapshot of the disk that is put back goes on on its timeline, and a recovery begins another one', async t => {
  const { server, ...copies } = await startRestorable(t)
  await write(server, 'first')
  const snapshot = await copies.snapshot()
  const base = await copies.baseBackup()
  await write(server, 'second')
  const point = await copies.restorePoint()
  await write(server, 'third')
  await base.recoverTo(point)
  assert.deepEqual(await written(server), ['first', 'second'])
  assert.equal(await timeline(server), '00000002')
  await snapshot.putBack()
  assert.deepEqual(await written(server), ['first'])
  assert.equal(await timeline(server), '00000001')
})
