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
    { most, laneOf: call => call.slice(0, 1), atOnce },
  )
  const turn = () => new Promise<void>(done => setImmediate(() => setImmediate(() => setImmediate(done))))
  return { ...batches, asked, begun, turn, calls: () => asked.map(({ calls }) => calls) }
}

test('calls wait for their lane, and share the next batch with all that are free', async () => {
  const { send, asked, calls, turn } = held(2)
  const sent = ['a1', 'b1', 'a2'].map(call => send<string>(call))
  await turn()
  assert.deepEqual(calls(), [['a1', 'a2', 'b1']])
  sent.push(...['a3', 'c1', 'b2'].map(call => send<string>(call)))
  await turn()
  assert.deepEqual(calls().slice(1), [['c1']], 'others go on')
  sent.push(send<string>('d1'))
  await turn()
  assert.equal(asked.length, 2, 'no more than two at a time')
  asked[0]?.answer()
  await turn()
  assert.deepEqual(calls().slice(2), [['a3', 'b2', 'd1']])
  for (const one of asked) one.answer()
  assert.deepEqual(
    await Promise.all(sent),
    ['a1', 'b1', 'a2', 'a3', 'c1', 'b2', 'd1'].map(call => `${call}!`),
  )
})

test('what has no room in a batch begins another one', async () => {
  const { send, asked, calls, turn } = held(2, 2)
  const sent = ['a1', 'a2', 'b1'].map(call => send<string>(call))
  await turn()
  assert.deepEqual(calls(), [['a1', 'a2'], ['b1']])
  for (const one of asked) one.answer()
  await Promise.all(sent)
})

test('a long lane takes turns with the others, and all that has arrived is answered before the end', async () => {
  const { send, asked, calls, turn, close } = held(1, 1)
  const sent = ['a1', 'a2', 'b1', 'c1'].map(call => send<string>(call))
  await turn()
  const closing = close()
  await assert.rejects(send('e1'), /closed/)
  for (let at = 0; at < 4; at++) {
    asked[at]?.answer()
    await turn()
    assert.ok(asked.length <= at + 2)
  }
  assert.deepEqual(calls(), [['a1'], ['b1'], ['c1'], ['a2']])
  await closing
  assert.equal((await Promise.all(sent)).length, 4)
})
