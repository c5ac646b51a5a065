/** A mix of requests that arrive at nodes, which share a database. */
export interface Scenario {
  readonly mix: readonly Kind[]
  readonly nodes: number
  /** Processors of a node and of the database. */
  readonly nodeCores: number
  readonly databaseCores: number
}

export interface Kind {
  /** Number of requests in a second. */
  readonly perSecond: number
  /** Mean processor time in ms. */
  readonly nodeMs: number
  readonly databaseMs: number
  /** Time in ms that a request waits for the network. */
  readonly waits: number
}

export interface Outcome {
  /** The share of their time in which processors are busy; more than 1 if the work can't be done. */
  readonly nodesBusy: number
  readonly databaseBusy: number
  /** Time in ms in which half of all requests, and 99 in 100, are answered; undefined if queues grow without end. */
  readonly p50: number | undefined
  readonly p99: number | undefined
}

const simulated = 200_000
/** Requests at the start that are not counted, because all queues are empty then. */
const warmUp = 20_000

/**
 * Simulates requests one by one: they arrive at random (a Poisson process), at a node chosen at random, take half of its
 * work there, go to the database, and take the other half. Work takes an exponential time around its mean; where all
 * processors are busy, it waits in line.
 */
export function simulate({ mix, nodes, nodeCores, databaseCores }: Scenario): Outcome {
  const rate = mix.reduce((sum, { perSecond }) => sum + perSecond, 0) / 1_000
  const load = (of: 'nodeMs' | 'databaseMs') =>
    mix.reduce((sum, one) => sum + (one.perSecond / 1_000) * one[of], 0)
  const nodesBusy = load('nodeMs') / (nodes * nodeCores)
  const databaseBusy = load('databaseMs') / databaseCores
  if (nodesBusy >= 1 || databaseBusy >= 1) return { nodesBusy, databaseBusy, p50: undefined, p99: undefined }

  const random = createRandom(42)
  const around = (mean: number) => -Math.log(1 - random()) * mean
  const stations = Array.from({ length: nodes }, () => createStation(nodeCores))
  const database = createStation(databaseCores)
  const steps = createSteps()
  const took: number[] = []
  let arrived = 0

  function pick(): Kind | undefined {
    let at = random() * rate * 1_000
    return mix.find(({ perSecond }) => {
      at -= perSecond
      return at <= 0
    })
  }
  function arrive(now: number): void {
    const number = arrived++
    if (arrived < simulated) steps.add(now + around(1 / rate), arrive)
    const kind = pick()
    const station = stations[Math.floor(random() * nodes)]
    if (!kind || !station) return
    const half = () => around(kind.nodeMs / 2)
    steps.add(station(now, half()), asked =>
      steps.add(database(asked + kind.waits / 2, around(kind.databaseMs)), answered =>
        steps.add(station(answered + kind.waits / 2, half()), done => {
          if (number >= warmUp) took.push(done - now)
        }),
      ),
    )
  }

  steps.add(0, arrive)
  steps.run()
  const sorted = Float64Array.from(took).sort()
  const quantile = (share: number) => sorted[Math.floor(sorted.length * share)]
  return { nodesBusy, databaseBusy, p50: quantile(0.5), p99: quantile(0.99) }
}

/** Returns a function that gives work to the processor that is free first, and returns the time at which it is done. */
function createStation(cores: number): (now: number, work: number) => number {
  const free = new Float64Array(cores)
  return (now, work) => {
    let first = 0
    for (let at = 1; at < cores; at++) if ((free[at] ?? 0) < (free[first] ?? 0)) first = at
    const done = Math.max(now, free[first] ?? 0) + work
    free[first] = done
    return done
  }
}

/** Steps in the order of their times, as a binary heap. */
function createSteps() {
  const heap: { readonly time: number; readonly act: (now: number) => void }[] = []
  const timeAt = (at: number) => heap[at]?.time ?? Number.POSITIVE_INFINITY
  function swap(one: number, other: number): void {
    const [first, second] = [heap[one], heap[other]]
    if (!first || !second) return
    heap[one] = second
    heap[other] = first
  }
  return {
    add: (time: number, act: (now: number) => void) => {
      let at = heap.push({ time, act }) - 1
      for (let above = (at - 1) >> 1; at > 0 && timeAt(above) > time; above = (at - 1) >> 1) {
        swap(at, above)
        at = above
      }
    },
    run: () => {
      for (let next = heap[0]; next; next = heap[0]) {
        swap(0, heap.length - 1)
        heap.pop()
        for (let at = 0; ; ) {
          const [left, right] = [2 * at + 1, 2 * at + 2]
          const least = timeAt(right) < timeAt(left) ? right : left
          if (timeAt(least) >= timeAt(at)) break
          swap(at, least)
          at = least
        }
        next.act(next.time)
      }
    },
  }
}

/** Returns the same sequence of numbers between 0 and 1 each time (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
