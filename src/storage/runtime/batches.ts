import { StoreUnavailable } from '../../lib/errors.ts'

interface Waiting<C> {
  readonly call: C
  readonly resolve: (result: never) => void
  readonly reject: (error: unknown) => void
}

interface Batching<C> {
  /** Maximum number of calls in a batch. */
  readonly most?: number
  /** Calls of different lanes share no batch, and don't wait for each other. */
  readonly laneOf?: (call: C) => string
  /** Maximum number of batches at a time, each of another lane. Those that have waited longest come first. */
  readonly atOnce?: () => number
}

type Answer<C> = (calls: readonly C[]) => Promise<readonly unknown[]>

async function settle<C>(batch: readonly Waiting<C>[], answer: Answer<C>): Promise<void> {
  try {
    const results = await answer(batch.map(({ call }) => call))
    for (const [at, { resolve, reject }] of batch.entries()) {
      const result = results[at]
      if (result instanceof Error) reject(result)
      else resolve(result as never)
    }
  } catch (error) {
    for (const { reject } of batch) reject(error)
  }
}

/**
 * Answers calls in batches: those that arrive while others of their lane are answered share the next one.
 * @param answer gives a result for each call; an error rejects that one
 */
export function inBatches<C>(
  answer: Answer<C>,
  { most = Number.POSITIVE_INFINITY, laneOf = () => '', atOnce = () => 1 }: Batching<C> = {},
) {
  /** By lane. */
  const waiting = new Map<string, Waiting<C>[]>()
  const running = new Map<string, Promise<void>>()
  let isClosed = false

  function startNext(): void {
    for (const lane of waiting.keys()) {
      if (running.size >= atOnce()) return
      if (!running.has(lane)) running.set(lane, run(lane))
    }
  }

  async function run(lane: string): Promise<void> {
    // Waits for one turn of the event loop, so that requests that arrived together share a batch.
    await new Promise(resolve => setImmediate(resolve))
    await answerNext(lane)
    while (waiting.has(lane) && [...waiting.keys()].every(one => running.has(one))) await answerNext(lane)
    running.delete(lane)
    startNext()
  }

  async function answerNext(lane: string): Promise<void> {
    const queue = waiting.get(lane) ?? []
    const batch = queue.slice(0, most)
    waiting.delete(lane)
    if (queue.length > most) waiting.set(lane, queue.slice(most))
    await settle(batch, answer)
  }

  return {
    send: <T>(call: C): Promise<T> =>
      new Promise((resolve, reject) => {
        if (isClosed) throw new StoreUnavailable('the store is closed')
        const lane = laneOf(call)
        const one = { call, resolve: resolve as (result: never) => void, reject }
        const queue = waiting.get(lane)
        if (queue) queue.push(one)
        else waiting.set(lane, [one])
        startNext()
      }),
    /** Answers the calls that have arrived, and refuses others. */
    close: async () => {
      isClosed = true
      while (running.size > 0) await Promise.all(running.values())
    },
  }
}
