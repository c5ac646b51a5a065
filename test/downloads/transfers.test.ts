import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { test } from 'node:test'
import Fastify from 'fastify'
import { createTransfers } from '../../src/downloads/transfers.ts'
import { Problem } from '../../src/http/problems.ts'
import { sendPieces } from '../../src/http/send-pieces.ts'
import { createCounter } from '../../src/lib/counter.ts'
import { openSocket } from '../support/clients/raw.ts'

test('F1 a connection has one transfer at a time, in the order of its requests, even if one fails', async () => {
  const transfers = createTransfers(createCounter())
  const socket = new Socket()
  const said: string[] = []
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const first = transfers.run(socket, async () => {
    said.push('first begins')
    await released
    throw new Error('the first fails')
  })
  const second = transfers.run(socket, async () => said.push('second'))
  const other = transfers.run(new Socket(), async () => said.push('another connection'))
  await other
  assert.deepEqual(said, ['first begins', 'another connection'])
  release()
  await assert.rejects(first, /the first fails/)
  await second
  assert.deepEqual(said, ['first begins', 'another connection', 'second'])
})

test('E2 with 2,000 transfers running, the next one is 503 with Retry-After until one ends', async () => {
  const transfers = createTransfers(createCounter())
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const running = Array.from({ length: 2_000 }, () => transfers.run(new Socket(), () => released))
  await new Promise(resolve => setImmediate(resolve))
  await assert.rejects(
    transfers.run(new Socket(), async () => {}),
    (error: unknown) =>
      error instanceof Problem && error.code === 'busy' && error.headers['retry-after'] === '5',
  )
  release()
  await Promise.all(running)
  assert.equal(await transfers.run(new Socket(), async () => 'goes on'), 'goes on')
})

test('F1 a client that reads nothing until the stall timeout is disconnected, and its transfer ends', async t => {
  const app = Fastify()
  let ended = false
  async function* pieces() {
    try {
      for (;;) yield new Uint8Array(256 * 1024)
    } finally {
      ended = true
    }
  }
  app.get('/', (_request, reply) =>
    sendPieces(reply, { before: '', between: '', after: '', pieces: pieces() }, 200),
  )
  t.after(() => app.close())
  const socket = openSocket(await app.listen({ host: '127.0.0.1', port: 0 }))
  socket.on('error', () => {})
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: service.test\r\n\r\n')
  while (!ended) await new Promise(resolve => setTimeout(resolve, 20))
  // Reads what was sent, until the connection ends.
  await new Promise(resolve => socket.once('close', resolve).resume())
})
