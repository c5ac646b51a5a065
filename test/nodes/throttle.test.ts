import assert from 'node:assert/strict'
import { behindProxy, exhaust, guesserOf, mostLookedAt } from '../support/clients/guesser.ts'
import { ruthEmail } from '../support/data/ruth.ts'
import { testOn } from '../support/service/engines.ts'
import { anyOf } from '../support/service/nodes.ts'
import { passwordOf, startService, temporaryFolder } from '../support/service/service.ts'

testOn(
  'postgres',
  'L8 nodes share the counts: guesses at once on all of them are as many as on one',
  async t => {
    const dataFolder = temporaryFolder(t)
    const start = () => startService(t, { dataFolder, env: behindProxy })
    const first = await start()
    const nodes = [first, await start(), await start()]
    await first.addEperson(ruthEmail)
    const guessers = await Promise.all(nodes.map(guesserOf))
    const begun = performance.now()
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => guessers.map(({ guess }) => guess('198.51.100.20', ruthEmail))).flat(),
    )
    const took = performance.now() - begun
    const withStatus = (status: number) => answers.filter(one => one.status === status).length
    assert.equal(withStatus(401) + withStatus(429), 24)
    const most = mostLookedAt(10, took)
    assert.ok(
      withStatus(401) >= 10 && withStatus(401) <= most,
      `${withStatus(401)} were looked at, and at most ${most} may be`,
    )
    await exhaust(first, () => anyOf(guessers).guess('198.51.100.20', ruthEmail))
    for (const { guess } of guessers)
      assert.equal((await guess('198.51.100.20', ruthEmail, passwordOf(ruthEmail))).status, 429)
  },
)

testOn('postgres', 'L8 a login on one node makes its network familiar on all', async t => {
  const dataFolder = temporaryFolder(t)
  const [one, other] = [
    await startService(t, { dataFolder, env: behindProxy }),
    await startService(t, { dataFolder, env: behindProxy }),
  ]
  await one.addEperson(ruthEmail)
  const [first, second] = [await guesserOf(one), await guesserOf(other)]
  assert.equal((await first.guess('192.0.2.7', ruthEmail, passwordOf(ruthEmail))).status, 200)
  await exhaust(other, () => second.guess('10.0.0.1', ruthEmail))
  assert.equal((await second.guess('192.0.2.8', ruthEmail, passwordOf(ruthEmail))).status, 429)
  assert.equal((await second.guess('192.0.2.7', ruthEmail, passwordOf(ruthEmail))).status, 200)
})
