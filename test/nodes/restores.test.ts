import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { listPath } from '../support/clients/listings.ts'
import { assertDone, backUp, restore } from '../support/data/backups.ts'
import { runSql, serverUrl } from '../support/service/databases.ts'
import { useDatabase } from '../support/service/engines.ts'
import {
  addLogs,
  addToLog,
  foldWorks,
  logOf,
  startNodesAt,
  startWriters,
  untilReady,
} from '../support/service/failing-over.ts'
import {
  ask,
  assertUnavailable,
  bearer,
  isAccepted,
  quickLogin,
  startNodes,
  times,
} from '../support/service/nodes.ts'
import { type Service, startService, temporaryFolder } from '../support/service/service.ts'
import { type Copy, startRestorable } from '../support/service/standby.ts'

/** A database that is put back to an earlier state while nodes run. */

/**
 * Writes on three nodes while a copy is made and put back.
 *
 * @param copy returns what puts the database back to the moment at which it is called, or a little later
 */
async function writeOver(
  t: TestContext,
  copy: (from: Awaited<ReturnType<typeof startRestorable>>, base: Copy) => Promise<() => Promise<void>>,
): Promise<void> {
  const restorable = await startRestorable(t)
  const nodes = await startNodesAt(t, restorable.server, 3)
  const [first] = nodes
  assert.ok(first)
  const writers = startWriters(nodes, await addLogs(first))
  const base = await restorable.baseBackup()
  await writers.untilEachHas(5)
  writers.enter('between')
  const putBack = await copy(restorable, base)
  writers.enter('lost')
  await writers.untilEachHas(10)
  writers.enter('between')
  await putBack()
  for (const node of nodes) await untilReady(node)
  writers.enter('after')
  await writers.untilEachHas(20)
  await writers.endAndCompare()
}

test('D20 R1 R8 after a recovery to a point in time, three nodes that go on lose nothing written since, and show nothing that it undid', t =>
  writeOver(t, async ({ restorePoint }, base) => {
    const point = await restorePoint()
    return () => base.recoverTo(point)
  }))

test('D20 R1 R8 after an older copy of the data folder was put in its place, three nodes that go on lose nothing written since, and show nothing that it undid', t =>
  writeOver(t, async ({ snapshot }) => {
    const copied = await snapshot()
    return () => copied.putBack()
  }))

/** Asserts that nodes show this log of a record, and go on writing and folding. */
async function assertGoesOn(
  nodes: readonly Service[],
  token: string,
  key: string,
  log: readonly number[],
): Promise<void> {
  for (const [at, node] of nodes.entries()) assert.deepEqual(await logOf(node, key), log, `node ${at}`)
  for (const [at, node] of nodes.entries())
    assert.equal((await addToLog(node, token, key, 1_000 + at)).status, 200)
  await foldWorks(nodes[0] as Service)
  for (const [at, node] of nodes.entries())
    assert.deepEqual(await logOf(node, key), [...log, ...nodes.map((_, by) => 1_000 + by)], `node ${at}`)
}

test('D5 D8 D20 nodes answer 503 when a backup is restored into their database, until they are started again', async t => {
  const { nodes, url } = await startNodes(t, 2)
  const [first] = nodes
  assert.ok(first)
  const token = await addLogs(first)
  const { dataFolder } = first
  assert.equal((await addToLog(first, token, 'I-001', 1)).status, 200)
  const backups = temporaryFolder(t, 'sqlite')
  await backUp(dataFolder, backups)
  for (const number of [2, 3, 4]) assert.equal((await addToLog(first, token, 'I-001', number)).status, 200)
  await runSql(url, 'DROP SCHEMA carrel CASCADE')
  const place = temporaryFolder(t, 'sqlite')
  useDatabase(t, place, () => Promise.resolve(url))
  assertDone(await restore(place, backups))
  // The restored store has an id of its own.
  for (const node of nodes) {
    for (const path of ['/health/ready', listPath('works')])
      assert.equal((await ask(node, path, { headers: bearer(token) })).status, 503, path)
    assertUnavailable(await addToLog(node, token, 'I-001', 5))
  }
  for (const node of nodes) await node.stop()
  const started = await times(2, () => startService(t, { dataFolder }))
  for (const node of started)
    assert.equal(await isAccepted(node, token), false, 'a restore ends all sessions')
  await assertGoesOn(started, await quickLogin(started[0] as Service, 'root@example.org'), 'I-001', [0, 1])
})

test('D20 R1 R8 nodes go on when an older copy of their database takes its name on the same server', async t => {
  const { nodes, url } = await startNodes(t, 2)
  const [first] = nodes
  assert.ok(first)
  const token = await addLogs(first)
  assert.equal((await addToLog(first, token, 'I-001', 1)).status, 200)
  const name = new URL(url).pathname.slice(1)
  const server = await serverUrl()
  const unused = async (work: string) => {
    for (const _ of Array.from({ length: 50 }))
      try {
        await runSql(server, 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [
          name,
        ])
        return await runSql(server, work)
      } catch (error) {
        if ((error as { code?: string }).code !== '55006') throw error
      }
    throw new Error(`${name} is always in use`)
  }
  await unused(`CREATE DATABASE ${name}_older TEMPLATE ${name}`)
  for (const node of nodes) await untilReady(node)
  for (const number of [2, 3, 4]) assert.equal((await addToLog(first, token, 'I-001', number)).status, 200)
  await unused(`DROP DATABASE ${name} WITH (FORCE)`)
  await runSql(server, `ALTER DATABASE ${name}_older RENAME TO ${name}`)
  for (const node of nodes) await untilReady(node)
  await assertGoesOn(nodes, token, 'I-001', [0, 1])
})
