import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTransfers } from '../../src/files/download.ts'
import { Problem } from '../../src/http/problems.ts'
import { createCounter } from '../../src/lib/counter.ts'

test('E2 with 2,000 transfers running, the next one is 503 with Retry-After until one ends', async () => {
  const transfers = createTransfers(createCounter())
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const running = Array.from({ length: 2_000 }, () => transfers.run(() => released))
  await new Promise(resolve => setImmediate(resolve))
  await assert.rejects(
    transfers.run(async () => {}),
    (error: unknown) =>
      error instanceof Problem && error.code === 'busy' && error.headers['retry-after'] === '5',
  )
  release()
  await Promise.all(running)
  assert.equal(await transfers.run(async () => 'goes on'), 'goes on')
})
