import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import { type Client, createFairQueue, type FairQueue, Overloaded } from '../../../src/lib/fair-queue.ts'
import { answerOver, callsOver, handlerIn } from '../../../src/lib/threads/calls.ts'
import { type QueueHandlers, remoteQueue, shareQueues } from '../../../src/lib/threads/queue.ts'

/** Returns a queue as another thread sees it, and a function to be called when that thread has ended. */
function remote(t: TestContext, queue: FairQueue) {
  const { port1, port2 } = new MessageChannel()
  const shared = shareQueues({ passwords: queue })
  answerOver(port1, handlerIn(shared.handlers))
  t.after(() => port1.close())
  return { queue: remoteQueue(callsOver<QueueHandlers>(port2), 'passwords'), end: shared.leave }
}

function clientOf(network: string): Client & { leave(): void } {
  const gone = new AbortController()
  return { network, signal: () => gone.signal, leave: () => gone.abort(new Error('gone')) }
}

/** Waits long enough for messages to reach the other side and come back. */
const messages = async () => {
  for (let at = 0; at < 10; at++) await new Promise(resolve => setImmediate(resolve))
}

test('L8 D10 threads share the turns of a queue and its bound', async t => {
  const own = createFairQueue({ max: 1, maxWaiting: 2 })
  const [one, other] = [remote(t, own).queue, remote(t, own).queue]
  const leave = await one.enter(clientOf('a'))
  const order: string[] = []
  const enter = (queue: FairQueue, network: string) =>
    queue.run(clientOf(network), async () => order.push(network))
  const greedy = [enter(one, 'greedy'), enter(one, 'greedy')]
  const refused = assert.rejects(greedy[1] ?? Promise.resolve(), Overloaded)
  await messages()
  const modest = enter(other, 'modest')
  await refused
  leave()
  await Promise.all([greedy[0], modest])
  assert.deepEqual(order, ['greedy', 'modest'])
})

test('L8 what waits in another thread for a client that has disconnected is never begun', async t => {
  const { queue } = remote(t, createFairQueue({ max: 1, maxWaiting: 1 }))
  const leave = await queue.enter(clientOf('a'))
  const client = clientOf('b')
  const waiting = queue.run(client, async () => assert.fail('it was begun'))
  await messages()
  client.leave()
  await assert.rejects(waiting, /gone/)
  // Its place is free again.
  const next = queue.enter(clientOf('c'))
  leave()
  ;(await next)()
  await assert.rejects(queue.enter(client), /gone/)
})

test('L8 a client that disconnects when its turn has just come gives it back', async t => {
  const { queue } = remote(t, createFairQueue({ max: 1, maxWaiting: 0 }))
  const client = clientOf('a')
  const entering = queue.enter(client)
  client.leave()
  await assert.rejects(entering, /gone/)
  await queue.run(clientOf('b'), async () => {})
})

test('D10 a thread that has ended gives back what it held and what it waited for', async t => {
  const own = createFairQueue({ max: 2, maxWaiting: 4 })
  const ending = remote(t, own)
  for (const network of ['a', 'b']) await ending.queue.enter(clientOf(network))
  for (const network of ['c', 'd', 'e', 'f']) ending.queue.enter(clientOf(network)).catch(() => {})
  await messages()
  ending.end()
  const left = await Promise.all(['g', 'h'].map(network => own.enter(clientOf(network))))
  assert.equal(left.length, 2)
})
