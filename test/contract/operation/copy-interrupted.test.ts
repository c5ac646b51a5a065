import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { list, listPath } from '../../support/clients/listings.ts'
import {
  assertDone,
  assertRefused,
  assertSame,
  copy,
  isEmpty,
  startOn,
  usedStore,
  withoutPassword,
} from '../../support/data/copies.ts'
import { atEnd } from '../../support/service/at-end.ts'
import { createDatabase, runSql } from '../../support/service/databases.ts'
import { lockTable, waiting } from '../../support/service/nodes.ts'
import { cleanEnvironment, entry, type Finished, repository } from '../../support/service/process.ts'
import type { Service } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

/** Starts a copy that waits, in the middle, for a lock held by the test. */
async function copyThatWaits(t: TestContext, dataFolder: string, url: string, table: string) {
  const letGo = await lockTable(t, url, table)
  const { to, env } = withoutPassword(url)
  const child: ChildProcess = spawn(process.execPath, [entry, 'copy', '--to', to], {
    env: cleanEnvironment({ CARREL_DATA: dataFolder, ...env }),
    cwd: repository,
    stdio: 'pipe',
  })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      output[name] += text
    })
  const ended = once(child, 'close').then(([code]): Finished => ({ code: code as number | null, ...output }))
  atEnd(t, async () => {
    child.kill('SIGKILL')
    await ended
  })
  await until(
    'a copy that waits for the lock, or its end',
    async () => (child.exitCode === null ? await waiting(url) : 'ended'),
    seen => seen !== 0,
  )
  assert.equal(child.exitCode, null, output.stderr)
  return { kill: () => child.kill('SIGKILL'), ended, letGo }
}

/** Creates Carrel's tables in a new database, without rows. */
async function preparedDatabase(t: TestContext): Promise<string> {
  const url = await createDatabase(t)
  await (await startOn(t, url)).stop()
  return url
}

test('D2 a copy that is killed in the middle leaves nothing behind, and the next one does it', async t => {
  const old = await usedStore(t)
  await old.addRecords(
    'letters',
    'id',
    Array.from({ length: 10_000 }, (_, id) => ({ id, text: 'x'.repeat(50) })),
  )
  const url = await preparedDatabase(t)
  const connections = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'carrel'`
  for (const table of ['event', 'rank']) {
    const { kill, ended, letGo } = await copyThatWaits(t, old.dataFolder, url, table)
    kill()
    assert.equal((await ended).code, null)
    await letGo()
    await until(
      'the end of its connections',
      () => runSql(url, connections),
      rows => rows.length === 0,
    )
    assert.equal(await isEmpty(url), true, table)
  }
  assertDone(await copy(old.dataFolder, url))
  const now = (await startOn(t, url)).client()
  const before = old.client()
  await assertSame(before, now, listPath('letters'), 'application/json')
})

const changes: readonly (readonly [what: string, change: (old: Service) => Promise<unknown>])[] = [
  ['someone logs in', old => old.client().login('ruth@example.org')],
  ['a later entity is imported again', old => old.addRecords('second', 'id', [{ id: 3 }])],
]

test('D2 a store that changes while it is copied is refused, nothing is kept, and a quiet one can be copied', async t => {
  const old = await usedStore(t)
  await old.addRecords('first', 'id', [{ id: 1 }])
  await old.addRecords('second', 'id', [{ id: 2 }])
  const url = await preparedDatabase(t)
  for (const [what, change] of changes) {
    const { ended, letGo } = await copyThatWaits(t, old.dataFolder, url, 'rank')
    await change(old)
    await letGo()
    assertRefused(await ended, 1, /changed while it was being copied/)
    assert.equal(await isEmpty(url), true, what)
  }
  await old.storage.trail.checkpoint()
  const { ended, letGo } = await copyThatWaits(t, old.dataFolder, url, 'rank')
  assert.deepEqual(await list(old.client(), 'second'), [{ id: 3 }])
  await letGo()
  assertDone(await ended)
  assert.deepEqual(await list((await startOn(t, url)).client(), 'second'), [{ id: 3 }])
})
