import type { QueueMeasures } from './tally.ts'

/** The client for whom work is done. */
export interface Client {
  /** The client's network. Clients of the same network share its turns. */
  readonly network: string
  /**
   * True for a client that takes precedence. While others wait too, such clients get three turns of four and
   * three quarters of the places.
   */
  readonly first?: boolean
  /** @returns a signal that aborts when the client disconnects, so that work for it stops (Q10) */
  signal(): AbortSignal
}

/** A client for work that no client asked for. */
export const nobody: Client = { network: '', signal: () => new AbortController().signal }

/**
 * Thrown if too much work is requested, at the same time or by one request. The message tells the
 * client what is too much.
 */
export class Overloaded extends Error {}

export interface FairQueue {
  /**
   * Waits for the turn of the client's network.
   * @returns a function that ends the turn
   * @throws Overloaded if too much work is waiting, or the reason of the signal if the client has disconnected
   */
  enter(client: Client): Promise<() => void>
  /** Runs the work when its turn comes. Work that waits for a client that disconnects is never begun. */
  run<T>(client: Client, work: () => Promise<T>): Promise<T>
  /** Measures running and waiting work from now on. Call it before any work. */
  measure(measures: QueueMeasures): void
}

/** @returns a queue that is entered by this function */
export function queueWith(enter: FairQueue['enter']): FairQueue {
  let way = enter
  return {
    enter: client => way(client),
    run: async (client, work) => {
      const leave = await way(client)
      try {
        return await work()
      } finally {
        leave()
      }
    },
    measure: measures => {
      way = measured(enter, measures)
    },
  }
}

/** Returns a function that enters in the same way and measures waiting and running work. */
const measured =
  (enter: FairQueue['enter'], { running, waiting, waited, refused }: QueueMeasures): FairQueue['enter'] =>
  async client => {
    const begin = performance.now()
    waiting.change(1)
    try {
      const leave = await enter(client)
      waited.observe((performance.now() - begin) / 1000)
      running.change(1)
      return () => {
        running.change(-1)
        leave()
      }
    } catch (error) {
      if (error instanceof Overloaded) refused.add()
      throw error
    } finally {
      waiting.change(-1)
    }
  }

interface Limits {
  /** Maximum amount of work that runs at a time. */
  readonly max: number
  /**
   * Maximum amount of it that runs for one network. By default, one network leaves room for another, unless `max` is 1.
   */
  readonly maxOfOne?: number
  /** Maximum amount of work that may wait. */
  readonly maxWaiting?: number
  /** Maximum waiting time in ms. */
  readonly maxWait?: number
}

interface Waiting {
  begin(): void
  giveUp(reason: unknown): void
}

/** Waiting work by network, in the order of the networks' turns. */
interface Rank {
  readonly lines: Map<string, Waiting[]>
  waiting: number
}

/**
 * Creates a queue that limits the amount of work that runs at a time. Networks take turns, so that a network
 * that asks for much work delays only itself. When the queue is full, the last entry of the longest line
 * gives way to a newcomer whose line is shorter.
 */
export function createFairQueue({
  max,
  maxOfOne = Math.max(1, max - 1),
  maxWaiting = Number.POSITIVE_INFINITY,
  maxWait,
}: Limits): FairQueue {
  const first: Rank = { lines: new Map(), waiting: 0 }
  const rest: Rank = { lines: new Map(), waiting: 0 }
  const partOfRest = Math.floor(maxWaiting / (maxFirstInRow + 1))
  let firstInRow = 0
  let running = 0
  const runningOf = new Map<string, number>()

  const hasRoom = (network: string) => running < max && (runningOf.get(network) ?? 0) < maxOfOne

  function count(network: string, change: 1 | -1): void {
    running += change
    const own = (runningOf.get(network) ?? 0) + change
    if (own === 0) runningOf.delete(network)
    else runningOf.set(network, own)
  }

  function beginNext(): void {
    for (const rank of firstInRow < maxFirstInRow ? [first, rest] : [rest, first])
      for (const [network, line] of rank.lines) {
        if (!hasRoom(network)) continue
        firstInRow = rank === first ? firstInRow + 1 : 0
        // The network moves to the end of the order.
        rank.lines.delete(network)
        rank.lines.set(network, line)
        // The work is counted here, so that newer work can't take its place.
        count(network, 1)
        line[0]?.begin()
        return
      }
  }

  function makeRoom(rank: Rank, network: string): void {
    const waiting = first.waiting + rest.waiting
    if (waiting < maxWaiting) return
    const busy = new Overloaded(`${waiting} requests are waiting already. Retry in a moment.`)
    const fuller = rest.waiting + (rank === rest ? 1 : 0) > partOfRest ? rest : first
    const longest = longestOf(fuller)
    const own = rank === fuller ? (rank.lines.get(network)?.length ?? 0) + 1 : 0
    if (longest.length <= own) throw busy
    longest.at(-1)?.giveUp(busy)
  }

  function wait(rank: Rank, network: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    makeRoom(rank, network)
    return waitInLine(rank, network, signal, maxWait)
  }

  return queueWith(async client => {
    const { network } = client
    if (hasRoom(network)) count(network, 1)
    else await wait(client.first ? first : rest, network, client.signal())
    return () => {
      count(network, -1)
      beginNext()
    }
  })
}

/** Puts work at the end of its network's line. @returns a promise that settles when the work leaves the line */
function waitInLine(
  rank: Rank,
  network: string,
  signal: AbortSignal,
  maxWait: number | undefined,
): Promise<void> {
  const line = rank.lines.get(network) ?? []
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', leave)
      line.splice(line.indexOf(one), 1)
      if (line.length === 0) rank.lines.delete(network)
      rank.waiting--
    }
    const one: Waiting = {
      begin: () => {
        stop()
        resolve()
      },
      giveUp: reason => {
        stop()
        reject(reason)
      },
    }
    const leave = () => one.giveUp(signal.reason)
    const tooLate = () => one.giveUp(new Overloaded('It was not begun in time. Retry in a moment.'))
    const timer = maxWait === undefined ? undefined : setTimeout(tooLate, maxWait)
    signal.addEventListener('abort', leave)
    line.push(one)
    rank.lines.set(network, line)
    rank.waiting++
  })
}

/** Maximum number of consecutive turns for clients that take precedence while others wait, too. */
const maxFirstInRow = 3

/** Returns the longest line. Among equally long ones, it is the line that has waited least for its turn. */
function longestOf({ lines }: Rank): readonly Waiting[] {
  let longest: readonly Waiting[] = []
  for (const line of lines.values()) if (line.length >= longest.length) longest = line
  return longest
}
