import assert from 'node:assert/strict'
import { on } from 'node:events'
import { test } from 'node:test'
import { commandEvent } from '../../src/cli/store.ts'
import { runSql } from '../support/service/databases.ts'
import {
  adminOf,
  ask,
  bearer,
  connectTo,
  isAccepted,
  isAuthenticated,
  quickLogin,
  startNode,
  times,
  untilWaiting,
} from '../support/service/nodes.ts'
import type { Service } from '../support/service/service.ts'

/**
 * The advisory lock that holds back look-ups. Look-ups are shared (docs/decisions/0007). Here each one counts
 * itself and, after taking its snapshot, waits until the lock is free.
 */
const gate = 42
const watchLookUps = `
  CREATE SEQUENCE carrel.look_ups;
  CREATE FUNCTION carrel.look_up_may_go_on() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$ BEGIN
    PERFORM nextval('carrel.look_ups');
    PERFORM pg_advisory_lock_shared(${gate});
    PERFORM pg_advisory_unlock_shared(${gate});
    RETURN true;
  END $$;
  ALTER TABLE carrel.state RENAME TO state_itself;
  CREATE VIEW carrel.state AS
    WITH gate AS MATERIALIZED (SELECT carrel.look_up_may_go_on() AS is_open)
    SELECT s.* FROM carrel.state_itself s JOIN gate ON is_open`

/** Resolves when this number of further requests has reached the node, and has got as far as possible. */
async function arrivals({ app }: Service, count: number): Promise<void> {
  let seen = 0
  for await (const _ of on(app.server, 'request')) if (++seen === count) break
  await new Promise(resolve => setImmediate(resolve))
}

async function lookUps(url: string): Promise<number> {
  const [row] = await runSql<{ last_value: string }>(url, 'SELECT last_value FROM carrel.look_ups')
  return Number(row?.last_value)
}

test('T4 requests of 64 connections share look-ups: there are far fewer of these than of those', async t => {
  const { node, url } = await startNode(t)
  const token = await adminOf(node)
  await runSql(url, watchLookUps)
  const before = await lookUps(url)
  let requests = 0
  const enough = 1_280
  await times(64, async () => {
    for (; requests < enough; requests++) assert.equal(await isAccepted(node, token), true)
  })
  const made = (await lookUps(url)) - before
  t.diagnostic(`${requests} requests, ${made} look-ups`)
  assert.ok(made > 0)
  assert.ok(made < requests / 4, `${made} look-ups for ${requests} requests`)
})

test('T4 who comes while a look-up is on its way is answered from one that began after, shared by all of them', async t => {
  const { node, url } = await startNode(t)
  const email = 'ruth@example.org'
  const { uuid } = await node.addEperson(email, { password: null })
  const tokens = await times(10, () => quickLogin(node, email))
  await adminOf(node)
  for (const token of tokens) assert.equal(await isAccepted(node, token), true)
  await runSql(url, watchLookUps)
  const keeper = await connectTo(t, url)
  let [rounds, heldBack] = [0, 0]
  while (heldBack < 3) {
    assert.ok(++rounds <= 20, `the look-up of the request was held back ${heldBack} times in 20 rounds`)
    const [first = ''] = tokens
    await keeper.query('SELECT pg_advisory_lock($1)', [gate])
    const early = ask(node, '/api/authn/status', { headers: bearer(first) })
    await untilWaiting(url, 1)
    const before = await lookUps(url)

    // The logout goes past the node's own requests, which would wait as well.
    await node.storage.sessions.logout(uuid, { ...commandEvent('logout'), eperson: uuid })
    const arrived = arrivals(node, tokens.length)
    const late = tokens.map(token => isAccepted(node, token))
    await arrived
    await keeper.query('SELECT pg_advisory_unlock($1)', [gate])

    // The held-back look-up has the earlier snapshot. It may be one of the node's own, which looks once a
    // second.
    if (isAuthenticated(await early)) heldBack++
    assert.deepEqual(
      await Promise.all(late),
      tokens.map(() => false),
    )
    // A look-up of the node's own may have come in between.
    const made = (await lookUps(url)) - before
    assert.ok(made >= 1 && made < tokens.length / 2, `${made} look-ups for ${tokens.length} requests`)
    tokens.splice(0, tokens.length, ...(await times(10, () => quickLogin(node, email))))
    for (const token of tokens) assert.equal(await isAccepted(node, token), true)
  }
})

test('T4 one look-up tells the sessions of many epersons apart', async t => {
  const { node, url } = await startNode(t)
  const people = await times(30, async at => {
    const email = `person${at}@example.org`
    const { uuid } = await node.addEperson(email, { password: null })
    const token = await quickLogin(node, email)
    assert.equal(await isAccepted(node, token), true)
    return { uuid, token, stays: at % 3 !== 0 }
  })
  await runSql(url, watchLookUps)
  const keeper = await connectTo(t, url)
  await keeper.query('SELECT pg_advisory_lock($1)', [gate])
  const early = isAccepted(node, people[0]?.token ?? '')
  await untilWaiting(url, 1)
  for (const { uuid, stays } of people)
    if (!stays) await node.storage.sessions.logout(uuid, { ...commandEvent('logout'), eperson: uuid })
  const before = await lookUps(url)
  const arrived = arrivals(node, people.length)
  const answers = people.map(({ token }) => isAccepted(node, token))
  await arrived
  await keeper.query('SELECT pg_advisory_unlock($1)', [gate])
  assert.deepEqual(
    await Promise.all(answers),
    people.map(({ stays }) => stays),
  )
  // The answer is yes, unless the held-back look-up was one of the node's own.
  await early
  const made = (await lookUps(url)) - before
  assert.ok(made >= 1 && made < people.length / 2, `${made} look-ups for ${people.length} requests`)
})
