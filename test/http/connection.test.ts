import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import Fastify from 'fastify'
import { outside } from '../../src/http/access.ts'
import { endIdle } from '../../src/http/connection.ts'

test('Q18 a client that waits for a response is not disconnected, however long that takes', async t => {
  const app = Fastify({ connectionTimeout: 100 })
  app.server.on('timeout', endIdle)
  app.get('/', { config: { access: outside() } }, async ({ raw: { socket } }) => {
    await once(socket, 'timeout')
    return { isDestroyed: socket.destroyed }
  })
  t.after(() => app.close())
  const response = await fetch(await app.listen({ host: '127.0.0.1', port: 0 }))
  assert.deepEqual(await response.json(), { isDestroyed: false })
})
