import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { bearerOf, Client } from '../support/clients/client.ts'
import { repeats } from '../support/scale.ts'
import { testOnOne } from '../support/service/engines.ts'
import { carrel, type Served, serve } from '../support/service/process.ts'
import { passwordOf, startService, temporaryFolder } from '../support/service/service.ts'

const rounds = repeats(1, 4)
const epersons = ['a', 'b', 'c', 'd'].map(name => `${name}@example.org`)
const admin = 'admin@example.org'

/** The answers that one client received before the service was killed. */
interface Acknowledged {
  readonly email: string
  logins: number
  refreshes: number
  /** Refreshes that were the first of their session, and so are recorded at once (D9). */
  firstRefreshes: number
  logouts: number
  /** Tokens from before an acknowledged logout. */
  ended: string[]
  /**
   * Tokens since then. They are discarded when a logout is on its way, because its outcome is unknown without
   * an answer.
   */
  valid: string[]
}

/** Logs in, refreshes and logs out until the service is gone. */
async function keepBusy(served: Served, told: Acknowledged, acknowledge: () => void): Promise<void> {
  const client = new Client(served.address)
  try {
    for (let round = 0; ; round++) {
      client.token = undefined
      const login = await client.tryLogin(told.email, passwordOf(told.email))
      assert.equal(login.status, 200)
      client.token = bearerOf(login)
      told.valid.push(client.token)
      told.logins++
      acknowledge()
      for (let refresh = 0; refresh < 2; refresh++) {
        const refreshed = await client.post('/api/authn/login')
        assert.equal(refreshed.status, 200)
        told.valid.push(bearerOf(refreshed))
        told.refreshes++
        if (refresh === 0) told.firstRefreshes++
        acknowledge()
      }
      if (round % 2 === 0) continue
      const inDoubt = told.valid
      told.valid = []
      const logout = await client.post('/api/authn/logout')
      assert.equal(logout.status, 204)
      told.ended.push(...inDoubt)
      told.logouts++
      acknowledge()
    }
  } catch (error) {
    // A broken connection is the end; any other error is a fault.
    if (!(error instanceof TypeError && /fetch failed|terminated/.test(error.message))) throw error
  }
}

interface TrailEvent {
  readonly id: number
  readonly event: string
  readonly outcome: string
  readonly eperson: string
  readonly count: number
}

// On PostgreSQL, test/faults/node.test.ts kills a node during the same requests.
testOnOne(
  'D4 D9 SIGKILL during logins, refreshes and logouts loses nothing that was acknowledged but counts, and the trail verifies',
  async t => {
    const dataFolder = temporaryFolder(t)
    const uuids = new Map<string, string>()
    await t.test('prepare', async prepare => {
      const service = await startService(prepare, { dataFolder })
      for (const email of epersons) uuids.set(email, (await service.addEperson(email)).uuid)
      await service.addEperson(admin, { admin: true })
    })
    const all = epersons.map((email): Acknowledged => {
      return { email, logins: 0, refreshes: 0, firstRefreshes: 0, logouts: 0, ended: [], valid: [] }
    })
    let adminToken: string | undefined
    let served = await serve(t, dataFolder)

    for (let round = 0; round < rounds; round++) {
      let left = randomInt(10, 60)
      const running = served
      await Promise.all(
        all.map(told =>
          keepBusy(running, told, () => {
            if (--left === 0) running.signal('SIGKILL')
          }),
        ),
      )
      assert.equal((await running.ended).signal, 'SIGKILL')

      served = await serve(t, dataFolder)
      const client = new Client(served.address)
      for (const { email, ended, valid } of all) {
        for (const token of ended) assert.equal(await client.isLoggedIn(token), false, `logged out: ${email}`)
        for (const token of valid) assert.equal(await client.isLoggedIn(token), true, `logged in: ${email}`)
      }

      if (adminToken === undefined) adminToken = await client.login(admin)
      assert.equal(await client.isLoggedIn(adminToken), true)
      const response = await client.get('/api/query/v4/audit-events', {
        authorization: `Bearer ${adminToken}`,
      })
      assert.equal(response.status, 200)
      const events = (await response.json()) as TrailEvent[]
      assert.equal(new Set(events.map(event => event.id)).size, events.length)
      for (const { email, logins, refreshes, firstRefreshes, logouts } of all) {
        const count = (name: string) =>
          events
            .filter(
              one => one.event === name && one.outcome === 'success' && one.eperson === uuids.get(email),
            )
            .reduce((sum, one) => sum + one.count, 0)
        assert.ok(count('login') >= logins, `${count('login')} of ${logins} logins of ${email}`)
        assert.ok(
          count('refresh') >= firstRefreshes,
          `${count('refresh')} of ${firstRefreshes} first refreshes of ${email}`,
        )
        assert.ok(count('logout') >= logouts, `${count('logout')} of ${logouts} logouts of ${email}`)
        // At each kill, at most one request of each client may have been on its way.
        assert.ok(
          count('login') + count('refresh') + count('logout') <= logins + refreshes + logouts + round + 1,
        )
      }
      // Tokens whose logout was on its way may be valid or not; the next round begins without them.
      for (const told of all) told.ended = told.ended.slice(-20)
    }
    assert.equal(await served.stop(), 0)
    const verified = await carrel(dataFolder, ['events', 'verify'])
    assert.equal(verified.code, 0, verified.stdout + verified.stderr)
  },
)
