import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { OperatorError, StoreUnavailable } from '../../lib/errors.ts'
import { createFairQueue, nobody, Overloaded } from '../../lib/fair-queue.ts'
import { RecentlyUsed } from '../../lib/memo.ts'
import { isMissing, systemReason } from '../../lib/system-errors.ts'
import type { Keyring } from '../../model/keys.ts'
import type { FieldPlace } from '../field-place.ts'
import type { FieldCopies, LackedFile } from '../runtime/event-loops.ts'
import { Damaged, pack, unpack } from './packed-files.ts'

/** The files of fields that nodes share, on the event loop that looks after the store. */
export interface OwnCopies extends FieldCopies {
  /** Removes the files of a version, which no node shows any more, in the background. */
  erase(version: string): void
  /** Removes the files of all versions but these, an hour after they were put, in the background. */
  sweep(versions: ReadonlySet<string>): void
  close(): Promise<void>
}

interface CopyParts {
  /** Folder of this node with the files of all versions. */
  readonly folder: string
  readonly place: () => Promise<FieldPlace>
  readonly keyring: Keyring
  /** Tells the operator what keeps nodes from sharing files. */
  readonly tell: (problem: string) => void
}

/** Time in ms after a failure during which the place is not asked again: what can be derived doesn't wait for it. */
const pause = 60_000
/** Time in ms within which the first bytes of a file, and all of it, must arrive; otherwise the place has failed. */
const beginsWithin = 5_000
const endsWithin = 60_000
/** Maximum number of files that are brought at the same time. */
const atOnce = 4
/** Time in ms for which a file that is not there is not asked for again. */
const absentFor = 5_000
/** Maximum length of the queue of files to send; the oldest are dropped. */
const maxWaiting = 200
/** Interval in ms between two sweeps of a node, which cost requests. */
const sweepInterval = 10 * 60_000
/** Age in ms of abandoned files. */
const abandonedAfter = 3_600_000
/** Time in ms that closing waits for a file being sent. */
const endOfSending = 2_000
/** Interval in ms at which the flags of clients are looked at. */
const look = 100

/**
 * Brings files of fields from the place that nodes share, and puts them there (docs/decisions/0091). Nothing relies on
 * it: whatever fails, a file is derived.
 */
export function createFieldCopies(parts: CopyParts): OwnCopies {
  const closing = new AbortController()
  const { fetch, fetched } = createFetches(parts, closing.signal)
  const sends = createSends(parts, closing.signal)
  let sweptAt = Number.NEGATIVE_INFINITY
  const remove = (isWanted: (modified: number, version: string) => boolean, version?: string) =>
    sends.afterwards(async () => {
      const place = await parts.place()
      for await (const page of place.list(version)) {
        const wanted = page.filter(({ name, modified }) => isWanted(modified, name.replace(/\/.*/, '')))
        await place.remove(wanted.map(({ name }) => name))
      }
    })
  return {
    fetch,
    send: sends.send,
    erase: version => {
      sends.forget(version)
      remove(() => true, version)
    },
    sweep: versions => {
      if (performance.now() - sweptAt < sweepInterval) return
      sweptAt = performance.now()
      const before = Date.now() - abandonedAfter
      remove((modified, version) => modified < before && !versions.has(version))
    },
    close: async () => {
      closing.abort()
      await Promise.race([sends.sent(), delay(endOfSending, undefined, { ref: false })])
      await fetched()
    },
  }
}

/** Stops asking the place for a while after a failure, and tells the operator once per outage. */
function createGate(tell: CopyParts['tell'], closing: AbortSignal) {
  let closedUntil = 0
  let hasTold = false
  const isOpen = () => performance.now() >= closedUntil && !closing.aborted
  function failed(error: unknown): void {
    if (closing.aborted || error instanceof Overloaded) return
    const isDamaged = error instanceof Damaged
    if (isDamaged || !hasTold) tell(isDamaged ? error.message : reasonOf(error))
    if (isDamaged) return
    hasTold = true
    closedUntil = performance.now() + pause
  }
  return {
    isOpen,
    /** @returns undefined if the gate is closed, or the work has failed */
    pass: async <T>(work: () => Promise<T>): Promise<T | undefined> => {
      if (!isOpen()) return undefined
      try {
        const done = await work()
        hasTold = false
        return done
      } catch (error) {
        failed(error)
        return undefined
      }
    },
  }
}

const noAnswer = new StoreUnavailable('the place of files does not answer in time')

const reasonOf = (error: unknown): string => {
  if (error instanceof OperatorError) return error.message
  if ((error as Error).name === 'TimeoutError') return noAnswer.message
  return systemReason(error) ?? String(error)
}

interface Fetching {
  readonly stops: Int32Array[]
  /** undefined if it was cancelled. */
  readonly isBrought: Promise<boolean | undefined>
}

function createFetches({ folder, place, keyring, tell }: CopyParts, closing: AbortSignal) {
  const gate = createGate(tell, closing)
  const fetching = new Map<string, Fetching>()
  const absent = new RecentlyUsed<string, { readonly until: number }>(1_000)
  const turns = createFairQueue({ max: atOnce, maxOfOne: atOnce, maxWait: endsWithin })

  /** @returns false if the file is not there */
  async function bring(key: string, most: number, signal: AbortSignal): Promise<boolean> {
    // Another event loop has had it brought.
    if (existsSync(join(folder, key))) return true
    const slow = new AbortController()
    const late = setTimeout(() => slow.abort(noAnswer), beginsWithin).unref()
    const given = AbortSignal.any([signal, slow.signal, AbortSignal.timeout(endsWithin)])
    const take = async (pieces: AsyncIterable<Uint8Array>) => {
      const arriving = heeding(given, pieces, () => clearTimeout(late))
      await unpack(arriving, { key, path: join(folder, key), most, keyring })
    }
    try {
      return await unless(
        given,
        place().then(opened => opened.get(key, take)),
      )
    } finally {
      clearTimeout(late)
    }
  }

  function begin(key: string, most: number): Fetching {
    const stops: Int32Array[] = []
    const cancelling = new AbortController()
    const watching = setInterval(() => {
      if (stops.every(isSet)) cancelling.abort()
    }, look).unref()
    const signal = AbortSignal.any([cancelling.signal, closing])
    const work = async () => {
      const leave = await turns.enter({ ...nobody, signal: () => signal })
      try {
        return await bring(key, most, signal)
      } catch (error) {
        if (cancelling.signal.aborted) return undefined
        if (error instanceof Damaged) absent.add(key, { until: performance.now() + pause })
        throw error
      } finally {
        leave()
      }
    }
    const passed = gate
      .pass(async () => ({ found: await work() }))
      .finally(() => {
        clearInterval(watching)
        fetching.delete(key)
      })
    const isBrought = passed.then(done => {
      if (done?.found === false) absent.add(key, { until: performance.now() + absentFor })
      return done ? done.found : cancelling.signal.aborted ? undefined : false
    })
    const begun = { stops, isBrought }
    fetching.set(key, begun)
    return begun
  }

  return {
    fetch: async ({ version, name, most }: LackedFile, stop: Int32Array): Promise<boolean> => {
      const key = `${version}/${name}`
      for (;;) {
        if (!gate.isOpen() || performance.now() < (absent.get(key)?.until ?? 0)) return false
        const running = fetching.get(key) ?? begin(key, most)
        running.stops.push(stop)
        const isBrought = await running.isBrought
        // A client that has disconnected cancels no file that another one waits for.
        if (isBrought !== undefined || isSet(stop)) return isBrought ?? false
      }
    },
    fetched: () => Promise.all([...fetching.values()].map(({ isBrought }) => isBrought)),
  }
}

const isSet = (stop: Int32Array): boolean => Atomics.load(stop, 0) !== 0

interface Sending {
  readonly version: string
  readonly name: string
  readonly folder: string
}

function createSends({ place, keyring, tell }: CopyParts, closing: AbortSignal) {
  const gate = createGate(tell, closing)
  let waiting: Sending[] = []
  let last: Promise<unknown> = Promise.resolve()

  async function sendNext(): Promise<void> {
    const next = waiting.shift()
    if (!next) return
    const key = `${next.version}/${next.name}`
    await gate.pass(async () => {
      try {
        await (await place()).put(key, await pack(key, join(next.folder, next.name), keyring, closing))
      } catch (error) {
        // The version was replaced before its turn came.
        if (!isMissing(error)) throw error
      }
    })
  }

  return {
    /** Does other work when everything before it is sent, unless the place can't be used. */
    afterwards: (work: () => Promise<void>): void => {
      last = last.then(() => gate.pass(work))
    },
    send: async (version: string, names: readonly string[], folder: string, patience: number) => {
      if (!gate.isOpen()) return
      for (const name of names) {
        waiting.push({ version, name, folder })
        last = last.then(sendNext)
      }
      waiting = waiting.slice(-maxWaiting)
      const enough = delay(patience, undefined, { ref: false, signal: closing })
      await Promise.race([last, enough]).catch(() => {})
    },
    forget: (version: string): void => {
      waiting = waiting.filter(one => one.version !== version)
    },
    sent: () => last,
  }
}

/** @throws the reason of the signal as soon as it aborts */
async function unless<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const end = () => reject(signal.reason)
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', end)
  }
}

/** Passes pieces on until the signal aborts, whatever their source does then. @param begun called with the first */
async function* heeding(signal: AbortSignal, source: AsyncIterable<Uint8Array>, begun: () => void) {
  const pieces = source[Symbol.asyncIterator]()
  try {
    for (;;) {
      const { done, value } = await unless(signal, pieces.next())
      begun()
      if (done) return
      yield value
    }
  } finally {
    Promise.resolve(pieces.return?.()).catch(() => {})
  }
}
