import assert from 'node:assert/strict'
import { behindProxy, guesserOf, mostLookedAt } from '../support/clients/guesser.ts'
import { metricsOf, scraper } from '../support/clients/metrics.ts'
import { startDirectory, tags } from '../support/providers/ldap-directory.ts'
import { account, addressOf, boundTo, entries, ruth, withDirectory } from '../support/providers/ldap-flow.ts'
import { test } from '../support/service/engines.ts'
import { serve } from '../support/service/process.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

test('LD5 D10 workers share the counts of guesses at the directory, and its connections', async t => {
  const dataFolder = temporaryFolder(t)
  await (await startService(t, { dataFolder })).stop()
  const directory = await startDirectory(t, entries)
  const held: (() => void)[] = []
  directory.twist = ({ kind, dn }, { result }) => {
    if (kind !== 'bind' || dn !== account.dn) return false
    held.push(() => result(tags.bind, 0))
    return true
  }
  const env = withDirectory(t, [addressOf(directory)], {
    provider: { connections: 2 },
    env: { ...behindProxy, ...scraper.env, CARREL_WORKERS: '3' },
  })
  const service = await serve(t, dataFolder, { env })
  const { guess } = await guesserOf(service)
  const begun = performance.now()
  const guesses = Array.from({ length: 30 }, (_, at) =>
    guess(`10.0.0.${at}`, at % 2 ? ruth.user : ruth.email),
  )
  const figure = async (name: string) =>
    (await metricsOf(service.address)).of(`carrel_queue_${name}`, { queue: 'directory' })
  await until(
    '28 guesses that wait',
    () => figure('waiting'),
    count => count === 28,
  )
  assert.deepEqual([await figure('running'), held.length], [2, 2])
  directory.twist = undefined
  for (const release of held) release()
  const statuses = (await Promise.all(guesses)).map(({ status }) => status)
  const looked = statuses.filter(status => status === 401).length
  const most = mostLookedAt(20, performance.now() - begun)
  assert.ok(looked >= 20 && looked <= most, `${looked} were looked at, and at most ${most} may be`)
  assert.equal(statuses.filter(status => status === 429).length, 30 - looked)
  assert.equal(boundTo(directory).length, looked)
})
