import { StoreUnavailable } from '../../lib/errors.ts'

interface Waiting<C> {
  readonly call: C
  readonly resolve: (result: never) => void
  readonly reject: (error: unknown) => void
}

/**
 * Answers calls in batches: those that arrive while others are answered share the next one.
 * @param answer gives a result for each call; an error rejects that one
 * @param most maximum number of calls in a batch
 */
export function inBatches<C>(
  answer: (calls: readonly C[]) => Promise<readonly unknown[]>,
  most = Number.POSITIVE_INFINITY,
) {
  let queue: Waiting<C>[] = []
  let running: Promise<void> | undefined
  let isClosed = false

  async function run(): Promise<void> {
    // Waits for one turn of the event loop, so that requests that arrived together share a batch.
    await new Promise(resolve => setImmediate(resolve))
    while (queue.length > 0) {
      const batch = queue.slice(0, most)
      queue = queue.slice(most)
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
    running = undefined
  }

  return {
    send: <T>(call: C): Promise<T> =>
      new Promise((resolve, reject) => {
        if (isClosed) throw new StoreUnavailable('the store is closed')
        queue.push({ call, resolve: resolve as (result: never) => void, reject })
        running ??= run()
      }),
    /** Answers the calls that have arrived, and refuses others. */
    close: async () => {
      isClosed = true
      await running
    },
  }
}
