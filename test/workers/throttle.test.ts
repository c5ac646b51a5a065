import assert from 'node:assert/strict'
import { behindProxy, guesserOf, mostLookedAt } from '../support/clients/guesser.ts'
import { forgetAttempts, rowsOf } from '../support/data/attempts.ts'
import { ruthEmail } from '../support/data/ruth.ts'
import { test } from '../support/service/engines.ts'
import { serve } from '../support/service/process.ts'
import { passwordOf, startService, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

/** Settings by which three workers together compare one password at a time. */
const oneByOne = { CARREL_WORKERS: '3', CARREL_PASSWORD_CONCURRENCY: '1' }

test('L8 D10 workers share the counts, and a right password passes a flood from another network', async t => {
  const dataFolder = temporaryFolder(t)
  const own = await startService(t, { dataFolder, realPasswords: true })
  await own.addEperson(ruthEmail)
  const env = { ...behindProxy, ...oneByOne, CARREL_PASSWORD_QUEUE: '8' }
  const { guess } = await guesserOf(await serve(t, dataFolder, { env }))
  // Each guess is on a connection of its own. The queue has room for eight of them.
  const begun = performance.now()
  const most = () => mostLookedAt(10, performance.now() - begun)
  const flood = Array.from({ length: 30 }, () => guess('198.51.100.20', ruthEmail))
  const owner = guess('192.0.2.7', ruthEmail, passwordOf(ruthEmail))
  const answers = await Promise.all(flood)
  assert.equal((await owner).status, 200)
  const withStatus = (status: number) => answers.filter(one => one.status === status).length
  assert.ok(withStatus(401) <= most(), `${withStatus(401)} were looked at`)
  assert.equal(withStatus(401) + withStatus(429) + withStatus(503), 30)
  for (const { retryAfter, status } of answers) assert.ok(status === 401 || retryAfter >= 1)
  // All workers together, not each of them, compared ten passwords.
  const later = await Promise.all(Array.from({ length: 30 }, () => guess('198.51.100.20', ruthEmail)))
  const looked = [...answers, ...later].filter(({ status }) => status === 401).length
  assert.ok(looked >= 10 && looked <= most(), `${looked} were looked at, and at most ${most()} may be`)
})

test('L8 D10 however many turns one account takes, and whatever networks a site has, others log in', async t => {
  const dataFolder = temporaryFolder(t)
  const own = await startService(t, { dataFolder, realPasswords: true })
  for (const email of [ruthEmail, 'max@example.org']) await own.addEperson(email)
  const env = { ...behindProxy, ...oneByOne, CARREL_PASSWORD_QUEUE: '8' }
  const { guess } = await guesserOf(await serve(t, dataFolder, { env }))
  const ruth = () => guess('192.0.2.7', ruthEmail, passwordOf(ruthEmail))
  const max = (from: string) => guess(from, 'max@example.org', passwordOf('max@example.org'))
  assert.equal((await ruth()).status, 200)
  const logins = Array.from({ length: 16 }, ruth)
  assert.equal((await max('198.51.100.20')).status, 200, 'a stranger beside right passwords of one account')
  await Promise.all(logins)
  const flood = Array.from({ length: 16 }, (_, at) =>
    guess(`2001:db8:1:${at}::1`, `someone${at}@example.org`),
  )
  assert.equal((await max('198.51.100.30')).status, 200, 'a stranger beside many networks of one site')
  await Promise.all(flood)
})

test('L8 passwords of clients that have left are not hashed, and count as no guess', async t => {
  const dataFolder = temporaryFolder(t)
  const own = await startService(t, { dataFolder, realPasswords: true })
  await own.addEperson(ruthEmail)
  const { guess } = await guesserOf(await serve(t, dataFolder, { env: { ...behindProxy, ...oneByOne } }))
  // If this process is paused for a moment, the clients leave too late.
  await until(
    'fewer than 25 of 50 passwords that are looked at',
    async () => {
      await forgetAttempts(own)
      const gone = new AbortController()
      const guesses = Array.from({ length: 50 }, (_, at) =>
        guess(`10.0.0.${at}`, `someone${at}@example.org`, 'a wrong guess', gone.signal),
      )
      await Promise.any(guesses)
      gone.abort()
      await Promise.allSettled(guesses)
      // This login is the last to have its turn.
      assert.equal((await guess('192.0.2.7', ruthEmail, passwordOf(ruthEmail))).status, 200)
      return (await rowsOf(own)).filter(({ level }) => level === 1).length / 3
    },
    looked => looked < 25,
  )
})
