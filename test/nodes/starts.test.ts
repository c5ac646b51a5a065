import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fragilePostgres } from '../support/service/faults.ts'
import { lockTable, newDatabase, untilWaiting } from '../support/service/nodes.ts'
import { type Service, startService, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

/**
 * Limits in ms for statements on behalf of clients, shorter than the service's own, so that they expire
 * sooner.
 */
const limits = { connect: 500, statement: 500 }

test('D4 a node that starts waits for as long as another one keeps the trail', async t => {
  const { dataFolder, url } = await newDatabase(t, {})
  const first = await startService(t, { dataFolder })
  await first.stop()
  const unlock = await lockTable(t, url, 'trail_key')
  const starting = startService(t, { dataFolder, limits })
  await untilWaiting(url, 1)
  // A statement for a client would have been ended by now.
  await delay(limits.statement + 1_000)
  await unlock()
  const second = await starting
  await untilReady(second)
})

test('D4 a node that starts waits for a connection longer than a client does', async t => {
  const postgres = await fragilePostgres(t)
  await postgres.hang()
  const starting = startService(t, {
    dataFolder: temporaryFolder(t, 'sqlite'),
    env: { CARREL_DATABASE_URL: postgres.url },
    limits,
  })
  await delay(limits.connect + 1_000)
  postgres.goOn()
  await untilReady(await starting)
})

const untilReady = ({ address }: Service) =>
  until(
    'a node that is ready',
    async () => (await fetch(`${address}/health/ready`)).status,
    status => status === 200,
  )
