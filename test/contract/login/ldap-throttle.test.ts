import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import {
  behindProxy,
  exhaust,
  type Guessed,
  guesserOf,
  makeLong,
  refusalAfter,
  statusesOf,
} from '../../support/clients/guesser.ts'
import { rowsOf } from '../../support/data/attempts.ts'
import { boundTo, person, ruth, startCampus } from '../../support/providers/ldap-flow.ts'
import { test } from '../../support/service/engines.ts'
import { passwordOf } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

const [home, elsewhere] = ['192.0.2.7', '198.51.100.20']
const all = (count: number, status: number) => Array<number>(count).fill(status)
const network = (at: number) => `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`

async function started(t: TestContext, provider: Readonly<Record<string, unknown>> = {}) {
  const campus = await startCampus(t, { provider, env: behindProxy })
  const { guess } = await guesserOf(campus.service)
  return { ...campus, guess }
}

test('LD5 guesses at an entry are counted together, by whatever name, and a refused one reaches no password', async t => {
  const { service, directory, guess } = await started(t)
  const names = [ruth.user, ruth.email, 'RUTH', 'Ruth@Example.EDU']
  assert.deepEqual(await statusesOf(10, at => guess(elsewhere, names[at % 4] ?? '')), all(10, 401))
  await makeLong(service)
  for (const name of names) {
    const { status, code, retryAfter } = await guess(elsewhere, name, ruth.password)
    assert.deepEqual([status, code, retryAfter > 0], [429, 'too-many-attempts', true])
  }
  assert.equal(boundTo(directory).length, 10)
})

test('LD5 the owner logs in from where they have, however many guess from elsewhere', async t => {
  const { service, guess } = await started(t)
  // Right passwords don't count.
  assert.deepEqual(await statusesOf(2, () => guess(home, ruth.user, ruth.password)), all(2, 200))
  assert.deepEqual(await rowsOf(service), [])
  await exhaust(service, () => guess(network(1), ruth.user))
  assert.equal((await guess(elsewhere, ruth.user, ruth.password)).status, 429)
  assert.equal((await guess(home, ruth.user, ruth.password)).status, 200)
})

test('LD5 unknown names, wrong passwords, disabled epersons and passwords of the service get the same answers, throttled too', async t => {
  const { service, directory, guess } = await started(t)
  directory.entries.push(person('disabled'), person('twin1', { attributes: { uid: ['twin'] } }))
  directory.entries.push(person('twin2', { attributes: { uid: ['twin'] } }))
  assert.equal((await guess(home, 'disabled', ruth.password)).status, 200)
  const { people } = service.storage
  await people.setEnabled('disabled@example.edu', false, commandEvent('eperson.disable'))
  await service.addEperson('own@example.org')
  const cases = [
    ['ruth', 'wrong'],
    ['nobody', 'wrong'],
    ['no name\0', 'wrong'],
    ['twin', ruth.password],
    ['disabled', ruth.password],
    ['own@example.org', 'wrong'],
  ] as const
  const answers: (readonly Guessed[])[] = []
  for (const [at, [user, password]] of cases.entries()) {
    const given: Guessed[] = []
    const wrong = async (round: number) => {
      given[round] = await guess(network(at), user, password)
    }
    const refused = await refusalAfter(service, 10, wrong, () => guess(network(at), user, password))
    answers.push([...given, refused])
  }
  for (const one of answers) assert.deepEqual(one, answers[0])
  assert.deepEqual(
    answers[0]?.map(({ status }) => status),
    [...all(10, 401), 429],
  )
})

test('LD3 LD5 a slow directory has no more logins at a time than are allowed, few wait, and others log in', async t => {
  const campus = await startCampus(t, {
    provider: { connections: 2 },
    env: { ...behindProxy, CARREL_PASSWORD_QUEUE: '3' },
  })
  const { service, directory } = campus
  const { guess } = await guesserOf(service)
  await service.addEperson('own@example.org')
  const held: (() => void)[] = []
  directory.twist = (asked, { result }) => {
    if (asked.kind !== 'bind') return false
    held.push(() => result(0x61, 0))
    return true
  }
  const logins = Array.from({ length: 8 }, (_, at) => guess(network(at), `nobody${at}`))
  let answered = 0
  for (const login of logins) void login.then(() => answered++)
  const refused = await Promise.race(logins)
  assert.deepEqual([refused.status, refused.code], [503, 'busy'])
  // The last refusal may still be on its way.
  await until(
    'three refusals',
    () => answered,
    count => count === 3,
  )
  await until(
    'two passwords at the directory',
    () => held.length,
    count => count === 2,
  )
  // A login that doesn't need the directory doesn't wait for it.
  assert.equal((await guess(home, 'own@example.org', passwordOf('own@example.org'))).status, 200)
  assert.equal(held.length, 2)
  directory.twist = undefined
  for (const release of held) release()
  const statuses = (await Promise.all(logins)).map(({ status }) => status).toSorted()
  assert.deepEqual(statuses, [...all(5, 401), ...all(3, 503)])
})
