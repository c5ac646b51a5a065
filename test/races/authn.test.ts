import assert from 'node:assert/strict'
import { commandEvent } from '../../src/cli/store.ts'
import { bearerOf, Client } from '../support/clients/client.ts'
import { claimsOf, secretsOf } from '../support/clients/jwt.ts'
import { ruthEmail, startWithRuthLoggedIn, weakHashOf } from '../support/data/ruth.ts'
import { repeats } from '../support/scale.ts'
import { test } from '../support/service/engines.ts'
import { serve } from '../support/service/process.ts'
import {
  hashOf,
  passwordOf,
  type Service,
  startService,
  temporaryFolder,
} from '../support/service/service.ts'

/** Returns a client that already has its CSRF pair, so that its next POST is one request. */
async function ready(service: Service): Promise<Client> {
  const client = service.client()
  await client.csrfPair()
  return client
}

const times = <T>(count: number, make: (at: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => make(at)))

/** Asks without a pause until told to stop. A question that began after `end()` must be answered with no. */
function watch(isAccepted: () => Promise<boolean>) {
  let ended = false
  let [before, after, late] = [0, 0, 0]
  const run = async () => {
    while (after < 10) {
      const begunAfter = ended
      const accepted = await isAccepted()
      if (begunAfter) after++
      else before++
      if (begunAfter && accepted) late++
    }
    return { before, late }
  }
  return {
    running: run(),
    end: () => {
      ended = true
    },
  }
}

test('T4 while many requests run no token is accepted after the 204 of the logout, on any node', async t => {
  const { service, client } = await startWithRuthLoggedIn(t)
  const node = await startService(t, { dataFolder: service.dataFolder })
  for (let round = 0; round < repeats(1, 5); round++) {
    const token = await client.login(ruthEmail)
    const watchers = [service, node, service, node, service, node].map(at => {
      const watcher = at.client()
      return watch(() => watcher.isLoggedIn(token))
    })
    await times(10, () => client.isLoggedIn(token))
    assert.equal((await client.post('/api/authn/logout')).status, 204)
    for (const { end } of watchers) end()
    for (const { running } of watchers) {
      const { before, late } = await running
      assert.ok(before > 0)
      assert.equal(late, 0)
    }
  }
})

test('T4 no short-lived token made before or during a logout is accepted after it', async t => {
  const { service, client } = await startWithRuthLoggedIn(t)
  const other = await ready(service)
  other.token = client.token
  const [, ...answers] = await Promise.all([
    client.post('/api/authn/logout'),
    ...Array.from({ length: 10 }, () => other.post('/api/authn/shortlivedtokens')),
  ])
  for (const answer of answers) {
    if (answer.status === 401) continue
    assert.equal(answer.status, 200)
    const { token } = (await answer.json()) as { token: string }
    const status = await service.client().status(`/api/authn/status?authentication-token=${token}`)
    assert.equal(status.authenticated, false)
  }
})

test('T4 no token refreshed before or during a logout is accepted after it', async t => {
  const { service, client } = await startWithRuthLoggedIn(t)
  const others = await times(10, () => ready(service))
  for (const other of others) other.token = client.token
  const [, ...answers] = await Promise.all([
    client.post('/api/authn/logout'),
    ...others.map(other => other.post('/api/authn/login')),
  ])
  for (const answer of answers) {
    if (answer.status === 401) continue
    assert.equal(answer.status, 200)
    assert.equal(await service.client().isLoggedIn(bearerOf(answer)), false)
  }
})

test('T4 a login that races a logout never revives an earlier token and its own is either valid or not', async t => {
  const { service, client } = await startWithRuthLoggedIn(t)
  const other = await ready(service)
  for (let round = 0; round < repeats(1, 5); round++) {
    const earlier = await client.login(ruthEmail)
    const [login, logout] = await Promise.all([
      other.tryLogin(ruthEmail, passwordOf(ruthEmail)),
      client.post('/api/authn/logout'),
    ])
    assert.deepEqual([login.status, logout.status], [200, 204])
    assert.equal(await client.isLoggedIn(earlier), false)
    const token = bearerOf(login)
    const answers = new Set(await times(6, () => client.isLoggedIn(token)))
    assert.equal(answers.size, 1)
    assert.equal(
      await client.isLoggedIn(await client.login(ruthEmail)),
      true,
      'a login after the logout counts',
    )
  }
})

test('T4 logouts at once are all 204', async t => {
  const { service, client } = await startWithRuthLoggedIn(t)
  const others = await times(6, () => ready(service))
  for (const other of others) other.token = client.token
  const answers = await Promise.all(others.map(other => other.post('/api/authn/logout')))
  assert.deepEqual(
    answers.map(answer => answer.status),
    answers.map(() => 204),
  )
  assert.equal(await client.isLoggedIn(), false)
})

test('T3 refreshes at once are all valid, and so is the token they came from', async t => {
  const { service, client } = await startWithRuthLoggedIn(t)
  const others = await times(6, () => ready(service))
  for (const other of others) other.token = client.token
  const tokens = await Promise.all(others.map(other => other.refresh()))
  for (const token of [...tokens, client.token]) assert.equal(await service.client().isLoggedIn(token), true)
})

test('T6 no token made with the old password is accepted after the password was changed', async t => {
  const { service } = await startWithRuthLoggedIn(t, {}, true)
  const clients = await times(4, () => ready(service))
  let password = passwordOf(ruthEmail)
  for (let round = 0; round < repeats(2, 4); round++) {
    const next = `password ${round}`
    const hash = await hashOf(next, true)
    // In each round, the change comes at another moment of the logins.
    const logins = clients.slice(0, 1 + round).map(client => client.tryLogin(ruthEmail, password))
    if (round % 2 === 1) await service.client().get('/api')
    const changed = service.storage.people.setPassword(
      { email: ruthEmail },
      hash,
      commandEvent('eperson.password'),
    )
    for (const answer of await Promise.all(logins)) {
      await changed
      if (answer.status === 401) continue
      assert.equal(answer.status, 200)
      assert.equal(await service.client().isLoggedIn(bearerOf(answer)), false)
    }
    password = next
  }
  const answer = await service.client().tryLogin(ruthEmail, password)
  assert.equal(answer.status, 200)
})

test('T6 no token of a login that raced a disabling is accepted, also when the account is enabled again', async t => {
  const { service } = await startWithRuthLoggedIn(t, {}, true)
  const { people } = service.storage
  const clients = await times(3, () => ready(service))
  for (let round = 0; round < repeats(2, 3); round++) {
    const logins = clients.map(client => client.tryLogin(ruthEmail, passwordOf(ruthEmail)))
    if (round > 0) await service.client().get('/api')
    await people.setEnabled(ruthEmail, false, commandEvent('eperson.disable'))
    const answers = await Promise.all(logins)
    await people.setEnabled(ruthEmail, true, commandEvent('eperson.enable'))
    for (const answer of answers)
      if (answer.status === 200) assert.equal(await service.client().isLoggedIn(bearerOf(answer)), false)
      else assert.equal(answer.status, 401)
  }
})

test('L2 logins at once with a right password all succeed, also when the stored hash is renewed meanwhile', async t => {
  const { service } = await startWithRuthLoggedIn(t, {}, true)
  await service.storage.people.setPassword(
    { email: ruthEmail },
    weakHashOf('the right one'),
    commandEvent('eperson.password'),
  )

  const clients = await times(4, () => ready(service))
  const answers = await Promise.all(clients.map(client => client.tryLogin(ruthEmail, 'the right one')))
  assert.deepEqual(
    answers.map(answer => answer.status),
    answers.map(() => 200),
  )
  for (const answer of answers) assert.equal(await service.client().isLoggedIn(bearerOf(answer)), true)
})

test('L2 logins of many at once each get their own token', async t => {
  const service = await startService(t)
  const people = await times(6, at => service.addEperson(`person${at}@example.org`))
  await Promise.all(
    people.map(async person => {
      const token = await service.client().login(person.email)
      assert.equal(claimsOf(token).eid, person.uuid)
      const status = await service.client().status('/api/authn/status', { authorization: `Bearer ${token}` })
      assert.equal(status._embedded.eperson?.uuid, person.uuid)
    }),
  )
})

test('T7 services that start at once on a new store share one secret', async t => {
  const folder = temporaryFolder(t)
  const [one, other] = await times(2, () => serve(t, folder))
  assert.ok(one && other)
  assert.equal((await secretsOf(folder)).length, 1)
  const { cookie, value } = await new Client(one.address).csrfPair()
  const headers = { cookie, 'x-xsrf-token': value }
  const answer = await fetch(`${other.address}/api/authn/logout`, { method: 'POST', headers })
  assert.equal(answer.status, 204)
})

test('C7 one CSRF pair serves many requests at once', async t => {
  const { service } = await startWithRuthLoggedIn(t)
  const client = await ready(service)
  const answers = await times(20, () => client.post('/api/authn/logout'))
  for (const answer of answers) assert.equal(answer.status, 204)
})
