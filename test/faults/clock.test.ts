import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { Client } from '../support/clients/client.ts'
import { claimsOf } from '../support/clients/jwt.ts'
import { isLong } from '../support/scale.ts'
import { test, testOnOne } from '../support/service/engines.ts'
import { times } from '../support/service/nodes.ts'
import { carrel, type Served, serve } from '../support/service/process.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'
import { clockOfStore } from '../support/service/shifted-clock.ts'

const email = 'ruth@example.org'
const [hour, day] = [3_600, 86_400]

/** Creates a store with one eperson, whose clock can be set, and real services on it. */
async function start(t: TestContext) {
  const dataFolder = temporaryFolder(t)
  const own = await startService(t, { dataFolder })
  await own.addEperson(email)
  const token = await own.client().login(email)
  await own.stop()
  const clock = await clockOfStore(t, dataFolder)
  const env = { ...clock.env, CARREL_WORKERS: '2', CARREL_PASSWORD_CONCURRENCY: '1' }
  const open = async (more: Readonly<Record<string, string>> = {}) => {
    const served = await serve(t, dataFolder, { env: { ...env, ...more } })
    return { ...served, client: new Client(served.address) }
  }
  return { dataFolder, clock, token, open }
}

/** Asks over several connections, which mostly belong to different workers. */
async function isAccepted(address: string, token: string): Promise<boolean> {
  const answers = await times(8, () => new Client(address).isLoggedIn(token))
  assert.equal(new Set(answers).size, 1, 'all workers agree')
  return answers[0] === true
}

test('T11 a clock that is set back a day revives nothing, also after a restart', async t => {
  const { clock, token, open } = await start(t)
  await clock.shift(hour)
  const first = await open()
  assert.equal(await isAccepted(first.address, token), false, 'it has expired')
  await clock.shift(hour - day)
  assert.equal(await isAccepted(first.address, token), false, 'while running')
  // Killed, so that nothing can be written at the end.
  first.signal('SIGKILL')
  await first.ended

  const second = await open()
  assert.equal(await isAccepted(second.address, token), false, 'after a restart')
  const warning = /clock is behind: Carrel has already seen/
  await second.said(warning)
  assert.match(second.output.stdout, warning)
  // Logins are possible, and time goes on.
  const renewed = await second.client.login(email)
  assert.equal(await isAccepted(second.address, renewed), true)
  const exp = claimsOf(renewed).exp - Date.now() / 1000
  assert.ok(exp > hour + 1_700 && exp < hour + 1_900, `in ${exp} s of the real clock`)

  await clock.shift(0)
  const assertRight = async ({ address }: Served) => {
    assert.equal(await isAccepted(address, token), false, 'with the right clock')
    assert.equal(await isAccepted(address, renewed), true)
  }
  await assertRight(second)
  assert.equal(await second.stop(), 0)
  // In CI, the last test starts a service with the right clock.
  if (isLong) await assertRight(await open())
})

test('T11 a token that was refused while a clock was ahead for seconds stays refused everywhere, also after SIGKILL', async t => {
  const { clock, token, open } = await start(t)
  const first = await open()
  assert.equal(await isAccepted(first.address, token), true)
  await clock.shift(hour)
  const [header, claims, signature = ''] = token.split('.')
  const forged = [header, claims, signature.replace(/^./, one => (one === 'A' ? 'B' : 'A'))].join('.')
  assert.equal(await isAccepted(first.address, forged), false)
  await clock.shift(0)
  assert.equal(await isAccepted(first.address, token), true, 'a forged token moves nothing')
  await clock.shift(hour)
  assert.equal(await new Client(first.address).isLoggedIn(token), false)
  await clock.shift(0)
  assert.equal(await isAccepted(first.address, token), false, 'on all workers')
  first.signal('SIGKILL')
  await first.ended
  const second = await open()
  assert.equal(await isAccepted(second.address, token), false, 'after a restart')
})

// The mark is the same number in each engine; the two other tests check that it is kept.
testOnOne('T11 a clock that was a year ahead for a moment ends no session and locks nobody out', async t => {
  const { clock, token, open } = await start(t)
  const first = await open()
  await clock.shift(400 * day)
  assert.equal(await isAccepted(first.address, token), false)
  const ahead = await first.client.login(email)
  await clock.shift(0)
  assert.equal(await isAccepted(first.address, token), true)
  // This token would be valid for more than a year.
  first.signal('SIGKILL')
  await first.ended

  await clock.shift(400 * day)
  const second = await open()
  assert.equal(await isAccepted(second.address, token), false)
  assert.equal(await second.stop(), 0)
  await clock.shift(0)
  const third = await open()
  assert.equal(await isAccepted(third.address, token), true)
  assert.equal(await isAccepted(third.address, ahead), false)
  assert.doesNotMatch(third.output.stdout, /set back/)
})

test('T11 carrel eperson logout --all lets time go on from the clock, and revives nothing', async t => {
  const { dataFolder, clock, open } = await start(t)
  await clock.shift(20 * hour)
  const ahead = await open()
  const token = await ahead.client.login(email)
  await ahead.stop()
  await clock.shift(0)
  const behind = await open()
  const warning = /clock is behind.*carrel eperson logout --all/
  await behind.said(warning)
  assert.match(behind.output.stdout, warning)
  const another = await behind.client.login(email)
  assert.ok(claimsOf(another).exp > Date.now() / 1000 + 20 * hour)
  await behind.stop()
  const { stdout } = await carrel(dataFolder, ['eperson', 'logout', '--all'])
  assert.equal(stdout, 'Ended all tokens of all 1 epersons.\n')
  const right = await open()
  assert.doesNotMatch(right.output.stdout, /set back/)
  for (const one of [token, another]) assert.equal(await isAccepted(right.address, one), false)
  const renewed = await right.client.login(email)
  assert.ok(claimsOf(renewed).exp < Date.now() / 1000 + 1_900)
  assert.equal(await isAccepted(right.address, renewed), true)
})
