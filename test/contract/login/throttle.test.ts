import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import {
  behindProxy,
  exhaust,
  guesserOf,
  mostLookedAt,
  refusalAfter,
  statusesOf,
} from '../../support/clients/guesser.ts'
import { forgetAttempts, letPass, rowsOf } from '../../support/data/attempts.ts'
import { eventsOf } from '../../support/data/events.ts'
import { ruthEmail, startWithRuth } from '../../support/data/ruth.ts'
import { test } from '../../support/service/engines.ts'
import { passwordOf } from '../../support/service/service.ts'

const [home, elsewhere, third] = ['192.0.2.7', '198.51.100.20', '203.0.113.30']
const right = passwordOf(ruthEmail)
const nobody = 'nobody@example.org'
const day = 24 * 60 * 60 * 1000
const all = (count: number, status: number) => Array<number>(count).fill(status)
/** Returns an address in one of many networks. */
const network = (at: number) => `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`

async function started(t: TestContext) {
  const { service, uuid } = await startWithRuth(t, behindProxy)
  const { guess } = await guesserOf(service)
  return { service, uuid, guess }
}

test('L8 after ten wrong passwords from one network the answer is 429 with Retry-After, until that has passed', async t => {
  const { service, guess } = await started(t)
  // Upper and lower case address the same account.
  const names = [ruthEmail, 'RUTH@Example.ORG']
  const refused = await refusalAfter(
    service,
    10,
    async at => assert.equal((await guess(elsewhere, names[at % 2] ?? '')).status, 401),
    () => guess(elsewhere, ruthEmail, right),
  )
  assert.equal(refused.code, 'too-many-attempts')
  assert.equal(refused.retryAfter, 1)
  assert.ok(!refused.body.includes(ruthEmail))
  await letPass(service, 1_000)
  assert.equal((await guess(elsewhere, ruthEmail, right)).status, 200)
})

test('L8 an account that does not exist, is disabled or has no password is throttled in the same words', async t => {
  const { service, guess } = await started(t)
  await service.addEperson('disabled@example.org')
  await service.storage.people.setEnabled('disabled@example.org', false, commandEvent('eperson.disable'))
  await service.addEperson('none@example.org', { password: null })
  const expected: unknown[] = []
  for (const [at, user] of [ruthEmail, nobody, 'disabled@example.org', 'none@example.org'].entries()) {
    const answers: unknown[] = []
    const wrong = async (round: number) => {
      answers[round] = await guess(network(at), user)
    }
    const refused = await refusalAfter(service, 10, wrong, () => guess(network(at), user))
    expected.push([...answers, refused])
  }
  for (const one of expected) assert.deepEqual(one, expected[0])
})

test('L8 many networks together get twenty guesses at once at one account, and others have nothing to do with it', async t => {
  const { service, guess } = await started(t)
  await refusalAfter(
    service,
    20,
    async at => assert.equal((await guess(network(at), ruthEmail)).status, 401),
    () => guess(network(20), ruthEmail),
  )
  assert.equal((await guess(network(3_000), nobody)).status, 401)
})

test('L8 the owner logs in at once from where they have within 90 days, however many guess from elsewhere', async t => {
  const { service, guess } = await started(t)
  assert.equal((await guess(home, ruthEmail, right)).status, 200)
  await exhaust(service, () => guess(elsewhere, ruthEmail))
  // Ten attempts are free in another network.
  assert.deepEqual(await statusesOf(11, () => guess(home, ruthEmail)), all(11, 401))
  assert.equal((await guess(home, ruthEmail, right)).status, 200)
  assert.equal((await guess(third, ruthEmail, right)).status, 429, 'a network that is new')
  // Guesses at other accounts don't keep the owner out of theirs, even from the same network.
  await forgetAttempts(service)
  await exhaust(service, () => guess(home, 'someone@example.org'))
  assert.equal((await guess(home, nobody)).status, 429)
  assert.equal((await guess(home, ruthEmail, right)).status, 200)
  await letPass(service, 89 * day)
  await exhaust(service, () => guess(elsewhere, ruthEmail))
  assert.equal((await guess(home, ruthEmail, right)).status, 200, 'the login before counts')
  await letPass(service, 91 * day)
  await exhaust(service, () => guess(elsewhere, ruthEmail))
  assert.equal((await guess(home, ruthEmail, right)).status, 429)
})

test('L8 a login of someone else makes a network familiar to nobody but them', async t => {
  const { service, guess } = await started(t)
  await service.addEperson('max@example.org')
  assert.equal((await guess(home, 'max@example.org', passwordOf('max@example.org'))).status, 200)
  await exhaust(service, () => guess(elsewhere, ruthEmail))
  assert.equal((await guess(home, ruthEmail, right)).status, 429)
})

test('L8 guesses at one account from a network slow it for all others, and other networks are not slowed', async t => {
  const { service, guess } = await started(t)
  await exhaust(service, () => guess(elsewhere, nobody))
  assert.equal((await guess(elsewhere, ruthEmail, right)).status, 429)
  assert.equal((await guess(third, ruthEmail, right)).status, 200)
})

test('L8 64 bits of an IPv6 address are one network, and 48 bits one site, which is slowed as a whole', async t => {
  const { service, guess } = await started(t)
  for (const [from, counts] of [
    ['2001:db8:1:2::1', 4],
    ['2001:db8:1:2:ffff::1', 4],
    // The account and the site are the same.
    ['2001:db8:1:3::1', 6],
    ['2001:db8:2:3::1', 9],
  ] as const) {
    assert.equal((await guess(from, nobody)).status, 401)
    assert.equal((await rowsOf(service)).length, counts, from)
  }
  await exhaust(service, () => guess('2001:db8:1:4::1', 'someone@example.org'))
  assert.equal((await guess('2001:db8:1:5::1', ruthEmail, right)).status, 429, 'whatever the account')
  assert.equal((await guess('2001:db8:3::1', ruthEmail, right)).status, 200, 'another site')
})

test('L8 of guesses at once no more are looked at than one after the other', async t => {
  const { guess } = await started(t)
  const begun = performance.now()
  const together = await Promise.all(Array.from({ length: 20 }, () => guess(elsewhere, ruthEmail)))
  const most = mostLookedAt(10, performance.now() - begun)
  const looked = together.filter(({ status }) => status === 401).length
  assert.equal(together.filter(({ status }) => status === 429).length, 20 - looked)
  assert.ok(looked >= 10 && looked <= most, `${looked} were looked at, and at most ${most} may be`)
})

test('L8 a right password does not count, and makes no wrong one uncounted', async t => {
  const { service, guess } = await started(t)
  for (let round = 0; round < 21; round++)
    assert.equal((await guess(home, ruthEmail, right)).status, 200, String(round))
  assert.deepEqual(await rowsOf(service), [])
  await service.addEperson('max@example.org')
  const own = () => guess(elsewhere, 'max@example.org', passwordOf('max@example.org'))
  await own()
  // Logins of their own don't increase the number of free attempts.
  await refusalAfter(
    service,
    10,
    async () => {
      assert.equal((await guess(elsewhere, ruthEmail)).status, 401)
      assert.equal((await own()).status, 200)
    },
    () => guess(elsewhere, ruthEmail),
  )
})

test('L8 right passwords at once all log in', async t => {
  const { guess } = await started(t)
  await guess(home, ruthEmail, right)
  const together = await Promise.all(Array.from({ length: 20 }, () => guess(home, ruthEmail, right)))
  assert.deepEqual(
    together.map(({ status }) => status),
    all(20, 200),
  )
})

test('L8 a refresh is no attempt: it is never throttled, and resets nothing', async t => {
  const { service, guess } = await started(t)
  const client = await service.loggedIn(ruthEmail)
  const address = '127.0.0.1'
  await exhaust(service, () => guess(address, ruthEmail))
  client.token = await client.refresh()
  assert.equal(await client.isLoggedIn(), true)
  assert.equal((await guess(address, ruthEmail, right)).status, 429)
})

test('L8 the current password of a change of password is no way around', async t => {
  const { service, uuid, guess } = await started(t)
  const client = await service.loggedIn(ruthEmail)
  const change = (current: string) =>
    client.patch(
      `/api/eperson/epersons/${uuid}`,
      JSON.stringify([
        {
          op: 'add',
          path: '/password',
          value: { new_password: 'quite another one', current_password: current },
        },
      ]),
      { 'content-type': 'application/json' },
    )
  const refused = await refusalAfter(
    service,
    20,
    async at => {
      if (at < 10) assert.equal((await change('a wrong guess')).status, 403)
      else await guess('127.0.0.1', ruthEmail)
    },
    () => change(right),
  )
  assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  await letPass(service, 60_000)
  assert.equal((await change(right)).status, 200)
})

test('L8 the trail tells where the throttling begins, and refusals add nothing to it', async t => {
  const { service, uuid, guess } = await started(t)
  const admin = await service.addLoggedIn('admin@example.org', { admin: true })
  await statusesOf(10, () => guess(elsewhere, ruthEmail))
  await letPass(service, 1_000)
  await exhaust(service, () => guess(elsewhere, ruthEmail))
  for (let at = 0; at < 5; at++) assert.equal((await guess(elsewhere, ruthEmail)).status, 429)
  const failures = (await eventsOf(admin, 'login')).filter(({ outcome }) => outcome === 'failure')
  const pauses = [1, 2].map(pause => `the next attempt has to wait ${pause} s`)
  assert.deepEqual(
    failures.map(({ eperson, client_ip, reason }) => [eperson, client_ip, reason]),
    // Failures before the first pause are identical, and counted.
    [null, ...pauses].map(reason => [uuid, elsewhere, reason]),
  )
})

test('L8 nothing that was typed is kept, and what is counted is forgotten', async t => {
  const { service, guess } = await started(t)
  await statusesOf(3, at => guess(network(at), `typed${at}@example.org`))
  const rows = await rowsOf(service)
  assert.equal(rows.length, 12)
  for (const { key } of rows) assert.match(String(key), /^[\w-]{22}$/)
  await letPass(service, 600_001)
  for (let at = 0; at < 2; at++) await guess(home, ruthEmail)
  assert.equal((await rowsOf(service)).length, 4, 'only what is new')
})

test('L8 an address that no proxy should send is a network of its own, which is never familiar', async t => {
  const { guess } = await started(t)
  assert.equal((await guess('not an address', ruthEmail, right)).status, 200)
  assert.deepEqual(await statusesOf(11, () => guess('another one', ruthEmail)), [...all(10, 401), 429])
})
