import assert from 'node:assert/strict'
import type { Page as Tab } from 'playwright-core'
import { ruth } from '../support/clients/carrel-client.ts'
import { makeClient, startPageWorld, type Window } from '../support/clients/client-pages.ts'
import { test, testOn } from '../support/service/engines.ts'
import { passwordOf } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

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

/** Waits for a session event in a tab, because messages between tabs take time. */
const waitUntil = (tab: Tab, why: string) =>
  tab.waitForFunction(why => (window as unknown as Window).told.includes(why), why)

/**
 * Takes over the session of another tab. That tab has 150 ms to answer, so a busy machine may need several
 * tries.
 */
const resume = (tab: Tab) =>
  until(
    'a session that another tab tells',
    async () => {
      await tab.evaluate(() => (window as unknown as Window).client.resume())
      return emailOn(tab)
    },
    email => email === ruth,
  )

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
    // On a slow machine, the first pauses may be over before the next password is sent; each pause is twice
    // as long as the one before.
    for (let wrong = 0; ; wrong++) {
      const { code, retryAfter } = await client.login('max@example.org', 'x').catch(error => error)
      if (code !== 'login-failed') return { code, waits: retryAfter > 0, isSoon: wrong < 10 }
    }
  })
  assert.deepEqual(seen, { code: 'too-many-attempts', waits: true, isSoon: false })
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
    await resume(third)
    await third.reload()
    await third.locator('body[data-ready]').waitFor({ state: 'attached' })
    await makeClient(third, '', { storage })
    await resume(third)

    const before = line.count('POST', login)
    const tabs = [first, second, third]
    const refresh = (tab: Tab) =>
      tab.evaluate(() => {
        const { client, told } = window as unknown as Window
        const refreshed = client.refresh()
        told.push('refresh begun')
        return refreshed
      })
    // All refreshes have begun before the first one gets its answer.
    const allHaveBegun = Promise.all(tabs.map(tab => waitUntil(tab, 'refresh begun')))
    line.fault = ({ path }) => (login.test(path) ? { waitsFor: allHaveBegun } : undefined)
    await Promise.all(tabs.map(refresh))
    line.fault = () => undefined
    assert.equal(line.count('POST', login), before + 1)
    for (const tab of tabs) {
      await waitUntil(tab, 'refresh in')
      // The CSRF pair is shared, too.
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
  const { line, open } = await startPageWorld(t)
  const tab = await open()
  await tab.evaluate(
    async ([user, password]) => {
      const here = window as unknown as Window
      const client = here.carrel.createClient('', {
        shared: false,
        onLoginNeeded: async () => {
          here.told.push('asked')
          await client.login(user, password)
        },
      })
      await client.login(user, password)
      here.client = client
    },
    [ruth, passwordOf(ruth)] as const,
  )
  // The clock jumps, as on a laptop that was closed for a while.
  await tab.clock.setFixedTime(Date.now() + 3_600_000)
  const seen = await tab.evaluate(async () => {
    const { client, told } = window as unknown as Window
    const all = await Promise.all([client.status(), client.status(), client.status()])
    return { told, all: all.map(status => status.authenticated) }
  })
  assert.deepEqual(seen, { told: ['asked'], all: [true, true, true] })
  assert.equal(line.count('POST', login), 2)
})

test('CL4 a page reads a long listing at its own pace, and leaves it', async t => {
  const { line, open, service } = await startPageWorld(t)
  // More than the buffers of both connections and of the browser hold together.
  const padding = 'x'.repeat(40_000)
  const records = Array.from({ length: 3_000 }, (_, id) => ({ id, padding }))
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
    const last = client.entity('large').query({ orderBy: [['id', 'desc']], limit: 100 })
    for await (const { id } of last) sum += Number(id)
    return sum
  })
  assert.equal(ids, 2_949.5 * 100)
})
