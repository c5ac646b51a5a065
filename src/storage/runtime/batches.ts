import { StoreUnavailable } from '../../lib/errors.ts'

/** The result of a call whose lane another process holds. It is made again, with all that wait for this lane. */
export const held = Symbol('held')

/** How long after a lane was found held it is tried again, in ms, if no batch may wait for it. */
const retryAfter = 50

interface Waiting<C> {
  readonly call: C
  /** Time of the call, in ms. */
  readonly since: number
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
  /** Maximum number of batches that wait for what another process holds, each for one lane. They are not among `atOnce`. */
  readonly waitAtOnce?: number
  /** How long after a call its lane may still be found held, in ms: then the store doesn't answer. */
  readonly patience?: number
}

/** @param waits false: what another process holds is answered with `held` */
type Answer<C> = (calls: readonly C[], waits: boolean) => Promise<readonly unknown[]>

/** @returns those whose lanes are held */
async function settle<C>(
  batch: readonly Waiting<C>[],
  answer: Answer<C>,
  waits: boolean,
): Promise<readonly Waiting<C>[]> {
  try {
    const results = await answer(
      batch.map(({ call }) => call),
      waits,
    )
    return batch.filter(({ resolve, reject }, at) => {
      const result = results[at]
      if (result instanceof Error) reject(result)
      else if (result !== held) resolve(result as never)
      return result === held
    })
  } catch (error) {
    for (const { reject } of batch) reject(error)
    return []
  }
}

/**
 * Answers calls in batches: those that arrive while others of their lane are answered share the next one. A call that
 * another process holds up keeps those of other lanes from nothing.
 * @param answer gives a result for each call; an error rejects that one
 */
export function inBatches<C>(answer: Answer<C>, options: Batching<C> = {}) {
  const { most = Number.POSITIVE_INFINITY, laneOf = () => '', atOnce = 1, waitAtOnce = 0 } = options
  const { patience = Number.POSITIVE_INFINITY } = options
  /** By lane; those that have waited longest are first. */
  const waiting = new Map<string, Waiting<C>[]>()
  /** The lanes of batches under way. */
  const busy = new Set<string>()
  /** The lanes that another process holds: they are in no batch with others. */
  const heldLanes = new Set<string>()
  const running = new Set<Promise<void>>()
  /** The batches that wait, among those that are running. */
  let waits = 0
  let retry: Promise<void> | undefined
  let isBeginning = false
  let isClosed = false

  const isFree = (lane: string) => !busy.has(lane) && !heldLanes.has(lane)

  function start(work: Promise<void>): void {
    const done = work.finally(() => {
      running.delete(done)
      startNext()
    })
    running.add(done)
  }

  function startNext(): void {
    if (isBeginning || running.size - waits >= atOnce || ![...waiting.keys()].some(isFree)) return
    isBeginning = true
    start(run())
  }

  async function run(): Promise<void> {
    // Waits for one turn of the event loop, so that requests that arrived together share a batch.
    await new Promise(resolve => setImmediate(resolve))
    isBeginning = false
    for (let batch = taken(isFree); batch.length > 0; batch = taken(isFree)) await answered(batch, false)
  }

  async function answered(batch: readonly Waiting<C>[], mayWait: boolean): Promise<void> {
    const lanes = new Set(batch.map(({ call }) => laneOf(call)))
    for (const lane of lanes) busy.add(lane)
    // Calls that had no room in this batch may begin another one.
    startNext()
    const left = await settle(batch, answer, mayWait)
    if (mayWait) waits--
    for (const lane of lanes) {
      busy.delete(lane)
      if (mayWait) heldLanes.delete(lane)
    }
    for (const [lane, calls] of Map.groupBy(left, ({ call }) => laneOf(call))) {
      heldLanes.add(lane)
      putBack(lane, [...calls, ...(waiting.get(lane) ?? [])])
    }
    if (heldLanes.size > 0) waitForHeld()
  }

  function waitForHeld(): void {
    const lane = waits < waitAtOnce ? [...heldLanes].find(one => !busy.has(one)) : undefined
    if (lane === undefined) retry ??= retryHeld()
    else {
      waits++
      const batch = taken(one => one === lane)
      start(answered(batch, true))
      waitForHeld()
    }
  }

  async function retryHeld(): Promise<void> {
    await new Promise(resolve => setTimeout(resolve, retryAfter))
    retry = undefined
    for (const lane of heldLanes) {
      if (busy.has(lane)) continue
      heldLanes.delete(lane)
      const [inTime = [], late = []] = [false, true].map(isLate =>
        (waiting.get(lane) ?? []).filter(({ since }) => Date.now() - since > patience === isLate),
      )
      putBack(lane, inTime)
      for (const { reject } of late) reject(new StoreUnavailable(`${lane} is being changed`))
    }
    startNext()
  }

  function putBack(lane: string, queue: Waiting<C>[]): void {
    waiting.delete(lane)
    if (queue.length > 0) waiting.set(lane, queue)
  }

  function taken(of: (lane: string) => boolean): readonly Waiting<C>[] {
    const batch: Waiting<C>[] = []
    for (const [lane, queue] of [...waiting]) {
      if (batch.length >= most) break
      if (!of(lane)) continue
      batch.push(...queue.splice(0, most - batch.length))
      putBack(lane, queue)
    }
    return batch
  }

  return {
    send: <T>(call: C): Promise<T> =>
      new Promise((resolve, reject) => {
        if (isClosed) throw new StoreUnavailable('the store is closed')
        const lane = laneOf(call)
        const one = { call, since: Date.now(), resolve: resolve as (result: never) => void, reject }
        const queue = waiting.get(lane)
        if (queue) queue.push(one)
        else waiting.set(lane, [one])
        startNext()
      }),
    /** Answers the calls that have arrived, and refuses others. */
    close: async () => {
      isClosed = true
      while (running.size > 0 || retry) await Promise.all([...running, retry])
    },
  }
}
