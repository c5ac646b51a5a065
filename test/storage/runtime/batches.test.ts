import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inBatches } from '../../../src/storage/runtime/batches.ts'

/** Batches whose answers the test gives. */
function held(atOnce: number, most = 10) {
  const asked: { readonly calls: readonly string[]; readonly answer: () => void }[] = []
  const { promise: begun, resolve } = Promise.withResolvers<void>()
  const batches = inBatches<string>(
    calls => {
      const { promise, resolve: answer } = Promise.withResolvers<readonly string[]>()
      asked.push({ calls, answer: () => answer(calls.map(call => `${call}!`)) })
      resolve()
      return promise
    },
    { most, laneOf: call => call.slice(0, 1), atOnce: () => atOnce },
  )
  const turn = () => new Promise<void>(done => setImmediate(() => setImmediate(() => setImmediate(done))))
  return { ...batches, asked, begun, turn, calls: () => asked.map(({ calls }) => calls) }
}

test('calls of a lane share the next batch, and wait for none of another lane', async () => {
  const { send, asked, calls, turn } = held(2)
  const sent = ['a1', 'a2', 'b1'].map(call => send<string>(call))
  await turn()
  assert.deepEqual(calls(), [['a1', 'a2'], ['b1']])
  sent.push(...['a3', 'b2', 'b3'].map(call => send<string>(call)))
  asked[1]?.answer()
  await turn()
  assert.deepEqual(calls().slice(2), [['b2', 'b3']])
  asked[0]?.answer()
  await turn()
  assert.deepEqual(calls().slice(3), [['a3']])
  for (const one of asked) one.answer()
  assert.deepEqual(await Promise.all(sent), ['a1!', 'a2!', 'b1!', 'a3!', 'b2!', 'b3!'])
})

test('however many lanes there are, a few batches are under way, and those that have waited longest are next', async () => {
  const { send, asked, calls, turn, close } = held(2, 1)
  const sent = ['a1', 'a2', 'b1', 'c1', 'd1'].map(call => send<string>(call))
  await turn()
  assert.deepEqual(calls(), [['a1'], ['b1']])
  const closing = close()
  await assert.rejects(send('e1'), /closed/)
  for (let at = 0; at < 5; at++) {
    asked[at]?.answer()
    await turn()
    assert.ok(asked.length <= at + 3)
  }
  assert.deepEqual(calls().slice(2), [['c1'], ['d1'], ['a2']])
  await closing
  assert.equal((await Promise.all(sent)).length, 5)
})
