import assert from 'node:assert/strict'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import fastify from 'fastify'
import { createTurns } from '../../../src/entities/write/turns.ts'
import { outside } from '../../../src/http/access.ts'
import { Lagging } from '../../../src/lib/errors.ts'
import { createFairQueue } from '../../../src/lib/fair-queue.ts'
import { until } from '../../support/service/waiting.ts'

/** Serves writes, of which those to `/lagging` are refused until there is room. */
async function served(t: TestContext, most: number) {
  const state = { isFull: true, tried: 0, gone: 0 }
  const inTurn = createTurns(createFairQueue({ max: 1 }), most)
  const app = fastify()
  const config = { config: { access: outside() } }
  app.get('/lagging', config, asked => {
    let before = 0
    const written = inTurn(asked, async () => {
      state.tried += before++ === 0 ? 1 : 0
      if (state.isFull) throw new Lagging('full')
      return 'written'
    })
    return written.catch((error: Error) => {
      if (error.name === 'AbortError') state.gone++
      return `${error instanceof Lagging} ${error.message}`
    })
  })
  app.get('/other', config, asked => inTurn(asked, async () => 'other'))
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.after(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const get = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).text()
  return { state, get, port }
}

test('R9 a write waits until new versions leave room, and others are made meanwhile', async t => {
  // Half of the places are for one network.
  const { state, get } = await served(t, 4)
  const waiting = [get('/lagging'), get('/lagging')]
  await until('both wait', () => state.tried === 2)
  assert.equal(await get('/other'), 'other')
  assert.equal(await get('/lagging'), 'true full', 'one more is refused at once')
  state.isFull = false
  assert.deepEqual(await Promise.all(waiting), ['written', 'written'])
  assert.equal(await get('/lagging'), 'written')
})

test('R9 a client that goes away while it waits is forgotten, and its place is free', async t => {
  const { state, get, port } = await served(t, 1)
  const leaving = request({ port, host: '127.0.0.1', path: '/lagging' }).end()
  leaving.on('error', () => {})
  await until('it waits', () => state.tried === 1)
  leaving.destroy()
  await until('it is forgotten', () => state.gone === 1)
  const next = get('/lagging')
  await until('the next one waits', () => state.tried === 2)
  state.isFull = false
  assert.equal(await next, 'written')
})
