import { StoreUnavailable } from '../../lib/errors.ts'

/** Pause in ms before a held lane is tried again if no batch waits for it. */
const retryAfter = 50

interface Waiting<C> {
  readonly call: C
  /** Time in ms at which its lane was first found held. */
  heldSince?: number
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
  /** Maximum number of batches that wait for what another change holds, each for one lane. They are not among `atOnce`. */
  readonly waitAtOnce?: number
  /** True for the result of a call whose lane another change holds: it is made again. */
  readonly isHeld?: (result: unknown) => boolean
  /** Maximum time in ms that a call is kept from its lane; then it is refused with `StoreUnavailable`. */
  readonly patience?: number
}

/** @param waits false: what another change holds is left undone, and told */
type Answer<C> = (calls: readonly C[], waits: boolean) => Promise<readonly unknown[]>

/** @returns those whose lanes are held */
async function settle<C>(
  batch: readonly Waiting<C>[],
  answer: () => ReturnType<Answer<C>>,
  isHeld: (result: unknown) => boolean,
): Promise<readonly Waiting<C>[]> {
  try {
    const results = await answer()
    return batch.filter(({ resolve, reject }, at) => {
      const result = results[at]
      if (result instanceof Error) reject(result)
      else if (!isHeld(result)) resolve(result as never)
      return isHeld(result)
    })
  } catch (error) {
    for (const { reject } of batch) reject(error)
    return []
  }
}

/** Calls that wait, by lane; those that have waited longest are first. */
function createLanes<C>({ laneOf = () => '', most = Number.POSITIVE_INFINITY }: Batching<C>) {
  const lanes = new Map<string, Waiting<C>[]>()
  /** The lanes of batches under way. */
  const busy = new Set<string>()
  /** The lanes that another change holds: they are in no batch with others. */
  const held = new Set<string>()
  const isFree = (lane: string) => !busy.has(lane) && !held.has(lane)
  const heldOnly = () => [...held].filter(lane => !busy.has(lane))

  function set(lane: string, calls: Waiting<C>[]): void {
    lanes.delete(lane)
    if (calls.length > 0) lanes.set(lane, calls)
  }

  function take(of: (lane: string) => boolean): readonly Waiting<C>[] {
    const batch: Waiting<C>[] = []
    for (const [lane, calls] of [...lanes]) {
      if (batch.length >= most) break
      if (!of(lane)) continue
      batch.push(...calls.splice(0, most - batch.length))
      set(lane, calls)
      busy.add(lane)
    }
    return batch
  }

  return {
    add: (one: Waiting<C>): void => {
      const calls = lanes.get(laneOf(one.call))
      if (calls) calls.push(one)
      else lanes.set(laneOf(one.call), [one])
    },
    hasFree: () => [...lanes.keys()].some(isFree),
    /** Number of lanes that are held. */
    held: () => held.size,
    takeFree: () => take(isFree),
    /** Takes calls of a lane that is held, and that no batch waits for. */
    takeHeld: () => {
      const [lane] = heldOnly()
      return take(one => one === lane)
    },
    /** Ends a batch. @param left those whose lanes turned out to be held: they are the first of theirs again */
    end: (batch: readonly Waiting<C>[], left: readonly Waiting<C>[]): void => {
      for (const { call } of batch) {
        busy.delete(laneOf(call))
        held.delete(laneOf(call))
      }
      for (const [lane, calls] of Map.groupBy(left, ({ call }) => laneOf(call))) {
        held.add(lane)
        for (const one of calls) one.heldSince ??= Date.now()
        set(lane, [...calls, ...(lanes.get(lane) ?? [])])
      }
    },
    /** Frees the lanes that no batch waits for, and refuses calls that have been kept from theirs for longer, in ms. */
    tryAgain: (patience: number): void => {
      const now = Date.now()
      for (const lane of heldOnly()) {
        held.delete(lane)
        const { late = [], inTime = [] } = Object.groupBy(lanes.get(lane) ?? [], ({ heldSince = now }) =>
          now - heldSince > patience ? 'late' : 'inTime',
        )
        set(lane, inTime)
        for (const { reject } of late) reject(new StoreUnavailable(`${lane} is being changed`))
      }
    },
  }
}

/**
 * Answers calls in batches: those that arrive while others of their lane are answered share the next one. A call that
 * another change holds up keeps those of other lanes from nothing.
 * @param answer gives a result for each call; an error rejects that one
 */
export function inBatches<C>(answer: Answer<C>, options: Batching<C> = {}) {
  const { atOnce = 1, waitAtOnce = 0, isHeld = () => false, patience = Number.POSITIVE_INFINITY } = options
  const lanes = createLanes(options)
  const running = new Set<Promise<void>>()
  /** The batches that wait, and those that don't. */
  let [waits, runs] = [0, 0]
  let retry: Promise<void> | undefined
  let isBeginning = false
  let isClosed = false

  function start(work: Promise<void>): void {
    const done = work.finally(() => {
      running.delete(done)
      startNext()
    })
    running.add(done)
  }

  function startNext(): void {
    if (isBeginning || runs >= atOnce || !lanes.hasFree()) return
    isBeginning = true
    runs++
    start(run().finally(() => runs--))
  }

  async function run(): Promise<void> {
    // Waits for one turn of the event loop, so that requests that arrived together share a batch.
    await new Promise(resolve => setImmediate(resolve))
    isBeginning = false
    for (let batch = lanes.takeFree(); batch.length > 0; batch = lanes.takeFree()) await answered(batch)
  }

  async function answered(batch: readonly Waiting<C>[], mayWait = false): Promise<void> {
    // Calls that had no room in this batch may begin another one.
    startNext()
    const calls = batch.map(({ call }) => call)
    const left = await settle(batch, () => answer(calls, mayWait), isHeld)
    if (mayWait) waits--
    lanes.end(batch, left)
    while (waits < Math.min(waitAtOnce, lanes.held())) {
      waits++
      start(answered(lanes.takeHeld(), true))
    }
    if (lanes.held() > waits) retry ??= tryAgain()
  }

  async function tryAgain(): Promise<void> {
    await new Promise(resolve => setTimeout(resolve, retryAfter))
    retry = undefined
    lanes.tryAgain(patience)
    startNext()
  }

  return {
    send: <T>(call: C): Promise<T> =>
      new Promise((resolve, reject) => {
        if (isClosed) throw new StoreUnavailable('the store is closed')
        lanes.add({ call, resolve: resolve as (result: never) => void, reject })
        startNext()
      }),
    /** Answers the calls that have arrived, and refuses others. */
    close: async () => {
      isClosed = true
      while (running.size > 0 || retry) await Promise.all([...running, retry])
    },
  }
}
