import assert from 'node:assert/strict'
import type { Page as Tab } from 'playwright-core'
import { ruth } from '../support/clients/carrel-client.ts'
import { makeClient, startPageWorld, type Window } from '../support/clients/client-pages.ts'
import { test, testOn } from '../support/service/engines.ts'
import { passwordOf } from '../support/service/service.ts'

/** What browsers do with the client, in a real one. */

const login = /^\/api\/authn\/login/

const logIn = (tab: Tab) =>
  tab.evaluate(([user, password]) => (window as unknown as Window).client.login(user, password), [
    ruth,
    passwordOf(ruth),
  ] as const)

const emailOn = (tab: Tab) =>
  tab.evaluate(async () => (await (window as unknown as Window).client.status())._embedded.eperson?.email)

const isLoggedIn = (tab: Tab) =>
  tab.evaluate(() => (window as unknown as Window).client.session !== undefined)

const toldOn = (tab: Tab) => tab.evaluate(() => (window as unknown as Window).told)

/** Messages between tabs take a moment. */
const waitUntil = (tab: Tab, why: string) =>
  tab.waitForFunction(why => (window as unknown as Window).told.includes(why), why)

for (const origin of ['same', 'other'] as const)
  test(`CL1 CL5 CL6 a page of the ${origin} origin logs in, asks, is refused, and logs out`, async t => {
    const { line, open, service } = await startPageWorld(t)
    await service.addRecords('letters', 'id', [{ id: 1 }, { id: 2 }], 'eperson')
    const tab = await open(origin)
    await makeClient(tab, origin === 'same' ? '' : line.address)
    await logIn(tab)
    assert.equal(await emailOn(tab), ruth)
    const seen = await tab.evaluate(async () => {
      const { carrel, client } = window as unknown as Window
      const letters = client.entity('letters')
      const { total, etag } = await letters.query().page({ limit: 1, total: true })
      const problem = await client.request('GET', '/api/nothing').catch(error => error)
      const wrong = await client.login('nobody@example.org', 'x').catch(error => error)
      await client.login('nobody@example.org', 'x').catch(() => {})
      const down = await carrel
        .createClient('http://127.0.0.1:1', { shared: false })
        .get('/api')
        .catch(error => error)
      const methods = await client.loginMethods()
      return {
        total,
        hasTag: etag !== undefined,
        codes: [problem.code, wrong.code],
        isProblem: problem instanceof carrel.CarrelProblem,
        isLine: down instanceof carrel.CarrelNetworkError,
        methods,
        left: Number(client.session?.expires) - Date.now() > 1_000_000,
      }
    })
    assert.deepEqual(seen, {
      total: 2,
      hasTag: true,
      codes: ['not-found', 'login-failed'],
      isProblem: true,
      isLine: true,
      methods: [{ scheme: 'password' }],
      left: true,
    })
    await tab.evaluate(() => (window as unknown as Window).client.refresh())
    await tab.evaluate(() => (window as unknown as Window).client.logout())
    assert.equal(await emailOn(tab), undefined)
    assert.deepEqual(await toldOn(tab), ['login in', 'refresh in', 'logout out'])
  })

test('CL7 a page of another origin learns when to try again', async t => {
  const { line, open } = await startPageWorld(t)
  const tab = await open('other')
  await makeClient(tab, line.address, { retries: { longest: 0 } })
  const seen = await tab.evaluate(async () => {
    const { client } = window as unknown as Window
    for (let wrong = 0; wrong < 10; wrong++) await client.login('max@example.org', 'x').catch(() => {})
    const { code, retryAfter } = await client.login('max@example.org', 'x').catch(error => error)
    return { code, waits: retryAfter > 0 }
  })
  assert.deepEqual(seen, { code: 'too-many-attempts', waits: true })
})

for (const storage of ['memory', 'session', 'local'] as const)
  test(`CL1 tabs share a session that is kept in ${storage}: login, refresh, reload and logout`, async t => {
    const { line, open } = await startPageWorld(t)
    const [first, second] = [await open(), await open()]
    for (const tab of [first, second]) await makeClient(tab, '', { storage })
    await logIn(first)
    await waitUntil(second, 'login in')
    assert.equal(await emailOn(second), ruth)

    // A tab that is opened later, and one that is reloaded.
    const third = await open()
    await makeClient(third, '', { storage })
    await third.evaluate(() => (window as unknown as Window).client.resume())
    assert.equal(await emailOn(third), ruth)
    await third.reload()
    await third.locator('body[data-ready]').waitFor({ state: 'attached' })
    await makeClient(third, '', { storage })
    await third.evaluate(() => (window as unknown as Window).client.resume())
    assert.equal(await emailOn(third), ruth)

    const before = line.count('POST', login)
    const refresh = (tab: Tab) => tab.evaluate(() => (window as unknown as Window).client.refresh())
    // All of them have begun by the time that the first one gets its answer.
    line.fault = ({ path }) => (login.test(path) ? { waits: 2_000 } : undefined)
    await Promise.all([refresh(first), refresh(second), refresh(third)])
    line.fault = () => undefined
    assert.equal(line.count('POST', login), before + 1)
    for (const tab of [first, second, third]) {
      await waitUntil(tab, 'refresh in')
      // The pair is shared, too.
      await tab.evaluate(() => (window as unknown as Window).client.post('/api/authn/shortlivedtokens'))
    }

    await second.evaluate(() => (window as unknown as Window).client.logout())
    for (const tab of [first, second, third]) {
      await waitUntil(tab, 'logout out')
      assert.equal(await isLoggedIn(tab), false)
    }
    await third.reload()
    await third.locator('body[data-ready]').waitFor({ state: 'attached' })
    await makeClient(third, '', { storage })
    await third.evaluate(() => (window as unknown as Window).client.resume())
    assert.equal(await isLoggedIn(third), false)
  })

testOn('sqlite', 'CL1 a page that is alone keeps its session to itself', async t => {
  const { open } = await startPageWorld(t)
  const [first, second] = [await open(), await open()]
  await makeClient(first, '', { shared: false })
  await makeClient(second)
  await logIn(first)
  await second.evaluate(() => (window as unknown as Window).client.resume())
  assert.deepEqual([await isLoggedIn(first), await isLoggedIn(second)], [true, false])
})

test('CL2 a page asks once to log in again, and what was asked goes on', async t => {
  const { line, open } = await startPageWorld(t, { CARREL_TOKEN_LIFETIME: '1' })
  const tab = await open()
  await makeClient(tab)
  const seen = await tab.evaluate(
    async ([user, password]) => {
      const here = window as unknown as Window
      let asked = 0
      const client = here.carrel.createClient('', {
        shared: false,
        onLoginNeeded: async () => {
          asked++
          await client.login(user, password)
        },
      })
      await client.login(user, password)
      // As a laptop that was closed meanwhile.
      await new Promise(resolve => setTimeout(resolve, 1_100))
      const all = await Promise.all([client.status(), client.status(), client.status()])
      return { asked, all: all.map(status => status.authenticated) }
    },
    [ruth, passwordOf(ruth)] as const,
  )
  assert.deepEqual(seen, { asked: 1, all: [true, true, true] })
  assert.equal(line.count('POST', login), 2)
})

test('CL4 a page reads a long listing at its own pace, and leaves it', async t => {
  const { line, open, service } = await startPageWorld(t)
  const padding = 'x'.repeat(20_000)
  const records = Array.from({ length: 1_500 }, (_, id) => ({ id, padding }))
  await service.addRecords('large', 'id', records)
  const sockets: { readonly bytesWritten: number; readonly destroyed: boolean }[] = []
  service.app.server.on('connection', socket => sockets.push(socket))
  const tab = await open('other')
  await makeClient(tab, line.address)
  const read = await tab.evaluate(async () => {
    const { client } = window as unknown as Window
    let read = 0
    for await (const { id } of client.entity('large').query()) {
      if (id !== read++) throw new Error(`${id} came after ${read}`)
      if (read === 20) await new Promise(resolve => setTimeout(resolve, 1_000))
      if (read === 30) break
    }
    return read
  })
  assert.equal(read, 30)
  const sent = Math.max(...sockets.map(socket => socket.bytesWritten))
  assert.ok(sent < records.length * padding.length * 0.9, `${sent} bytes were sent`)
  const ids = await tab.evaluate(async () => {
    const { client } = window as unknown as Window
    let sum = 0
    for await (const { id } of client.entity('large').query({ orderBy: [['id', 'desc']] })) sum += Number(id)
    return sum
  })
  assert.equal(ids, (1_499 * 1_500) / 2)
})
