import assert from 'node:assert/strict'
import { behindProxy, guesserOf } from '../support/clients/guesser.ts'
import { ruthEmail } from '../support/data/ruth.ts'
import { test } from '../support/service/engines.ts'
import { serve } from '../support/service/process.ts'
import { passwordOf, startService, temporaryFolder } from '../support/service/service.ts'

test('L8 D10 workers share the counts, and a right password passes a flood from another network', async t => {
  const dataFolder = temporaryFolder(t)
  const own = await startService(t, { dataFolder, realPasswords: true })
  await own.addEperson(ruthEmail)
  const env = {
    ...behindProxy,
    CARREL_WORKERS: '3',
    CARREL_PASSWORD_CONCURRENCY: '1',
    CARREL_PASSWORD_QUEUE: '8',
  }
  const { guess } = await guesserOf(await serve(t, dataFolder, { env }))
  // Each is on a connection of its own. The queue has room for eight of them.
  const flood = Array.from({ length: 60 }, () => guess('198.51.100.20', ruthEmail))
  const owner = guess('192.0.2.7', ruthEmail, passwordOf(ruthEmail))
  const answers = await Promise.all(flood)
  assert.equal((await owner).status, 200)
  const withStatus = (status: number) => answers.filter(one => one.status === status).length
  assert.ok(withStatus(401) <= 10, `${withStatus(401)} were looked at`)
  assert.equal(withStatus(401) + withStatus(429) + withStatus(503), 60)
  for (const { retryAfter, status } of answers) assert.ok(status === 401 || retryAfter >= 1)
  // All of them together, and not each of them, looked at ten.
  const later = await Promise.all(Array.from({ length: 30 }, () => guess('198.51.100.20', ruthEmail)))
  const looked = [...answers, ...later].filter(({ status }) => status === 401).length
  assert.ok(looked >= 10 && looked <= 11, `${looked} were looked at`)
})
