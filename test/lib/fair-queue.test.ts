import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Client, createFairQueue, Overloaded } from '../../src/lib/fair-queue.ts'

const limits = { max: 1, maxWaiting: 8, maxWait: 60_000 }

/** A client that can disconnect. */
function clientOf(network: string, first = false): Client & { leave(): void } {
  const gone = new AbortController()
  return { network, first, signal: () => gone.signal, leave: () => gone.abort(new Error('gone')) }
}

/** Begins work that lasts until it is ended. */
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

/** Creates a queue for one at a time, whose work ends when the test says so. */
function oneAtATime(maxWaiting: number) {
  const queue = createFairQueue({ max: 1, maxWaiting })
  const order: string[] = []
  let end = () => {}
  const enter = (name: string, client: Client) =>
    queue
      .run(
        client,
        () =>
          new Promise<void>(resolve => {
            order.push(name)
            end = resolve
          }),
      )
      .then(
        () => 'done',
        error => {
          assert.ok(error instanceof Overloaded, String(error))
          return 'refused'
        },
      )
  void enter('running', clientOf('somewhere'))
  /** Ends the running work, and all that follows. */
  const finish = async () => {
    for (let ended = 0; ended <= order.length; ended++) {
      await new Promise(resolve => setImmediate(resolve))
      end()
    }
    return order.slice(1)
  }
  return { enter, finish }
}

test('L7 L8 Q18 in a full queue the last of the longest line gives way to a shorter one', async () => {
  const { enter, finish } = oneAtATime(4)
  const [greedy, modest] = [clientOf('greedy'), clientOf('modest')]
  const works = ['a', 'b', 'c', 'd'].map(name => enter(name, greedy))
  assert.equal(await enter('e', greedy), 'refused')
  void enter('1', modest)
  assert.equal(await works[3], 'refused')
  void enter('2', modest)
  assert.equal(await works[2], 'refused')
  assert.equal(await enter('3', modest), 'refused', 'the lines are as long as each other')
  assert.deepEqual(await finish(), ['a', '1', 'b', '2'])
})

test('Q18 however many of those before fill the queue, a third network finds a place', async () => {
  const { enter, finish } = oneAtATime(8)
  const works = ['one', 'other'].flatMap(network =>
    [0, 1, 2, 3].map(at => enter(`${network} ${at}`, clientOf(network))),
  )
  void enter('third', clientOf('third'))
  assert.equal(await works[7], 'refused')
  const order = await finish()
  assert.equal(order[2], 'third')
  assert.equal(order.length, 8)
})

test('Q18 what gives way comes from the line that is the last to have its turn', async () => {
  const { enter, finish } = oneAtATime(4)
  const works = [clientOf('one'), clientOf('other')].flatMap(client => [0, 1].map(() => enter('', client)))
  void enter('third', clientOf('third'))
  assert.equal(await works[3], 'refused')
  await finish()
  assert.equal(await works[1], 'done')
})

test('L8 what is first has three turns of four, and the rest is never left out', async () => {
  const { enter, finish } = oneAtATime(100)
  for (let at = 0; at < 2; at++) void enter(`rest ${at}`, clientOf('elsewhere'))
  for (let at = 0; at < 5; at++) void enter(`first ${at}`, clientOf('home', true))
  assert.deepEqual(await finish(), [
    'first 0',
    'first 1',
    'first 2',
    'rest 0',
    'first 3',
    'first 4',
    'rest 1',
  ])
})

test('L8 what is first can fill three quarters of the places for long, and the rest has a quarter', async () => {
  const { enter, finish } = oneAtATime(8)
  const works = Array.from({ length: 8 }, (_, at) => enter(`first ${at}`, clientOf('home', true)))
  void enter('rest 0', clientOf('elsewhere'))
  assert.equal(await works[7], 'refused')
  void enter('rest 1', clientOf('third'))
  assert.equal(await works[6], 'refused')
  assert.equal(await enter('rest 2', clientOf('fourth')), 'refused', 'the rest has its part')
  assert.equal(await enter('first 8', clientOf('home', true)), 'refused', 'so has what is first')
  void enter('office', clientOf('office', true))
  assert.equal(await works[5], 'refused', 'the longest line')
  assert.deepEqual(await finish(), [
    'first 0',
    'office',
    'first 1',
    'rest 0',
    'first 2',
    'first 3',
    'first 4',
    'rest 1',
  ])
})

test('L7 L8 in a full queue the rest gives way to what is first, down to its part', async () => {
  const { enter, finish } = oneAtATime(4)
  const rest = [0, 1, 2, 3].map(at => enter(`rest ${at}`, clientOf(`network ${at}`)))
  for (const name of ['ruth', 'max', 'eva']) void enter(name, clientOf('home', true))
  assert.deepEqual(await Promise.all(rest.slice(1)), ['refused', 'refused', 'refused'])
  assert.equal(await enter('tom', clientOf('home', true)), 'refused')
  assert.deepEqual(await finish(), ['ruth', 'max', 'eva', 'rest 0'])
})

test('L7 without a queue what finds no room is refused at once', async () => {
  const { enter, finish } = oneAtATime(0)
  assert.equal(await enter('ruth', clientOf('home', true)), 'refused')
  assert.equal(await enter('max', clientOf('elsewhere')), 'refused')
  assert.deepEqual(await finish(), [])
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
