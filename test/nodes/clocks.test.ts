import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from '../support/clients/client.ts'
import { claimsOf } from '../support/clients/jwt.ts'
import { metricsOf, scraper } from '../support/clients/metrics.ts'
import { allEvents } from '../support/data/events.ts'
import { addItem } from '../support/data/repository.ts'
import { testOn } from '../support/service/engines.ts'
import { newDatabase } from '../support/service/nodes.ts'
import { carrelProcess, type Served, serve } from '../support/service/process.ts'
import { startService } from '../support/service/service.ts'
import { shiftedClock } from '../support/service/shifted-clock.ts'

const email = 'ruth@example.org'
/** Seconds by which the clocks of the nodes are ahead. */
const shifts = [120, -120, 0]
/** Time in ms that a look-up may take on a slow machine, by which nodes may differ. */
const roundTrip = 400
const day = 24 * 3600 * 1000

/** Asserts that a token ends this number of seconds after the request for it. @returns its end in ms since 1970 */
async function assertEnds(make: () => Promise<string>, least: number, most: number) {
  const asked = Date.now()
  const token = await make()
  const answered = Date.now()
  const end = claimsOf(token).exp * 1000
  assert.ok(end > asked + least * 1000 - roundTrip, `it ends ${end - asked} ms after the request`)
  assert.ok(end < answered + most * 1000 + roundTrip, `it ends ${end - answered} ms after the answer`)
  return { token, end }
}

/** Asserts that the node accepts a token until its end, and not longer. */
async function assertGoodUntil(end: number, { address }: Served, token: string): Promise<void> {
  for (;;) {
    const asked = Date.now()
    const { authenticated } = await new Client(address).status(
      `/api/authn/status?authentication-token=${token}`,
    )
    if (asked > end + roundTrip) return assert.equal(authenticated, false, `${asked - end} ms after its end`)
    const left = end - Date.now()
    if (left > roundTrip) assert.equal(authenticated, true, `refused ${left} ms before its end`)
    await delay(100)
  }
}

testOn('postgres', 'T2 nodes whose clocks are off by two minutes go by the time of the database', async t => {
  const { dataFolder } = await newDatabase(t, {})
  const first = await startService(t, { dataFolder })
  await first.addEperson(email)
  await first.stop()
  const nodes = await Promise.all(
    shifts.map(async shift => {
      const clock = shiftedClock(t)
      clock.shift(shift)
      const env = { ...clock.env, ...scraper.env, CARREL_PASSWORD_CONCURRENCY: '1' }
      const served = await serve(t, dataFolder, { env })
      return { served, env, shift, client: new Client(served.address) }
    }),
  )

  for (const { client } of nodes) {
    await assertEnds(() => client.login(email), 1_799, 1_800)
    const { token, end } = await assertEnds(() => client.shortLivedToken(), 1.9, 2)
    await Promise.all(nodes.map(({ served }) => assertGoodUntil(end, served, token)))
  }

  for (const { served, env, shift } of nodes) {
    const seconds = (await metricsOf(served.address)).of('carrel_clock_skew_seconds')
    assert.ok(Math.abs(seconds - shift) < roundTrip / 1000, `${seconds} s instead of ${shift}`)
    const where = shift > 0 ? 'ahead of' : 'behind'
    const { stdout } = await carrelProcess(dataFolder, ['doctor'], { env })
    assert.match(
      stdout,
      shift === 0
        ? /agree within a second/
        : new RegExp(`this clock is 1[12]\\d\\.\\d s ${where} the database's`),
    )
    const told = served.output.stdout.match(/clock is [\d.]+ s (ahead of|behind) the database's/g)
    assert.equal(told?.length ?? 0, shift === 0 ? 0 : 1, served.output.stdout)
  }

  // What the fast node has written moves nobody, also when it is gone.
  const [fast, slow, right] = nodes
  assert.ok(fast && slow && right)
  assert.equal(await fast.served.stop(), 0)
  for (const { client } of [slow, right]) await assertEnds(() => client.login(email), 1_799, 1_800)
  assert.equal(await right.served.stop(), 0)
  const again = await serve(t, dataFolder, {})
  await assertEnds(() => new Client(again.address).login(email), 1_799, 1_800)
})

testOn(
  'postgres',
  'D9 Q11 on nodes whose clocks are days off, days begin and events happen when the database says',
  async t => {
    const { dataFolder } = await newDatabase(t, {})
    const first = await startService(t, { dataFolder })
    await first.addEperson(email, { admin: true })
    const dayIn = (days: number) => new Date(Date.now() + days * day).toISOString().slice(0, 10)
    const read = async (node: Client, uuid: string) => (await node.get(`/api/core/items/${uuid}`)).status
    const embargoed = await addItem(first, {
      identifier: 'test/1',
      readers: [{ reader: 'anonymous', from: dayIn(2) }],
    })
    const over = await addItem(first, {
      identifier: 'test/2',
      readers: [{ reader: 'anonymous', until: dayIn(-2) }],
    })
    await first.stop()
    for (const days of [3, -3]) {
      const clock = shiftedClock(t)
      clock.shift((days * day) / 1000)
      const node = new Client((await serve(t, dataFolder, { env: clock.env })).address)
      assert.equal(await read(node, embargoed.uuid), 401, `${days} days`)
      assert.equal(await read(node, over.uuid), 401, `${days} days`)
      await node.login(email)
      const logins = (await allEvents(node)).filter(({ event }) => event === 'login')
      const off = Date.parse(logins.at(-1)?.time ?? '') - Date.now()
      assert.ok(Math.abs(off) < 60_000, `a login is recorded ${off} ms from now`)
    }
  },
)
