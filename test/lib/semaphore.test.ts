import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSemaphore, QueueFull, type Turn } from '../../src/lib/semaphore.ts'

/** A semaphore for one at a time, whose work ends when the test says so. */
function oneAtATime(maxWaiting: number) {
  const semaphore = createSemaphore(1, maxWaiting)
  const order: string[] = []
  let end = () => {}
  const enter = (name: string, turn?: Turn) =>
    semaphore(
      () =>
        new Promise<void>(resolve => {
          order.push(name)
          end = resolve
        }),
      turn,
    ).then(
      () => 'done',
      error => {
        assert.ok(error instanceof QueueFull, String(error))
        return 'dropped'
      },
    )
  /** Ends what runs, and whatever follows it. */
  const finish = async () => {
    for (let ended = 0; ended < order.length; ended++) {
      end()
      await new Promise(resolve => setImmediate(resolve))
    }
    return order
  }
  return { enter, finish }
}

const of = (line: string, first = false): Turn => ({ line, first })

test('L8 lines take turns, however long one of them is', async () => {
  const { enter, finish } = oneAtATime(100)
  void enter('running')
  for (let at = 0; at < 4; at++) void enter(`flood ${at}`, of('flood'))
  void enter('ruth', of('home'))
  void enter('max', of('office'))
  assert.deepEqual(await finish(), ['running', 'flood 0', 'ruth', 'max', 'flood 1', 'flood 2', 'flood 3'])
})

test('L8 what is first has three turns of four, and the rest is never left out', async () => {
  const { enter, finish } = oneAtATime(100)
  void enter('running')
  for (let at = 0; at < 2; at++) void enter(`rest ${at}`, of('somewhere'))
  for (let at = 0; at < 5; at++) void enter(`first ${at}`, of('home', true))
  assert.deepEqual(await finish(), [
    'running',
    'first 0',
    'first 1',
    'first 2',
    'rest 0',
    'first 3',
    'first 4',
    'rest 1',
  ])
})

test('L7 L8 in a full queue the last of the longest line gives way to a shorter one', async () => {
  const { enter, finish } = oneAtATime(3)
  void enter('running')
  const flood = [0, 1, 2].map(at => enter(`flood ${at}`, of('flood')))
  assert.equal(await enter('flood 3', of('flood')), 'dropped')
  void enter('ruth', of('home'))
  assert.equal(await flood[2], 'dropped')
  assert.equal(await enter('ruth again', of('home')), 'dropped', 'the lines are as long as each other')
  assert.deepEqual(await finish(), ['running', 'flood 0', 'ruth', 'flood 1'])
})

test('L7 L8 in a full queue the rest gives way to what is first', async () => {
  const { enter, finish } = oneAtATime(2)
  void enter('running')
  const rest = [0, 1].map(at => enter(`rest ${at}`, of(`network ${at}`)))
  void enter('ruth', of('home', true))
  void enter('max', of('home', true))
  assert.deepEqual(await Promise.all(rest), ['dropped', 'dropped'])
  assert.equal(await enter('rest 2', of('network 2')), 'dropped')
  assert.deepEqual(await finish(), ['running', 'ruth', 'max'])
})

test('L7 without a queue what finds no room is refused at once', async () => {
  const { enter, finish } = oneAtATime(0)
  const running = enter('running')
  assert.equal(await enter('ruth', of('home', true)), 'dropped')
  await finish()
  assert.equal(await running, 'done')
})
