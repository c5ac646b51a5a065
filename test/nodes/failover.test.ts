import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { commandEvent } from '../../src/cli/store.ts'
import { StoreUnavailable } from '../../src/lib/errors.ts'
import { inspectStore } from '../../src/storage/postgres/inspect.ts'
import { changesOf } from '../../src/storage/records/pending-changes.ts'
import { examplesIn } from '../support/clients/document.ts'
import { listPath } from '../support/clients/listings.ts'
import { feedPath, streamOf } from '../support/data/changes.ts'
import {
  addLogs,
  addToLog,
  foldWorks,
  leadAll,
  logOf,
  type NodeOnLine,
  startNodeAt,
  startNodesAt,
  startWriters,
  untilReady,
  worksOf,
} from '../support/service/failing-over.ts'
import {
  anyOf,
  ask,
  assertUnavailable,
  bearer,
  csrfPairOf,
  isAccepted,
  quickLogin,
  times,
} from '../support/service/nodes.ts'
import { temporaryFolder } from '../support/service/service.ts'
import { type PrimaryAndStandby, startWithStandby, storeAt } from '../support/service/standby.ts'

/** A primary that ends without a warning, and a standby in its place, which may lack the last commits. */

async function startOnPair(t: TestContext, count: number, flags?: readonly string[]) {
  if (flags !== undefined) assert.equal(flags.length, 2, path)
  const pair = await startWithStandby(t, flags)
  const nodes = await startNodesAt(t, pair.primary, count)
  const [first] = nodes
  assert.ok(first)
  return { pair, nodes, first, other: nodes[1] ?? first, token: await addLogs(first) }
}

/** Cuts the line of the standby, which has everything until then. */
async function cut({ caughtUp, replication }: PrimaryAndStandby): Promise<void> {
  await caughtUp()
  replication.leadTo(undefined)
}

async function failOver(nodes: readonly NodeOnLine[], pair: PrimaryAndStandby): Promise<void> {
  await pair.killPrimary()
  await pair.promote()
  await leadAll(nodes, pair.standby)
}

async function addAll(node: NodeOnLine, token: string, key: string, numbers: readonly number[]) {
  for (const number of numbers) {
    const { status, text } = await addToLog(node, token, key, number)
    assert.equal(status, 200, `write ${number} of ${key}: ${text}`)
  }
}

const path = 'docs/deployment.md'
/** The settings of PostgreSQL that the guide shows. */
const documented = (
  examplesIn(path).find(({ text }) => text.includes('synchronous_standby_names'))?.text ?? ''
)
  .split('\n')
  .flatMap(line => /^(\w+) = '?([^'#]*?)'?(?:\s+#.*)?$/.exec(line)?.slice(1, 3).join('=') ?? [])

const logOut = async (node: NodeOnLine, token: string) =>
  ask(node, '/api/authn/logout', {
    method: 'POST',
    headers: { ...(await csrfPairOf(node)), ...bearer(token) },
  })

test('D20 R1 R8 after a failover that lost the last commits, three nodes that go on lose nothing of the branch that goes on, and show nothing of the other', async t => {
  const { pair, nodes, token } = await startOnPair(t, 3)
  const writers = startWriters(nodes, token)
  await writers.untilEachHas(5)
  writers.enter('between')
  await cut(pair)
  writers.enter('lost')
  await writers.untilEachHas(10)
  await pair.killPrimary()
  writers.enter('after')
  await pair.promote()
  await leadAll(nodes, pair.standby)
  await writers.untilEachHas(20)
  await writers.endAndCompare()
})

test('D20 R4 a node that goes on shows what a node shows that starts afresh, and both write every record', async t => {
  const { pair, nodes, first, token } = await startOnPair(t, 1)
  await addAll(first, token, 'I-001', [1])
  await cut(pair)
  const lost = Array.from({ length: 20 }, (_, at) => 100 + at)
  await addAll(first, token, 'I-001', lost)
  await addAll(first, token, 'I-003', lost)
  assert.deepEqual((await logOf(first, 'I-001')).length, 22)
  await failOver(nodes, pair)
  assert.deepEqual(await logOf(first, 'I-001'), [0, 1])
  const fresh = await startNodeAt(t, pair.standby, temporaryFolder(t, 'sqlite'))
  // The numbers of changes that were lost are given again.
  await addAll(fresh, token, 'I-002', [2, 3, 4])
  for (const key of ['I-001', 'I-002', 'I-003', 'I-004'])
    for (const node of [first, fresh]) await addAll(node, token, key, [node === first ? 5 : 6])
  const expected = { 'I-001': [0, 1, 5, 6], 'I-002': [0, 2, 3, 4, 5, 6], 'I-003': [0, 5, 6] }
  for (const round of ['before', 'after']) {
    for (const node of [first, fresh])
      for (const [key, log] of Object.entries(expected))
        assert.deepEqual(await logOf(node, key), log, `${key} ${round} a fold`)
    if (round === 'before') await foldWorks(first)
  }
})

test('R1 R8 a fold and a write that were prepared before a failover change nothing after it', async t => {
  const { pair, nodes, first, other, token } = await startOnPair(t, 2)
  await cut(pair)
  await addAll(first, token, 'I-001', [1, 2, 3, 4, 5])
  const stale = await worksOf(first)
  const last = changesOf(stale)?.changes.at(-1)
  assert.ok(last)
  await failOver(nodes, pair)
  // The same numbers of changes, of the same record.
  await addAll(other, token, 'I-001', [11, 12, 13, 14, 15])
  const refused = (error: unknown) => {
    assert.ok(error instanceof StoreUnavailable, String(error))
    return false
  }
  assert.equal(await foldWorks(first, stale).catch(refused), false)
  const { key, values, seq } = last
  const write = {
    entity: stale,
    key,
    values,
    json: '{"id":"I-001","log":[99]}',
    added: 0,
    before: seq,
  } as const
  const event = commandEvent('record.change')
  assert.equal(await first.storage.entities.writeRecord(write, event).catch(refused), false)
  for (const node of nodes) assert.deepEqual(await logOf(node, 'I-001'), [0, 11, 12, 13, 14, 15])
})

test('Q35 Q37 Q39 snapshots and places in the feed of changes that were given on a lost branch are 410 on every node', async t => {
  const { pair, nodes, first, other, token } = await startOnPair(t, 2)
  await cut(pair)
  const stream = await streamOf(first.client(), 'works', { since: 'now' })
  await stream.next()
  await addAll(first, token, 'I-001', [1, 2, 3, 4, 5])
  await stream.changes(5)
  const snapshot = String((await ask(first, listPath('works'))).headers['x-snapshot'])
  await failOver(nodes, pair)
  const assertGone = async (when: string) => {
    for (const [at, node] of nodes.entries()) {
      const list = await ask(node, listPath('works', { snapshot }))
      assert.equal(list.status, 410, `a list on node ${at} ${when}: ${list.text}`)
      const feed = await ask(node, feedPath('works', snapshot))
      assert.equal(feed.status, 410, `a feed on node ${at} ${when}: ${feed.text}`)
      const next = await streamOf(node.client(), 'works', { lastEventId: stream.id })
      assert.equal(next.response.status, 410, `a stream on node ${at} ${when}`)
    }
  }
  await assertGone('at once')
  await addAll(other, token, 'I-002', [1, 2, 3])
  await assertGone('before as many changes')
  await addAll(other, token, 'I-002', [4, 5, 6, 7, 8])
  await assertGone('after more changes')
  // The open stream ends. It can't tell what leads from the lost branch to this one.
  for (let event = await stream.next(); event; event = await stream.next())
    assert.notEqual(event.event, undefined, `a change on the stream of the lost branch: ${event.data}`)
})

test('T4 D20 a node that is led back to the old primary answers nothing from it', async t => {
  const { pair, nodes, first, other, token } = await startOnPair(t, 2)
  await first.addEperson('ruth@example.org', { password: null })
  const ruth = await quickLogin(first, 'ruth@example.org')
  await cut(pair)
  await pair.promote()
  // Nobody has stopped the old primary, and one node is still there.
  first.line.leadTo(pair.standby)
  await untilReady(first)
  assert.equal((await logOut(first, ruth)).status, 204)
  await addAll(first, token, 'I-001', [1])
  first.line.leadTo(pair.primary)
  for (const path of ['/health/ready', '/api/authn/status', listPath('works')])
    assert.equal((await ask(first, path, { headers: bearer(ruth) })).status, 503, path)
  assertUnavailable(await addToLog(first, token, 'I-001', 2))
  await leadAll(nodes, pair.standby)
  for (const node of nodes) {
    assert.equal(await isAccepted(node, ruth), false)
    assert.deepEqual(await logOf(node, 'I-001'), [0, 1])
  }
  await addAll(other, token, 'I-001', [3])
})

test('T4 R1 D20 a node that is led to a standby answers nothing until it is promoted', async t => {
  const { pair, nodes, first, token } = await startOnPair(t, 1)
  await cut(pair)
  await addAll(first, token, 'I-001', [1])
  await pair.killPrimary()
  first.line.leadTo(pair.standby)
  for (const path of ['/health/ready', '/api/authn/status', listPath('works')])
    assert.equal((await ask(first, path, { headers: bearer(token) })).status, 503, path)
  assertUnavailable(await addToLog(first, token, 'I-001', 2))
  await pair.promote()
  // The line isn't moved again: connections that are open now lead to the primary from now on.
  for (const node of nodes) await untilReady(node)
  await addAll(first, token, 'I-001', [3])
  assert.deepEqual(await logOf(first, 'I-001'), [0, 3])
})

test('R9 with the settings that the guide shows, a failover loses no write that was acknowledged', async t => {
  const { pair, nodes, token } = await startOnPair(t, 3, documented)
  const writers = startWriters(nodes, token)
  await writers.untilEachHas(10)
  pair.replication.leadTo(undefined)
  await pair.killPrimary()
  writers.enter('after')
  await pair.promote()
  await leadAll(nodes, pair.standby)
  await writers.untilEachHas(10)
  await writers.endAndCompare()
})

test('T4 with the settings that the guide shows, no token is accepted after a failover whose logout was answered before', async t => {
  const { pair, nodes, first } = await startOnPair(t, 3, documented)
  const people = 12
  const tokens = await times(people, async at => {
    const email = `person${at}@example.org`
    await first.addEperson(email, { password: null })
    return quickLogin(anyOf(nodes), email)
  })
  const half = Promise.withResolvers<void>()
  const ended: string[] = []
  const logouts = Promise.all(
    tokens.map(async token => {
      const answer = await logOut(anyOf(nodes), token)
      if (answer.status !== 204) return assertUnavailable(answer)
      if (ended.push(token) === people / 2) half.resolve()
    }),
  )
  await Promise.race([half.promise, logouts])
  pair.replication.leadTo(undefined)
  await failOver(nodes, pair)
  await logouts
  assert.ok(ended.length >= people / 2)
  for (const [at, node] of nodes.entries())
    for (const token of ended)
      assert.equal(await isAccepted(node, token), false, `node ${at} accepts a token that was revoked`)
})

test('D8 D20 doctor counts a standby for which no commit waits, and none with the settings that the guide shows', async t => {
  const behind = async (flags?: readonly string[]) => {
    const { pair } = await startOnPair(t, 1, flags)
    await pair.caughtUp()
    return (await inspectStore(storeAt(pair.primary), null)).server?.standbysBehind
  }
  assert.deepEqual([await behind(), await behind(documented)], [1, 0])
})

test('T4 E2 with the settings that the guide shows, a logout is not acknowledged while no standby has it', async t => {
  const pair = await startWithStandby(t, documented)
  const node = await startNodeAt(t, pair.primary, temporaryFolder(t, 'sqlite'), { statement: 3_000 })
  await node.addEperson('ruth@example.org', { password: null })
  const token = await quickLogin(node, 'ruth@example.org')
  pair.replication.leadTo(undefined)
  assertUnavailable(await logOut(node, token))
  pair.replication.leadTo(pair.primary)
  await pair.caughtUp()
  assert.equal((await logOut(node, await quickLogin(node, 'ruth@example.org'))).status, 204)
})
