import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Client, createFairQueue, Overloaded } from '../../src/lib/fair-queue.ts'

const limits = { max: 1, maxWaiting: 8, maxWait: 60_000 }

/** A client that can disconnect. */
function clientOf(network: string): Client & { leave(): void } {
  const gone = new AbortController()
  return { network, signal: () => gone.signal, leave: () => gone.abort(new Error('gone')) }
}

/** Work that lasts until it is ended. */
function begin(queue: ReturnType<typeof createFairQueue>, client: Client, name: string, order: string[]) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const done = queue.run(client, () => {
    order.push(name)
    return promise
  })
  done.catch(() => {})
  return { done, end: resolve }
}

test('Q18 networks take turns, however much one of them asks for', async () => {
  const queue = createFairQueue(limits)
  const order: string[] = []
  const [greedy, modest] = [clientOf('greedy'), clientOf('modest')]
  const works = [
    ...['a', 'b', 'c', 'd'].map(name => begin(queue, greedy, name, order)),
    ...['1', '2'].map(name => begin(queue, modest, name, order)),
  ]
  for (const { end } of works) end()
  await Promise.all(works.map(({ done }) => done))
  assert.deepEqual(order, ['a', 'b', '1', 'c', '2', 'd'])
})

test('Q18 what waits for a client that has disconnected is never begun, and makes room', async () => {
  const queue = createFairQueue(limits)
  const order: string[] = []
  const [one, other] = [clientOf('one'), clientOf('other')]
  const first = begin(queue, other, 'first', order)
  const waiting = ['a', 'b', 'c', 'd'].map(name => begin(queue, one, name, order))
  one.leave()
  await Promise.all(waiting.map(({ done }) => assert.rejects(done, /gone/)))
  await assert.rejects(
    queue.run(one, async () => {}),
    /gone/,
  )
  const next = begin(queue, other, 'next', order)
  for (const { end } of [first, next]) end()
  await Promise.all([first.done, next.done])
  assert.deepEqual(order, ['first', 'next'])
})

test('Q18 more than may wait is refused, for one network and for all', async () => {
  const queue = createFairQueue(limits)
  const [one, other, third] = [clientOf('one'), clientOf('other'), clientOf('third')]
  // One runs, and half of what may wait is waiting.
  const works = Array.from({ length: 5 }, (_, at) => begin(queue, one, String(at), []))
  await assert.rejects(
    queue.run(one, async () => {}),
    Overloaded,
  )
  for (const client of [other, other, third, third]) works.push(begin(queue, client, client.network, []))
  await assert.rejects(
    queue.run(other, async () => {}),
    Overloaded,
  )
  for (const { end } of works) end()
  await Promise.all(works.map(({ done }) => done))
  await queue.run(one, async () => {})
})

test('Q18 work that fails passes its turn on', async () => {
  const queue = createFairQueue(limits)
  const client = clientOf('one')
  const failing = queue.run(client, () => Promise.reject(new Error('failed')))
  const next = queue.run(client, async () => 'next')
  await assert.rejects(failing, /failed/)
  assert.equal(await next, 'next')
})

test('Q18 one network leaves room for another', async () => {
  const queue = createFairQueue({ max: 3, maxWaiting: 8, maxWait: 60_000 })
  const order: string[] = []
  const [greedy, modest] = [clientOf('greedy'), clientOf('modest')]
  const works = ['a', 'b', 'c', 'd'].map(name => begin(queue, greedy, name, order))
  works.push(begin(queue, modest, '1', order))
  await new Promise(resolve => setImmediate(resolve))
  assert.deepEqual(order, ['a', 'b', '1'])
  for (const { end } of works) end()
  await Promise.all(works.map(({ done }) => done))
  assert.deepEqual(order, ['a', 'b', '1', 'c', 'd'])
})

test('Q18 what has waited for too long is refused, and makes room', async () => {
  const queue = createFairQueue({ max: 1, maxWaiting: 2, maxWait: 1 })
  const client = clientOf('one')
  const first = begin(queue, client, 'first', [])
  for (let round = 0; round < 3; round++)
    await assert.rejects(
      queue.run(client, async () => {}),
      /not begun in time/,
    )
  first.end()
  await first.done
  await queue.run(client, async () => {})
})
