import { setTimeout as delay } from 'node:timers/promises'
import { type MessagePort, parentPort } from 'node:worker_threads'
import type { FastifyInstance } from 'fastify'
import { buildApp } from '../app.ts'
import type { Config } from '../config/config.ts'
import type { Store } from '../features.ts'
import { createCounter } from '../lib/counter.ts'
import { collectGarbageAfterStart } from '../lib/memory.ts'
import type { Rows } from '../lib/tally.ts'
import { answerOver, callsOver, handlerIn } from '../lib/threads/calls.ts'
import { type QueueHandlers, remoteQueue } from '../lib/threads/queue.ts'
import { type Limits, phaseIn } from '../model/limits.ts'
import { joinShared, type Loop, partFor, type SharedHandlers } from '../storage/runtime/event-loops.ts'
import { codeOf, drain, graceToClose } from './listen.ts'
import { openStore } from './store.ts'

/**
 * One of several event loops that answer requests, each in a thread of its own (docs/decisions/0018). What
 * they share is in the main thread, and in memory that it hands out.
 */

/** Numbers in memory that all loops share; most of them one for each loop. */
export interface SharedNumbers {
  readonly transfers: Int32Array<SharedArrayBuffer>
  readonly largePieces: Int32Array<SharedArrayBuffer>
  readonly listings: Int32Array<SharedArrayBuffer>
  readonly requests: Int32Array<SharedArrayBuffer>
  readonly phase: Int32Array<SharedArrayBuffer>
  readonly running: Int32Array<SharedArrayBuffer>
  /** Loops that have ended and were replaced. */
  readonly replaced: Int32Array<SharedArrayBuffer>
  /** Counts of the loops, for monitoring. */
  readonly rows: Omit<Rows, 'own'>
  /** Size of the cache: bytes and entries. */
  readonly usage: Float64Array<SharedArrayBuffer>
  readonly newestServer: BigInt64Array<SharedArrayBuffer>
}

export interface Start {
  readonly loop: Loop
  readonly config: Config
  readonly numbers: SharedNumbers
  /** Maximum number of connections of the service. */
  readonly connections: number
}

/** Handlers of the main thread, which a loop calls. */
interface MainHandlers extends SharedHandlers, QueueHandlers {}

let app: FastifyInstance | undefined
let storage: Store | undefined
let drop: (key: string) => void = () => {}

const handlers = {
  /** @returns the code of the error, if the address can't be listened on */
  async listen({ loop, config, numbers, connections }: Start, port: MessagePort): Promise<unknown> {
    const main = callsOver<MainHandlers>(port)
    const { cacheSize } = config
    const { usage, newestServer } = numbers
    const listings = createCounter(numbers.listings, loop.at)
    const shared = joinShared(main, { cacheSize, loop, listings, usage, newestServer })
    drop = shared.drop
    storage = await openStore(config, { create: false }, shared)
    const limits: Limits = {
      passwords: remoteQueue(main, 'passwords'),
      directory: remoteQueue(main, 'directory'),
      transfers: createCounter(numbers.transfers, loop.at),
      largePieces: createCounter(numbers.largePieces, loop.at),
      connections: partFor(loop, connections),
      requests: createCounter(numbers.requests, loop.at),
      phase: phaseIn(numbers.phase).get,
      loops: () => ({
        running: Atomics.load(numbers.running, 0),
        wanted: loop.of,
        replaced: Atomics.load(numbers.replaced, 0),
      }),
      rows: { ...numbers.rows, own: loop.at },
    }
    app = await buildApp(config, storage, undefined, limits, shared.threads)
    try {
      // The framework passes on `reusePort`, which its types don't know.
      const address = { host: config.host, port: config.port, reusePort: true }
      await app.listen(address)
      collectGarbageAfterStart()
      return undefined
    } catch (error) {
      const code = codeOf(error)
      if (code === undefined) throw error
      return code
    }
  },

  drop: (key: string): void => drop(key),

  /** @param grace time in ms for requests under way */
  async close(grace: number): Promise<void> {
    if (app) await drain(app, grace)
    // A store that doesn't answer may take longer, and has nothing to lose.
    await Promise.race([storage?.close(), delay(graceToClose)])
  },
}

export type WorkerHandlers = typeof handlers

if (!parentPort) throw new Error('this file must run as a worker thread')
answerOver(parentPort, handlerIn(handlers))
