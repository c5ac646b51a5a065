import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import { answerOver, callsOver } from '../../../src/lib/threads/calls.ts'
import {
  type CacheHandlers,
  createCacheServer,
  joinCache,
} from '../../../src/storage/runtime/shared-cache.ts'
import { until } from '../../support/service/waiting.ts'

/** Joins the cache that event loops share, over real ports. */
function join(server: ReturnType<typeof createCacheServer>) {
  const { port1, port2 } = new MessageChannel()
  const gone: string[] = []
  const calls = callsOver<CacheHandlers>(port2)
  const cache = joinCache(calls, 100)
  const joined = server.join(key => {
    gone.push(key)
    cache.drop(key)
  })
  const handlers: CacheHandlers = joined.handlers
  const reported: string[] = []
  answerOver(port1, (name, args) => {
    if (name === 'cacheUse') reported.push(...(args[0] as readonly string[]))
    return handlers[name]?.(...(args as never[]))
  })
  port1.unref()
  const made: string[] = []
  return {
    made,
    gone,
    /** The keys that this event loop has reported to the server as used. */
    reported,
    /** @param making a promise to wait for before there is a value */
    get: async (version: string, what: string, bytes: number, making?: Promise<unknown>) => {
      const make = async () => {
        made.push(what)
        await making
        const value = new Uint8Array(new SharedArrayBuffer(1))
        value[0] = what.charCodeAt(0)
        return value
      }
      return cache.get(version, what, bytes, make, value => value)
    },
    keepOnly: cache.keepOnly,
    /** Leaves the cache like an event loop that ends. */
    end: () => {
      joined.leave()
      calls.end(new Error('the loop has ended'))
      port1.close()
    },
  }
}

/** Waits for a key in the list. @param one undefined for any key */
const untilHas = (keys: readonly string[], one?: string) =>
  until(
    `${one ?? 'a key'} in the list`,
    () => keys,
    seen => (one === undefined ? seen.length > 0 : seen.includes(one)),
  )

test('Q10 D10 what one loop has computed, all read, in the same memory', async () => {
  const server = createCacheServer(100)
  const [one, other] = [join(server), join(server)]
  const { promise: making, resolve: finish } = Promise.withResolvers<void>()
  const first = one.get('v', 'a', 10, making)
  await untilHas(one.made, 'a')
  const second = other.get('v', 'a', 10)
  finish()
  const [a, b] = await Promise.all([first, second])
  assert.deepEqual([one.made, other.made], [['a'], []])
  a[0] = 7
  assert.equal(b[0], 7)
})

test('Q10 D10 the size of the cache is the size for all loops, and the least recently used goes first on all', async () => {
  const server = createCacheServer(100)
  const [one, other] = [join(server), join(server)]
  await one.get('v', 'a', 40)
  await other.get('v', 'a', 40)
  await one.get('v', 'b', 40)
  await other.get('v', 'c', 40)
  for (const { gone } of [one, other]) await untilHas(gone, 'v a')
  await one.get('v', 'a', 40)
  assert.deepEqual([one.made, other.made], [['a', 'b', 'a'], ['c']])
})

test('Q10 D10 what one loop reads again and again stays, although another computes more', async () => {
  const server = createCacheServer(100)
  const [one, other] = [join(server), join(server)]
  await one.get('v', 'a', 40)
  await other.get('v', 'b', 40)
  await one.get('v', 'a', 40)
  await untilHas(one.reported, 'v a')
  await other.get('v', 'c', 40)
  await untilHas(one.gone)
  assert.deepEqual(one.gone, ['v b'])
})

test('D10 when the loop that computes a value fails or ends, another one computes it', async () => {
  const server = createCacheServer(100)
  const [one, other, third] = [join(server), join(server), join(server)]
  const { promise: making, reject: fail } = Promise.withResolvers<void>()
  const first = one.get('v', 'a', 10, making)
  await untilHas(one.made, 'a')
  const second = other.get('v', 'a', 10, new Promise(() => {}))
  fail(new Error('no disk'))
  await assert.rejects(first, /no disk/)
  await untilHas(other.made, 'a')
  const last = third.get('v', 'a', 10)
  second.catch(() => {})
  other.end()
  assert.equal((await last)[0], 'a'.charCodeAt(0))
  assert.deepEqual(third.made, ['a'])
})

test('D2 D10 the values of a replaced version are removed from all loops', async () => {
  const server = createCacheServer(100)
  const [one, other] = [join(server), join(server)]
  await one.get('old', 'a', 10)
  await other.get('old', 'a', 10)
  await other.get('new', 'b', 10)
  one.keepOnly(new Set(['new']))
  await untilHas(other.gone, 'old a')
  assert.equal((await other.get('old', 'a', 10))[0], 'a'.charCodeAt(0))
  assert.deepEqual(other.made, ['b', 'a'])
})
