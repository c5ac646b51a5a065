import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { bearerOf, Client, type Status } from '../support/clients/client.ts'
import { list } from '../support/clients/listings.ts'
import type { Event } from '../support/data/events.ts'
import { repeats } from '../support/scale.ts'
import { createDatabase } from '../support/service/databases.ts'
import { eventCounts, fill, letters } from '../support/service/faults.ts'
import { type Served, serve } from '../support/service/process.ts'
import { passwordOf, temporaryFolder } from '../support/service/service.ts'

const rounds = repeats(1, 3)
const epersons = ['a', 'b', 'c', 'd'].map(name => `${name}@example.org`)
const admin = 'admin@example.org'
const records = letters(300)

/** The answers that one client received from both nodes. */
interface Told {
  readonly email: string
  readonly counts: Record<'login' | 'refresh' | 'logout', number>
  /** Tokens from before an acknowledged logout. */
  ended: string[]
  /**
   * Tokens since then. They are discarded when a logout is on its way, because its outcome is unknown without
   * an answer.
   */
  valid: string[]
  /** Number of rounds with the remaining node. */
  roundsAfter: number
}

/** A node as the clients know it. */
interface Node {
  readonly served: Served
  isKilled: boolean
}

class Dead extends Error {}

/**
 * Logs in at one node, checks the session at the other, and logs out there, until one node is dead and the
 * other has answered often enough.
 */
async function keepBusy(nodes: readonly [Node, Node], told: Told, acknowledge: () => void): Promise<void> {
  const clients = nodes.map(node => new Client(node.served.address))
  const alive = () => nodes.filter(node => !node.isKilled)
  let turn = randomInt(2)
  /** Asks the nodes in turn. @throws Dead if the node died meanwhile, so that the outcome is unknown */
  async function ask(token: string | undefined, work: (client: Client) => Promise<Response>) {
    const left = alive()
    const node = left[turn++ % left.length] as Node
    const client = clients[nodes.indexOf(node)] as Client
    client.token = token
    try {
      const response = await work(client)
      return { response, text: await response.text() }
    } catch (error) {
      // Only a request to the killed node may break off.
      if (!(error instanceof TypeError && /fetch failed|terminated/.test(error.message))) throw error
      if (!node.isKilled) throw error
      throw new Dead()
    }
  }
  async function acknowledged(
    name: keyof Told['counts'],
    token: string | undefined,
    status: number,
    work: (client: Client) => Promise<Response>,
  ) {
    const { response, text } = await ask(token, work)
    assert.equal(response.status, status, `${name}: ${text}`)
    told.counts[name]++
    acknowledge()
    return response
  }
  async function isLoggedIn(token: string): Promise<boolean> {
    const { response, text } = await ask(token, client => client.get('/api/authn/status'))
    assert.equal(response.status, 200, text)
    const { authenticated, _embedded } = JSON.parse(text) as Status
    if (authenticated) assert.equal(_embedded.eperson?.email, told.email)
    return authenticated
  }

  while (told.roundsAfter < 2)
    try {
      const alone = alive().length === 1
      const login = await acknowledged('login', undefined, 200, client =>
        client.tryLogin(told.email, passwordOf(told.email)),
      )
      const token = bearerOf(login)
      told.valid.push(token)
      for (let n = 0; n < 3; n++) {
        assert.equal(await isLoggedIn(token), true, 'a token is valid on every node')
        const page = await ask(token, client => client.get('/api/query/v4/letters?offset=7&limit=90'))
        assert.equal(page.response.status, 200, page.text)
        assert.deepEqual(JSON.parse(page.text), records.slice(7, 97))
      }
      const refresh = await acknowledged('refresh', token, 200, client => client.post('/api/authn/login'))
      told.valid.push(bearerOf(refresh))
      const inDoubt = told.valid
      if (randomInt(3) > 0) {
        told.valid = []
        await acknowledged('logout', token, 204, client => client.post('/api/authn/logout'))
        told.ended.push(...inDoubt)
        assert.equal(await isLoggedIn(token), false, 'after the logout no node takes the token')
        assert.equal(await isLoggedIn(bearerOf(refresh)), false, 'nor a refreshed one')
      }
      if (alone) told.roundsAfter++
    } catch (error) {
      if (!(error instanceof Dead)) throw error
    }
}

test('T4 D4 a node killed under load takes nothing along that it acknowledged, and the other goes on with right answers', async t => {
  const dataFolder = temporaryFolder(t)
  const env = { CARREL_DATABASE_URL: await createDatabase(t) }
  const uuids = await fill(t, env, { epersons, administrator: admin, letters: records })
  const start = async (): Promise<Node> => ({ served: await serve(t, dataFolder, { env }), isKilled: false })
  let nodes: [Node, Node] = [await start(), await start()]
  const all = epersons.map((email): Told => {
    return { email, counts: { login: 0, refresh: 0, logout: 0 }, ended: [], valid: [], roundsAfter: 0 }
  })

  for (let round = 1; round <= rounds; round++) {
    const [victim, other] = nodes
    let left = randomInt(8, 40)
    await Promise.all(
      all.map(told =>
        keepBusy(nodes, told, () => {
          if (--left > 0) return
          victim.isKilled = true
          victim.served.signal('SIGKILL')
        }),
      ),
    )
    assert.equal((await victim.served.ended).signal, 'SIGKILL')

    // The remaining node is killed in the next round.
    nodes = [other, await start()]
    for (const { served } of nodes) {
      const client = new Client(served.address)
      for (const { email, ended, valid } of all) {
        for (const token of ended) assert.equal(await client.isLoggedIn(token), false, `${email} logged out`)
        for (const token of valid) assert.equal(await client.isLoggedIn(token), true, `${email} is logged in`)
      }
    }
    const client = new Client(other.served.address)
    await client.login(admin)
    const events = await list<Event>(client, 'audit-events')
    for (const { email, counts } of all) {
      let inDoubt = 0
      for (const name of ['login', 'refresh', 'logout'] as const) {
        const kept = eventCounts(events, uuids.get(email), name)
        assert.ok(kept >= counts[name], `${kept} of ${counts[name]} ${name}s of ${email}`)
        inDoubt += kept - counts[name]
      }
      // At each kill, one request of each client may have been on its way.
      assert.ok(inDoubt <= round, `${inDoubt} changes of ${email} that nobody was told of`)
    }
    for (const told of all) {
      told.roundsAfter = 0
      told.ended = told.ended.slice(-20)
    }
  }
  for (const { served } of nodes) assert.equal(await served.stop(), 0)
})
