import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { commandEvent } from '../../src/cli/store.ts'
import { nobody } from '../../src/lib/fair-queue.ts'
import type { Changed } from '../../src/model/people.ts'
import { secretsOf } from '../support/clients/jwt.ts'
import { listPath } from '../support/clients/listings.ts'
import { isLong, repeats } from '../support/scale.ts'
import { runSql } from '../support/service/databases.ts'
import {
  anyOf,
  ask,
  askPatiently,
  bearer,
  bearerIn,
  csrfPairOf,
  isAccepted,
  newDatabase,
  quickLoginPatiently,
  startNodes,
  times,
} from '../support/service/nodes.ts'
import { passwordOf, startService } from '../support/service/service.ts'

/**
 * Number of nodes that make changes at the same time. Changes run under PostgreSQL's default isolation level,
 * and under the level that is the only one of some engines, in which conflicting transactions must be
 * retried.
 */
const nodeCount = 3
/** Number of changes at the same time: as many as the pools of all nodes have connections. */
const atOnce = 24

for (const isolation of ['read committed', 'serializable'])
  describe(`isolation level ${isolation}`, () => {
    /**
     * Declares a test. Under the stricter level, CI tries one transaction of each kind, because all are
     * retried in one place.
     */
    const testAll = isolation === 'read committed' || isLong ? test : () => {}

    const start = async (t: TestContext) => {
      const { nodes, url } = await startNodes(t, nodeCount, { isolation })
      const [row] = await runSql<Record<string, string>>(url, 'SHOW default_transaction_isolation')
      assert.deepEqual(Object.values(row ?? {}), [isolation])
      return { nodes, url }
    }

    test('T7 services that start at once on a new database all start, and share one secret', async t => {
      for (let round = 0; round < repeats(1, 2); round++) {
        const { dataFolder, url } = await newDatabase(t, { isolation })
        const starts = await Promise.allSettled(
          Array.from({ length: 4 }, () => startService(t, { dataFolder })),
        )
        for (const started of starts) if (started.status === 'rejected') throw started.reason
        assert.equal((await secretsOf(dataFolder)).length, 1)
        assert.equal((await runSql(url, 'SELECT 1 FROM carrel.epersongroup')).length, 1)
      }
    })

    test('T7 services that start at once where a first start was killed before its first row all start', async t => {
      const { dataFolder, url } = await newDatabase(t, { isolation })
      await runSql(url, 'CREATE SCHEMA carrel')
      await runSql(
        url,
        'CREATE TABLE carrel.store_schema (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL)',
      )
      await Promise.all(Array.from({ length: 4 }, () => startService(t, { dataFolder })))
      assert.equal((await secretsOf(dataFolder)).length, 1)
      assert.equal((await runSql(url, 'SELECT 1 FROM carrel.store_schema WHERE version > 0')).length, 1)
    })

    testAll('D2 of epersons of the same e-mail that are added at once exactly one is there', async t => {
      const { nodes, url } = await start(t)
      for (let round = 0; round < 2; round++) {
        const added = await times(atOnce, at =>
          anyOf(nodes).storage.people.addEperson(
            {
              email: `${at % 2 === 0 ? 'Ruth' : 'ruth'}${round}@example.org`,
              firstName: null,
              lastName: null,
              passwordHash: null,
              administrator: at % 3 === 0,
            },
            commandEvent('eperson.add'),
          ),
        )
        const [one, ...more] = added.filter(result => result !== 'exists')
        assert.ok(one && more.length === 0, `${more.length + 1} were added`)
        const kept = await runSql(url, 'SELECT uuid FROM carrel.eperson WHERE email_key = $1', [
          `ruth${round}@example.org`,
        ])
        assert.deepEqual(kept, [{ uuid: one.uuid }])
        assert.equal(await count(url, "event = 'eperson.add' AND eperson = $1", one.uuid), 1)
      }
    })

    testAll('D2 the number of epersons is right after many came and went at once', async t => {
      const { nodes } = await start(t)
      const admin = await anyOf(nodes).addEperson('admin@example.org', { admin: true })
      const unnamed = { firstName: null, lastName: null, passwordHash: null, administrator: false }
      for (let round = 0; round < 8; round++)
        await times(atOnce, async at => {
          const { people } = anyOf(nodes).storage
          const email = `${round}-${at}@example.org`
          await people.addEperson({ email, ...unnamed }, commandEvent('eperson.add'))
          if (at % 2 === 0) await people.deleteEperson(email, commandEvent('eperson.delete'))
        })
      const { total, rows } = await anyOf(nodes).storage.people.findEpersons(
        { text: '', membership: null },
        { offset: 95, limit: 5 },
        nobody,
      )
      assert.equal(total, (8 * atOnce) / 2 + 1)
      assert.equal(rows.at(-1)?.uuid, admin.uuid)
    })

    testAll('D2 of groups of the same name that are added at once exactly one is there', async t => {
      const { nodes, url } = await start(t)
      const added = await times(atOnce, () =>
        anyOf(nodes).storage.people.addGroup('Readers', commandEvent('group.add')),
      )
      assert.equal(added.filter(result => result !== 'exists').length, 1)
      const ensured = await times(atOnce, () =>
        anyOf(nodes).storage.people.ensureGroups(['Others', 'Readers']),
      )
      assert.equal(new Set(ensured.flat().map(({ uuid }) => uuid)).size, 2)
      assert.equal(await count(url, "event = 'group.add' AND object = $1", 'Others'), 1)
    })

    test('D2 joins and leaves at once add up to what is there, and each that changed something is an event', async t => {
      const { nodes, url } = await start(t)
      const email = 'ruth@example.org'
      const { uuid } = await anyOf(nodes).addEperson(email, { password: null })
      await anyOf(nodes).storage.people.addGroup('Readers', commandEvent('group.add'))
      const change = (way: 'join' | 'leave') =>
        anyOf(nodes).storage.people[way]('Readers', email, commandEvent(`group.${way}`))

      const changed = (results: readonly string[]) => results.filter(result => result === 'changed').length
      assert.equal(changed(await times(atOnce, () => change('join'))), 1)
      assert.equal(changed(await times(atOnce, () => change('leave'))), 1)
      const results = await times(atOnce, async at => {
        const way = at % 2 === 0 ? 'join' : 'leave'
        return { way, result: (await change(way)) as Changed }
      })
      const of = (way: string) => changed(results.filter(one => one.way === way).map(({ result }) => result))
      const members = await runSql(url, 'SELECT eperson FROM carrel.membership')
      assert.deepEqual(members, of('join') - of('leave') === 1 ? [{ eperson: uuid }] : [])
      assert.equal(await count(url, "event = 'group.join' AND eperson = $1", uuid), of('join') + 1)
      assert.equal(await count(url, "event = 'group.leave' AND eperson = $1", uuid), of('leave') + 1)
      for (const { storage } of nodes)
        assert.equal((await storage.sessions.of(uuid))?.groups.length, members.length)
    })

    test('D2 imports into one entity at once each happen whole, and all nodes show the same last one', async t => {
      const { nodes, url } = await start(t)
      const imports = 8
      await times(imports, at =>
        anyOf(nodes).addRecords(
          'shelf',
          'id',
          Array.from({ length: 200 }, (_, id) => ({ id, of: at })),
        ),
      )
      assert.equal(await count(url, "event = 'entity.import' AND object = $1", 'shelf'), imports)
      const lists = await Promise.all(nodes.map(node => ask(node, listPath('shelf'))))
      const [first] = lists.map(({ text }) => JSON.parse(text) as { of: number }[])
      assert.equal(first?.length, 200)
      assert.equal(new Set(first?.map(record => record.of)).size, 1)
      for (const { status, text } of lists) assert.deepEqual([status, text], [200, lists[0]?.text])
      const kept = await runSql(url, "SELECT entity.version FROM carrel.entity WHERE name = 'shelf'")
      assert.equal(kept.length, 1)
    })

    test('T4 L2 logins, refreshes and logouts of the same epersons at once are all right, from every node', async t => {
      const { nodes, url } = await start(t)
      const emails = ['ruth@example.org', 'naomi@example.org']
      await Promise.all(emails.map(email => anyOf(nodes).addEperson(email)))
      const pair = await csrfPairOf(anyOf(nodes))
      const post = (path: string, headers: Readonly<Record<string, string>> = {}, form?: URLSearchParams) =>
        askPatiently(anyOf(nodes), path, { method: 'POST', headers: { ...pair, ...headers }, form })
      await Promise.all(
        emails.map(async email => {
          const token = await quickLoginPatiently(anyOf(nodes), email)
          const form = new URLSearchParams({ user: email, password: passwordOf(email) })
          const [logins, quick, refreshes] = await Promise.all([
            times(4, async () => bearerIn(await post('/api/authn/login', {}, form))),
            times(atOnce, () => quickLoginPatiently(anyOf(nodes), email)),
            times(atOnce, () => post('/api/authn/login', bearer(token))),
          ])
          const tokens = [...logins, ...quick, ...refreshes.map(bearerIn)]
          for (const one of tokens) assert.equal(await isAccepted(anyOf(nodes), one, askPatiently), true)

          const logouts = await times(atOnce, at => post('/api/authn/logout', bearer(tokens[at] ?? token)))
          assert.deepEqual(
            logouts.map(({ status }) => status),
            logouts.map(() => 204),
          )
          const after = await Promise.all(tokens.map(one => isAccepted(anyOf(nodes), one, askPatiently)))
          assert.deepEqual(
            after,
            after.map(() => false),
          )
        }),
      )
      await Promise.all(nodes.map(node => node.stop()))
      const [row] = await runSql<{ sum: string }>(
        url,
        "SELECT sum(count) FROM carrel.event WHERE event = 'refresh' AND outcome = 'success'",
      )
      assert.equal(Number(row?.sum), emails.length * atOnce)
    })

    testAll('T7 rotations at once each add a secret', async t => {
      const { nodes } = await start(t)
      const counts = await times(6, () => anyOf(nodes).storage.secrets.rotate(commandEvent('secret.rotate')))
      assert.deepEqual(counts.toSorted(), [2, 3, 4, 5, 6, 7])
      assert.equal((await secretsOf(anyOf(nodes).dataFolder)).length, 7)
    })
  })

/** Counts the events for which this condition is true. */
async function count(url: string, where: string, value: string): Promise<number> {
  const [row] = await runSql<{ count: number }>(
    url,
    `SELECT count(*)::int AS count FROM carrel.event WHERE ${where}`,
    [value],
  )
  return row?.count ?? 0
}
