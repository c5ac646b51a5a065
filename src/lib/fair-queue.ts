import type { QueueMeasures } from './tally.ts'

/** For whom work is done. */
export interface Client {
  /** Clients of the same network share its turns. */
  readonly network: string
  /** @returns a signal that aborts when the client disconnects, so that work for it stops (Q10) */
  signal(): AbortSignal
}

/** Too much is asked for: at a time, or by one request. The message says what, to the client. */
export class Overloaded extends Error {}

export interface FairQueue {
  /**
   * Waits until it is the turn of the client's network.
   * @returns what ends the turn
   * @throws Overloaded if too much is waiting; the reason of the signal if the client has disconnected
   */
  enter(client: Client): Promise<() => void>
  /** Runs the work in its turn. What waits for a client that disconnects is never begun. */
  run<T>(client: Client, work: () => Promise<T>): Promise<T>
  /** Counts from now on what runs and waits. Call it before any work. */
  measure(measures: QueueMeasures): void
}

interface Limits {
  /** How much work runs at a time. */
  readonly max: number
  /** How much of it may be for one network. Without it, one network leaves room for another, unless that is all. */
  readonly maxOfOne?: number
  /** How much may wait. One network may have half of it. */
  readonly maxWaiting: number
  /** For how long it may wait, in ms. */
  readonly maxWait: number
}

/** Limits how much work runs at a time. Networks take turns, so that one that asks for much waits for itself. */
export function createFairQueue({
  max,
  maxOfOne = Math.max(1, max - 1),
  maxWaiting,
  maxWait,
}: Limits): FairQueue {
  const maxWaitingOfOne = Math.ceil(maxWaiting / 2)
  let running = 0
  let waiting = 0
  let measures: QueueMeasures | undefined
  const runningOf = new Map<string, number>()
  /** What waits, by network, in the order of their turns. */
  const lines = new Map<string, (() => void)[]>()

  const hasRoom = (network: string) => running < max && (runningOf.get(network) ?? 0) < maxOfOne

  function count(network: string, change: 1 | -1): void {
    running += change
    measures?.running.change(change)
    const own = (runningOf.get(network) ?? 0) + change
    if (own === 0) runningOf.delete(network)
    else runningOf.set(network, own)
  }

  function countWaiting(change: 1 | -1): void {
    waiting += change
    measures?.waiting.change(change)
  }

  function refusal(message: string): Overloaded {
    measures?.refused.add()
    return new Overloaded(message)
  }

  function beginNext(): void {
    for (const [network, line] of lines) {
      if (!hasRoom(network)) continue
      lines.delete(network)
      const begin = line.shift()
      if (line.length > 0) lines.set(network, line)
      countWaiting(-1)
      // Counted here, so that newer work can't take its place.
      count(network, 1)
      begin?.()
      return
    }
  }

  function wait(network: string, signal: AbortSignal): Promise<void> {
    const line = lines.get(network) ?? []
    if (waiting >= maxWaiting || line.length >= maxWaitingOfOne)
      throw refusal(`${waiting} requests are waiting already. Retry in a moment.`)
    signal.throwIfAborted()
    const since = performance.now()
    return new Promise((resolve, reject) => {
      const begin = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', leave)
        measures?.waited.observe((performance.now() - since) / 1000)
        resolve()
      }
      const giveUp = (reason: unknown) => {
        clearTimeout(timer)
        signal.removeEventListener('abort', leave)
        line.splice(line.indexOf(begin), 1)
        if (line.length === 0) lines.delete(network)
        countWaiting(-1)
        reject(reason)
      }
      const leave = () => giveUp(signal.reason)
      const timer = setTimeout(() => giveUp(refusal('It was not begun in time. Retry in a moment.')), maxWait)
      signal.addEventListener('abort', leave)
      line.push(begin)
      lines.set(network, line)
      countWaiting(1)
    })
  }

  async function enter(client: Client): Promise<() => void> {
    const { network } = client
    if (hasRoom(network)) {
      count(network, 1)
      measures?.waited.observe(0)
    } else await wait(network, client.signal())
    return () => {
      count(network, -1)
      beginNext()
    }
  }

  return {
    enter,
    run: async (client, work) => {
      const leave = await enter(client)
      try {
        return await work()
      } finally {
        leave()
      }
    },
    measure: given => {
      measures = given
    },
  }
}
