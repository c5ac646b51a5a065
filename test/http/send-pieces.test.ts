import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import { outside } from '../../src/http/access.ts'
import { turnOf } from '../../src/http/connection.ts'
import { sendPieces } from '../../src/http/send-pieces.ts'
import { openSocket } from '../support/clients/raw.ts'
import { until } from '../support/service/waiting.ts'

type Answer = (at: string, reply: FastifyReply, request: FastifyRequest) => Promise<unknown>

/** Opens a connection and sends this number of requests at once: /1, /2 and so on. */
async function pipeline(t: TestContext, requests: number, answer: Answer): Promise<Socket> {
  const app = Fastify()
  app.get<{ Params: { at: string } }>('/:at', { config: { access: outside() } }, (request, reply) =>
    answer(request.params.at, reply, request),
  )
  t.after(() => app.close())
  const socket = openSocket(await app.listen({ host: '127.0.0.1', port: 0 }))
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  for (let at = 1; at <= requests; at++) socket.write(`GET /${at} HTTP/1.1\r\nHost: service.test\r\n\r\n`)
  return socket
}

const send = (reply: FastifyReply, pieces: AsyncIterator<Uint8Array>, idle = 60_000) =>
  sendPieces(reply, { before: '', between: '', after: '', pieces }, { idle })

/** Reads this number of chunked bodies. */
async function complete(socket: Socket, bodies: number): Promise<string> {
  let received = ''
  for await (const chunk of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    received += chunk.toString('latin1')
    if (received.split('\r\n0\r\n\r\n').length > bodies) break
  }
  return received
}

test('Q18 F1 the responses of a connection are sent one at a time, whichever of its requests is ready first', async t => {
  const said: string[] = []
  const { promise: secondIsReady, resolve } = Promise.withResolvers<void>()
  const socket = await pipeline(t, 3, async (at, reply) => {
    if (at === '1') await secondIsReady
    if (at === '2') resolve()
    await turnOf(reply)
    async function* pieces() {
      said.push(`${at} begins`)
      for (let piece = 0; piece < 20; piece++) yield new Uint8Array(64 * 1024)
      said.push(`${at} ends`)
    }
    return send(reply, pieces())
  })
  await complete(socket, 3)
  assert.deepEqual(said, ['1 begins', '1 ends', '2 begins', '2 ends', '3 begins', '3 ends'])
})

test('Q18 what waits for its turn is told when its client disconnects', async t => {
  const { promise: told, resolve } = Promise.withResolvers<unknown>()
  const socket = await pipeline(t, 2, async (at, reply) => {
    if (at === '1') return told.then(() => 'too late')
    socket.destroy()
    return turnOf(reply).catch(resolve)
  })
  assert.equal(((await told) as Error).name, 'AbortError')
})

test('Q18 the time limit of a response ends with it, for the next one and for the connection', async t => {
  const timeouts: (number | undefined)[] = []
  const { promise: ended, resolve } = Promise.withResolvers<Socket>()
  const socket = await pipeline(t, 2, async (at, reply, request) => {
    await turnOf(reply)
    timeouts.push(reply.raw.socket?.timeout)
    async function* pieces() {
      yield new Uint8Array(1)
    }
    if (at === '2') reply.raw.once('close', () => resolve(request.raw.socket))
    return send(reply, pieces(), 12_345)
  })
  await complete(socket, 2)
  assert.deepEqual(
    timeouts.map(timeout => timeout ?? 0),
    [0, 0],
  )
  assert.notEqual((await ended).timeout, 12_345)
})

test('Q18 a client is not disconnected while the next piece for it is prepared', async t => {
  const socket = await pipeline(t, 1, async (_at, reply, request) => {
    async function* pieces() {
      yield new Uint8Array(1)
      await once(request.raw.socket, 'timeout')
      yield Buffer.from('the next piece')
    }
    return send(reply, pieces(), 100)
  })
  assert.match(await complete(socket, 1), /the next piece/)
})

test('F1 a client that reads nothing until the stall timeout is disconnected, and its transfer ends', async t => {
  let ended = false
  async function* pieces() {
    try {
      for (;;) yield new Uint8Array(256 * 1024)
    } finally {
      ended = true
    }
  }
  const socket = await pipeline(t, 1, (_at, reply) => send(reply, pieces(), 200))
  socket.pause()
  await until('the end of the transfer', () => ended)
  // Reads what was sent, until the connection ends.
  await new Promise(resolve => socket.once('close', resolve).resume())
})
