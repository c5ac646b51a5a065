import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { clientLimits } from '../../src/storage/postgres/errors.ts'
import { fragilePostgres } from '../support/service/faults.ts'
import { lockTable, newDatabase, untilWaiting } from '../support/service/nodes.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'

/** Nobody waits for a node that starts: it may take longer than a request (docs/decisions/0007). */

test('D4 a node that starts waits for as long as another one keeps the trail', async t => {
  const { dataFolder, url } = await newDatabase(t, {})
  const first = await startService(t, { dataFolder })
  await first.stop()
  const unlock = await lockTable(t, url, 'trail_key')
  const starting = startService(t, { dataFolder, limits: clientLimits })
  await untilWaiting(url, 1)
  // A statement for a client would have been ended.
  await delay(clientLimits.statement + 1_000)
  await unlock()
  const second = await starting
  assert.equal((await fetch(`${second.address}/health/ready`)).status, 200)
})

test('D4 a node that starts waits for a connection longer than a client does', async t => {
  const postgres = await fragilePostgres(t)
  await postgres.hang()
  const starting = startService(t, {
    dataFolder: temporaryFolder(t, 'sqlite'),
    env: { CARREL_DATABASE_URL: postgres.url },
    limits: clientLimits,
  })
  await delay(clientLimits.connect + 1_000)
  postgres.goOn()
  const { address } = await starting
  assert.equal((await fetch(`${address}/health/ready`)).status, 200)
})
