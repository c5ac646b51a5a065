import { StoreUnavailable } from '../../lib/errors.ts'

interface Waiting<C> {
  readonly call: C
  readonly resolve: (result: never) => void
  readonly reject: (error: unknown) => void
}

interface Batching<C> {
  /** Maximum number of calls in a batch. */
  readonly most?: number
  /** Calls wait for no batch that has none of their lane. */
  readonly laneOf?: (call: C) => string
  /** Maximum number of batches at a time, each of other lanes. */
  readonly atOnce?: number
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
  { most = Number.POSITIVE_INFINITY, laneOf = () => '', atOnce = 1 }: Batching<C> = {},
) {
  /** By lane; those that have waited longest are first. */
  const waiting = new Map<string, Waiting<C>[]>()
  /** The lanes of batches under way. */
  const busy = new Set<string>()
  const running = new Set<Promise<void>>()
  let isBeginning = false
  let isClosed = false

  function startNext(): void {
    if (isBeginning || running.size >= atOnce || [...waiting.keys()].every(lane => busy.has(lane))) return
    isBeginning = true
    const work = run().finally(() => {
      running.delete(work)
      startNext()
    })
    running.add(work)
  }

  async function run(): Promise<void> {
    // Waits for one turn of the event loop, so that requests that arrived together share a batch.
    await new Promise(resolve => setImmediate(resolve))
    isBeginning = false
    for (let batch = taken(); batch.length > 0; batch = taken()) {
      const lanes = batch.map(({ call }) => laneOf(call))
      for (const lane of lanes) busy.add(lane)
      // Calls that had no room in this batch may begin another one.
      startNext()
      await settle(batch, answer)
      for (const lane of lanes) busy.delete(lane)
    }
  }

  function taken(): readonly Waiting<C>[] {
    const batch: Waiting<C>[] = []
    for (const [lane, queue] of [...waiting]) {
      if (batch.length >= most) break
      if (busy.has(lane)) continue
      batch.push(...queue.splice(0, most - batch.length))
      waiting.delete(lane)
      if (queue.length > 0) waiting.set(lane, queue)
    }
    return batch
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
      while (running.size > 0) await Promise.all(running)
    },
  }
}
