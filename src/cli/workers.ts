import { setTimeout as delay } from 'node:timers/promises'
import { MessageChannel, Worker } from 'node:worker_threads'
import type { Config } from '../config/config.ts'
import { shareLog } from '../http/log.ts'
import { createCounter } from '../lib/counter.ts'
import { StoreUnavailable } from '../lib/errors.ts'
import { programFile } from '../lib/own-files.ts'
import { isOutOfDescriptors } from '../lib/system-errors.ts'
import { createRows } from '../lib/tally.ts'
import { answerOver, callsOver, handlerIn } from '../lib/threads/calls.ts'
import { shareQueues } from '../lib/threads/queue.ts'
import { loaderOf } from '../lib/threads/thread.ts'
import { connectionsFor, createLoginQueues, type LoginQueues } from '../model/limits.ts'
import type { OwnShared } from '../storage/runtime/event-loops.ts'
import { graceToClose, listenFailure } from './listen.ts'
import { announce } from './output.ts'
import type { Stoppable } from './stop.ts'
import type { SharedNumbers, Start, WorkerHandlers } from './worker.ts'

/** Number of ended workers within `endsWithin` ms that ends the service. */
const maxEnds = 3
const endsWithin = 60_000
/** Time in ms before a worker is started again that found no store, or no descriptor. */
const untilStartedAgain = 1_000
/**
 * Memory for young objects in MB. Most of a request's objects are garbage once it is answered; more would
 * cost 4 MB in each idle worker.
 */
const maxYoungGenerationSizeMb = 4

export interface Workers {
  /** Returns the number of workers that listen, and the number there should be. */
  loops(): { readonly running: number; readonly wanted: number }
  readonly underWay: Stoppable['underWay']
  /** Answers the requests that have begun, then ends the threads. */
  close(): Promise<void>
}

/** Starts a thread that loads the service, and waits to be told what to listen on. */
export function spawnWorker(): Worker {
  shareLog()
  const worker = new Worker(loaderOf(programFile('cli/worker')), {
    eval: true,
    stdout: false,
    stderr: false,
    resourceLimits: { maxYoungGenerationSizeMb },
  })
  // The worker must not keep a process alive that fails before it has work.
  worker.unref()
  return worker
}

interface Parts {
  /** Workers that were started already. */
  readonly spawned: Worker[]
  readonly config: Config
  readonly shared: OwnShared
  /** Memory for the phase of the service. */
  readonly phase: SharedNumbers['phase']
  /** Called when workers keep ending. */
  readonly fail: () => void
}

/**
 * Starts the event loops that answer requests, and replaces one that ends.
 * @returns when the first one listens
 * @throws Failure if it can't
 */
export async function startWorkers({ spawned, config, shared, phase, fail }: Parts): Promise<Workers> {
  const count = config.workers
  const numbers: SharedNumbers = {
    transfers: sharedNumbers(count),
    largePieces: sharedNumbers(count),
    listings: sharedNumbers(count),
    requests: sharedNumbers(count),
    phase,
    running: sharedNumbers(1),
    replaced: sharedNumbers(1),
    rows: createRows(count),
    usage: shared.usage,
    newestServer: shared.newestServer,
  }
  const queues = createLoginQueues(config)
  const connections = connectionsFor(count)
  const running: RunningWorker[] = []
  let ends: number[] = []
  let isClosing = false

  function start(at: number): RunningWorker {
    const worker = spawned.pop() ?? spawnWorker()
    const one = startWorker(worker, { config, connections, loop: { at, of: count }, numbers, shared, queues })
    running[at] = one
    return one
  }

  /** Replaces the worker when it has ended. */
  function watch(at: number, { ended }: RunningWorker): void {
    void ended.then(async reason => {
      if (isClosing) return
      // The worker found no store, or no descriptor is left, which is no fault of its own: the others wait, too.
      if (reason instanceof StoreUnavailable || isOutOfDescriptors(reason)) {
        announceEnd(reason)
        await delay(untilStartedAgain, undefined, { ref: false })
        if (!isClosing) watch(at, start(at))
        return
      }
      const now = Date.now()
      ends = [...ends.filter(end => now - end < endsWithin), now]
      announceEnd(reason)
      if (ends.length < maxEnds) {
        Atomics.add(numbers.replaced, 0, 1)
        return watch(at, start(at))
      }
      announce('error', `${maxEnds} workers have ended within a minute. The service ends.`, {
        msg: `${maxEnds} workers have ended within a minute; the service ends`,
      })
      fail()
    })
  }

  const first = start(0)
  try {
    await first.listening
  } catch (error) {
    isClosing = true
    await first.worker.terminate()
    throw error
  }
  // The first worker answers already. If all had loaded side by side, the first answer would have taken
  // longer.
  for (let at = 0; at < count; at++) watch(at, at === 0 ? first : start(at))
  return {
    loops: () => ({ running: Atomics.load(numbers.running, 0), wanted: count }),
    underWay: createCounter(numbers.requests).count,
    close: async () => {
      isClosing = true
      await Promise.all(running.map(one => one.close()))
    },
  }
}

interface RunningWorker {
  readonly worker: Worker
  /** Rejects if it can't listen. Then it ends. */
  readonly listening: Promise<void>
  /** Resolves with the reason when it has ended and its turns and counts are given back. */
  readonly ended: Promise<Error | undefined>
  /** Lets it answer the requests that have begun, and ends it. */
  close(): Promise<void>
}

interface WorkerParts extends Start {
  readonly shared: OwnShared
  readonly queues: LoginQueues
}

/** Tells a worker what to listen on, and answers its calls. */
function startWorker(worker: Worker, { shared, queues, ...start }: WorkerParts): RunningWorker {
  const { config, loop, numbers } = start
  const calls = callsOver<WorkerHandlers>(worker)
  const { port1, port2 } = new MessageChannel()
  const joined = shared.join(key => void calls.call('drop', key).catch(() => {}))
  const queue = shareQueues({ ...queues })
  answerOver(port1, handlerIn({ ...joined.handlers, ...queue.handlers }))

  let reason: Error | undefined
  let isListening = false
  worker.on('error', (error: unknown) => {
    reason = error instanceof Error ? error : new Error(String(error))
  })
  // `once` of node:events would reject for the error that comes before the exit.
  const exited = new Promise<unknown>(resolve => worker.once('exit', resolve))
  const ended = exited.then(() => {
    calls.end(reason ?? new Error('a worker has ended'))
    joined.leave()
    queue.leave()
    port1.close()
    if (isListening) Atomics.sub(numbers.running, 0, 1)
    for (const rows of [numbers.transfers, numbers.largePieces, numbers.listings, numbers.requests])
      Atomics.store(rows, loop.at, 0)
    numbers.rows.gauges[loop.at]?.fill(0)
    return reason
  })
  const listening = calls.call('listen', start, port2).then(code => {
    if (code !== undefined)
      throw listenFailure(Object.assign(new Error(String(code)), { code }), config.host, config.port)
    isListening = true
    Atomics.add(numbers.running, 0, 1)
  })
  listening.catch(error => {
    reason ??= error
    return worker.terminate()
  })
  return {
    worker,
    listening,
    ended,
    close: async () => {
      const { grace } = config.stop
      const closed = calls.call('close', grace).catch(() => {})
      // A worker whose event loop is blocked doesn't notice that its time is over.
      const given = new AbortController()
      await Promise.race([closed, delay(grace + graceToClose, undefined, { signal: given.signal })])
      given.abort()
      await worker.terminate()
      await ended
    },
  }
}

const sharedNumbers = (count: number) =>
  new Int32Array(new SharedArrayBuffer(count * Int32Array.BYTES_PER_ELEMENT))

function announceEnd(error: Error | undefined): void {
  const reason = error?.message ?? 'it ended without an error'
  announce('error', `A worker has ended and is replaced: ${reason}`, {
    msg: 'a worker has ended and is replaced',
    reason: error?.stack ?? reason,
  })
}
