import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { createCounter } from '../../src/lib/counter.ts'

test('D10 a counter counts what all loops have under way, and an ended loop’s row can be taken back', () => {
  const rows = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT))
  const [one, other] = [createCounter(rows, 0), createCounter(rows, 1)]
  assert.deepEqual(
    [one.add(3), other.add(3), other.add(3), one.add(3), other.add(3)],
    [true, true, true, false, false],
  )
  one.remove()
  assert.equal(other.add(3), true)
  assert.equal(one.add(3), false)
  rows[1] = 0
  assert.deepEqual([one.add(3), one.add(3), one.add(3), one.add(3)], [true, true, true, false])
})

test('D10 threads that count at once never count more than the limit', async () => {
  const max = 3
  const rows = new Int32Array(new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT))
  const inside = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT))
  const file = new URL('../../src/lib/counter.ts', import.meta.url).href
  const code = `
    const { workerData: { rows, inside, own, file, max } } = require('node:worker_threads')
    import(file).then(({ createCounter }) => {
      const counter = createCounter(rows, own)
      let held = 0
      for (let at = 0; at < 200_000; at++) {
        if (held < 2 && counter.add(max)) {
          held++
          const now = Atomics.add(inside, 0, 1) + 1
          if (now > max) Atomics.store(inside, 1, now)
        } else if (held > 0) {
          held--
          Atomics.sub(inside, 0, 1)
          counter.remove()
        }
      }
    })`
  await Promise.all(
    [0, 1, 2].map(
      own =>
        new Promise<void>((resolve, reject) => {
          const worker = new Worker(code, { eval: true, workerData: { rows, inside, own, file, max } })
          worker.once('error', reject)
          worker.once('exit', () => resolve())
        }),
    ),
  )
  assert.equal(inside[1], 0, 'never more at once')
})
