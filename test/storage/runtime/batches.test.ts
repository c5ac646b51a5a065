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

/** Batches whose lanes in `locked` are held by another process until `end` is called. */
function contended(locked: Set<string>, { waitAtOnce = 1, patience = 60_000 } = {}) {
  const asked: string[] = []
  const ends = new Map<string, () => void>()
  const batches = inBatches<string>(
    async (calls, waits) => {
      asked.push(`${calls.join(' ')}${waits ? ' waits' : ''}`)
      if (waits && locked.has(calls[0]?.slice(0, 1) ?? ''))
        await new Promise<void>(resolve => {
          ends.set(calls[0]?.slice(0, 1) ?? '', resolve)
        })
      return calls.map(call => (locked.has(call.slice(0, 1)) ? null : `${call}!`))
    },
    { laneOf: call => call.slice(0, 1), waitAtOnce, patience, isHeld: result => result === null },
  )
  const end = (lane: string) => {
    locked.delete(lane)
    ends.get(lane)?.()
  }
  return { ...batches, asked, end }
}

test('lanes that another process holds keep no others waiting, and keep their order', async () => {
  const { send, asked, end, close } = contended(new Set(['a', 'b', 'c']))
  const held = ['a1', 'b1', 'c1', 'a2'].map(call => send<string>(call))
  assert.equal(await send('d1'), 'd1!')
  assert.equal(await send('d2'), 'd2!')
  held.push(send('b2'))
  assert.equal(await send('d3'), 'd3!')
  assert.ok(asked.includes('a1 a2 waits'), asked.join('; '))
  end('b')
  assert.equal(await held[1], 'b1!', 'also one for which nothing waits')
  assert.equal(await held[4], 'b2!')
  end('a')
  end('c')
  const closing = close()
  assert.deepEqual(
    await Promise.all(held),
    ['a1', 'b1', 'c1', 'a2', 'b2'].map(call => `${call}!`),
  )
  await closing
})

test('a lane that stays held is refused after a time, and the end waits for that', async () => {
  const { send, end, close } = contended(new Set(['a', 'b']), { waitAtOnce: 0, patience: 100 })
  const held = Promise.allSettled([send('a1'), send('b1')])
  assert.equal(await send('d1'), 'd1!')
  const closing = close()
  end('b')
  const [first, second] = await held
  assert.match(first?.status === 'rejected' ? String(first.reason) : '', /a is being changed/)
  assert.deepEqual(second, { status: 'fulfilled', value: 'b1!' })
  await closing
})

test('batches that wait make no room for others', async () => {
  let [running, most] = [0, 0]
  const { send } = inBatches<string>(
    async (calls, waits) => {
      if (!waits) most = Math.max(most, ++running)
      await new Promise(resolve => setTimeout(resolve, 2))
      if (!waits) running--
      return calls.map(call => (!waits && call.startsWith('h') ? null : call))
    },
    {
      most: 2,
      laneOf: call => call.slice(0, 2),
      atOnce: 2,
      waitAtOnce: 2,
      isHeld: result => result === null,
    },
  )
  const calls = Array.from({ length: 60 }, (_, n) => `${n % 3 === 0 ? 'h' : 'f'}${n % 10}-${n}`)
  assert.deepEqual(await Promise.all(calls.map(call => send<string>(call))), calls)
  assert.equal(most, 2)
})
