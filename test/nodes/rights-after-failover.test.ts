import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { commandEvent } from '../../src/cli/store.ts'
import { listPath } from '../support/clients/listings.ts'
import { addItem, membersOf } from '../support/data/repository.ts'
import { runSql } from '../support/service/databases.ts'
import { leadAll, type NodeOnLine, startNodesAt, untilReady } from '../support/service/failing-over.ts'
import { ask, bearer, quickLogin } from '../support/service/nodes.ts'
import { asSuperuser, type PrimaryAndStandby, startWithStandby } from '../support/service/standby.ts'
import { until } from '../support/service/waiting.ts'

/**
 * A failover that lost a right. Counters and stamps of the lost branch are given again, for something else, so
 * what a node knows by them must not survive.
 */

const ruth = 'ruth@example.org'

interface Scene {
  readonly pair: PrimaryAndStandby
  /** The node that saw the lost branch. */
  readonly node: NodeOnLine
  /** The node that makes the changes after the failover. */
  readonly other: NodeOnLine
  /** A token for Ruth, who is a member of `Inner`. */
  readonly token: string
}

async function startScene(t: TestContext): Promise<Scene> {
  const pair = await startWithStandby(t)
  const [node, other] = await startNodesAt(t, pair.primary, 2)
  assert.ok(node && other)
  await node.storage.people.ensureGroups(['Inner', 'Other', 'Staff'])
  await node.addEperson(ruth, { groups: ['Inner'], password: null })
  await node.addRecords('staff', 'id', [{ id: 1 }], 'group:Staff')
  return { pair, node, other, token: await quickLogin(node, ruth) }
}

const cut = async ({ pair }: Scene) => {
  await pair.caughtUp()
  pair.replication.leadTo(undefined)
}

/** @param change made on the branch that goes on before the node that saw the other one meets it */
async function failOver({ pair, node, other }: Scene, change: () => Promise<unknown>): Promise<void> {
  await pair.killPrimary()
  await pair.promote()
  await leadAll([other], pair.standby)
  await change()
  await leadAll([node], pair.standby)
}

const statusOf = async (node: NodeOnLine, token: string, entity: string) =>
  (await ask(node, listPath(entity), { headers: bearer(token) })).status

const identifiersOf = async (node: NodeOnLine, token?: string) => {
  const { status, text } = await ask(node, listPath('items'), { headers: token ? bearer(token) : {} })
  assert.equal(status, 200, text)
  return (JSON.parse(text) as { identifier: string }[]).map(({ identifier }) => identifier).toSorted()
}

test('T6 a membership that a failover lost lets nobody read, also when the stamp of the session is given again', async t => {
  const scene = await startScene(t)
  const { pair, node, other, token } = scene
  const stampOn = async (server: { readonly port: number }) =>
    (await runSql<{ stamp: string }>(asSuperuser(server), 'SELECT stamp FROM carrel.eperson'))[0]?.stamp
  await cut(scene)
  await node.storage.people.join('Staff', ruth, commandEvent('group.join'))
  assert.equal(await statusOf(node, token, 'staff'), 200)
  const stamp = Number(await stampOn(pair.primary))
  await failOver(scene, async () => {
    // As after a lost branch with so many changes that the sequence, which a crash moves forward, lies behind.
    await runSql(asSuperuser(pair.standby), `SELECT setval('carrel.stamp', ${stamp - 1})`)
    await other.storage.people.join('Other', ruth, commandEvent('group.join'))
  })
  for (const one of [node, other]) assert.equal(await statusOf(one, token, 'staff'), 403)
})

test('Q11 readers of an item that a failover lost see no item that is added afterwards for others', async t => {
  const scene = await startScene(t)
  const { node, other, token } = scene
  await addItem(node, { identifier: 'open' })
  await cut(scene)
  await addItem(node, { identifier: 'lost', readers: membersOf('Inner') })
  assert.deepEqual(await identifiersOf(node, token), ['lost', 'open'])
  await failOver(scene, async () => {
    await addItem(other, { identifier: 'secret', readers: membersOf('Other') })
    await addItem(other, { identifier: 'for all' })
  })
  for (const one of [node, other])
    for (const caller of [token, undefined])
      assert.deepEqual(await identifiersOf(one, caller), ['for all', 'open'])
})

test('T7 a secret that a failover lost signs no token that is accepted, and the others sign on', async t => {
  const scene = await startScene(t)
  const { node, other, token } = scene
  /** Rotates the secret, and waits until the node signs with the new one. */
  const rotate = async (from: NodeOnLine) => {
    const [before] = from.storage.secrets.current()
    await from.storage.secrets.rotate(commandEvent('secret.rotate'))
    await until(
      'a node that signs with the new secret',
      async () => {
        await untilReady(from)
        return from.storage.secrets.current()[0]
      },
      secret => secret !== before,
    )
  }
  await cut(scene)
  await rotate(node)
  await failOver(scene, () => rotate(other))
  for (const issuer of [node, other]) {
    const issued = await quickLogin(issuer, ruth)
    for (const one of [node, other])
      for (const known of [token, issued])
        assert.equal(await statusOf(one, known, 'staff'), 403, 'known, but no member')
  }
})

test('Q1 an import that a failover lost is neither shown nor revised, and every order is that of the branch that goes on', async t => {
  const scene = await startScene(t)
  const { node, other } = scene
  const records = (text: string, count: number) =>
    Array.from({ length: count }, (_, id) => ({ id, text: `${text} ${(id * 7) % count}` }))
  await node.addRecords('letters', 'id', records('old', 50))
  await cut(scene)
  await node.addRecords('letters', 'id', records('lost', 60))
  await node.addRecords('only-here', 'id', records('lost', 5))
  const orders = [[{ field: 'id' }], [{ field: 'text', order: 'desc' }], [{ field: 'text' }]]
  const readAll = (from: NodeOnLine) =>
    Promise.all(
      orders.map(async order_by => {
        const { status, headers, text } = await ask(
          from,
          listPath('letters', { order_by, include_total: true }),
        )
        return { status, total: headers['x-records'], text }
      }),
    )
  await readAll(node)
  // As many changes of the list as were lost.
  await failOver(scene, async () => {
    for (const name of ['other', 'another']) await other.addRecords(name, 'id', [{ id: 1 }])
  })
  const seen = await readAll(node)
  assert.deepEqual(seen, await readAll(other))
  for (const { status, total, text } of seen) {
    assert.deepEqual([status, total], [200, '50'])
    assert.doesNotMatch(text, /lost/)
  }
  assert.equal((await ask(node, listPath('only-here'))).status, 404)
  await other.addRecords('letters', 'id', records('new', 40))
  assert.deepEqual(await readAll(node), await readAll(other))
})
