import {
  type Checkpoint,
  checkpointName,
  detailOf,
  type EventRow,
  eventHash,
  nothingBefore,
  type SignedHead,
  type TrailKey,
} from '../../model/trail.ts'
import type { Rows, StoredEvent, TrailReader } from '../trail.ts'

/** Something that is not as it was written. */
interface Fault {
  /** The id of the event; null: it is about a checkpoint. */
  readonly event: number | null
  readonly time: string | null
  readonly problem: string
}

export interface Verdict {
  /** The first faults, up to the limit. */
  readonly faults: readonly Fault[]
  readonly events: number
  readonly checkpoints: number
  /** Time when the trail began, and number of events that it took in then. */
  readonly begun: { readonly time: string; readonly events: number } | null
  /** Number of events that were pruned, and the time before which they were recorded. */
  readonly pruned: { readonly events: number; readonly before: string } | null
  /** The name and time of the last checkpoint. */
  readonly last: { readonly name: string; readonly time: string } | null
}

interface Options {
  /** Maximum number of faults to name. */
  readonly maxFaults: number
  /** The name of a checkpoint that was kept elsewhere; null: none. */
  readonly kept: string | null
}

/** Number of events between two reports of progress. */
const progressStep = 10_000

/** Ends the verification. */
class Enough extends Error {}

/**
 * Verifies the audit trail (D9, docs/decisions/0027). Keeps only the heads of the last pruning in memory.
 * @param progress receives the share that is done, 0 to 1
 */
export async function verifyTrail(
  trail: TrailReader,
  { maxFaults, kept }: Options,
  progress: (share: number) => void,
): Promise<Verdict> {
  const count = await trail.count(null)
  const faults: Fault[] = []
  const blame = (event: number | null, time: string | null, problem: string): void => {
    faults.push({ event, time, problem })
    if (faults.length >= maxFaults) throw new Enough()
  }
  const verdict = { events: 0, checkpoints: 0 }
  let summary: Summary = { begun: null, marker: undefined, last: undefined, isKept: kept === null }
  try {
    if (trail.locked > 0) blame(null, null, lockedKeys(trail.locked))
    const marker = await newestMarker(trail)
    for await (const checkpoint of readCheckpoints(trail, marker, blame)) {
      verdict.checkpoints++
      summary = add(summary, checkpoint, kept)
    }
    if (!summary.isKept) blame(null, null, `the checkpoint ${kept} is not in the trail`)
    if (!summary.last) blame(null, null, 'there is no checkpoint, not even the first')
    for await (const _ of readEvents(trail, marker, blame))
      if (++verdict.events % progressStep === 0) progress(verdict.events / count)
  } catch (error) {
    if (!(error instanceof Enough)) throw error
  }
  const { begun, marker, last } = summary
  const pruned = marker && readDetail(marker)
  return {
    faults,
    ...verdict,
    begun: begun && { time: begun.time, events: readDetail(begun)?.events ?? 0 },
    pruned: pruned ? { events: pruned.pruned ?? 0, before: pruned.before ?? '' } : null,
    last: last ? { name: checkpointName(last), time: last.time } : null,
  }
}

const lockedKeys = (count: number) =>
  `${count === 1 ? 'a key' : `${count} keys`} of the trail can't be opened: what was written with it can't be verified. ` +
  'Add the secret that was in use then (CARREL_TOKEN_SECRET), or restore the table of keys from a backup'

interface Summary {
  readonly begun: Checkpoint | null
  readonly marker: Checkpoint | undefined
  readonly last: Checkpoint | undefined
  readonly isKept: boolean
}

const add = (summary: Summary, checkpoint: Checkpoint, kept: string | null): Summary => ({
  begun: checkpoint.kind === 'begin' ? checkpoint : summary.begun,
  marker: checkpoint.kind === 'prune' ? checkpoint : summary.marker,
  last: checkpoint,
  isKept: summary.isKept || checkpointName(checkpoint) === kept,
})

/** Finds the newest marker, which tells where each chain, and the chain of checkpoints, goes on. */
async function newestMarker(trail: TrailReader): Promise<Checkpoint | undefined> {
  let newest: Checkpoint | undefined
  for await (const checkpoint of trail.checkpoints()) if (checkpoint.kind === 'prune') newest = checkpoint
  return newest
}

/** Checks that each checkpoint is signed, and follows the one before. */
async function* readCheckpoints(
  trail: TrailReader,
  marker: Checkpoint | undefined,
  blame: Blame,
): AsyncIterable<Checkpoint> {
  const start = marker && readDetail(marker)
  let next = start?.first ?? 1
  let previous: Uint8Array = start?.firstPrevious ? Buffer.from(start.firstPrevious, 'hex') : nothingBefore
  for await (const checkpoint of trail.checkpoints()) {
    const { n, time } = checkpoint
    if (n !== next) blame(null, time, `checkpoints are missing: ${next} should come before ${n}`)
    // After a gap, the previous signature is unknown.
    else if (!trail.keys.some(key => isSame(key.sign(previous, checkpoint), checkpoint.mac)))
      blame(null, time, `the checkpoint ${n} is not as it was signed`)
    next = n + 1
    previous = checkpoint.mac
    yield checkpoint
  }
}

/** A row that was tampered with may hold anything. The check of its signature reports it. */
function readDetail(marker: Checkpoint) {
  try {
    return detailOf(marker)
  } catch {
    return undefined
  }
}

/**
 * Checks that each event is sealed, follows the one before in its chain, and is what checkpoints have signed.
 */
async function* readEvents(
  trail: TrailReader,
  marker: Checkpoint | undefined,
  blame: Blame,
): AsyncIterable<StoredEvent> {
  const starts = new Map(marker?.heads.map(head => [head.chain, head]))
  const heads = peekable(trail.heads())
  let chain: ChainCheck | undefined
  for await (const event of trail.chained()) {
    if (event.chain === null || event.place === null || event.hash === null) {
      blame(event.id, event.time, 'it is in no chain: it was inserted or changed')
    } else {
      const at = { ...event, chain: event.chain, place: event.place, hash: event.hash }
      if (chain?.number !== at.chain) {
        await finish(heads, chain, at.chain, starts, blame)
        chain = new ChainCheck(at.chain, starts.get(at.chain), trail.keys, blame)
      }
      chain.check(at)
      for (let head = await heads.peek(); head && isUpTo(head, at); head = await heads.peek()) {
        if (head.chain === at.chain && head.place === at.place && !isSame(head.hash, at.hash))
          blame(at.id, at.time, `it is not what the checkpoint ${head.checkpoint} signed`)
        await heads.next()
      }
    }
    yield event
  }
  await finish(heads, chain, Number.POSITIVE_INFINITY, starts, blame)
}

type Heads = ReturnType<typeof peekable<SignedHead & { readonly checkpoint: number }>>
type Starts = ReadonlyMap<number, SignedHead>

const isUpTo = (head: SignedHead, { chain, place }: { readonly chain: number; readonly place: number }) =>
  head.chain < chain || (head.chain === chain && head.place <= place)

/** Reports signed events that are missing at the end of chains before this one. */
async function finish(
  heads: Heads,
  last: ChainCheck | undefined,
  before: number,
  starts: Starts,
  blame: Blame,
): Promise<void> {
  /** The last head of each chain tells how far it went. */
  let furthest: (SignedHead & { readonly checkpoint: number }) | undefined
  const report = () => {
    if (!furthest) return
    const { chain, place, event, time, checkpoint } = furthest
    const end = chain === last?.number ? last.place : (starts.get(chain)?.place ?? 0)
    if (place <= end) return
    const missing = place - end === 1 ? 'it is missing' : `it and ${place - end - 1} before it are missing`
    blame(event, time, `${missing}: the checkpoint ${checkpoint} signed it`)
  }
  for (let head = await heads.peek(); head && head.chain < before; head = await heads.peek()) {
    if (furthest?.chain !== head.chain) report()
    furthest = head
    await heads.next()
  }
  report()
}

/** Rows whose next one can be looked at. */
function peekable<T>(rows: Rows<T>) {
  const iterator = (async function* () {
    yield* rows
  })()
  let peeked: IteratorResult<T> | undefined
  return {
    peek: async (): Promise<T | undefined> => {
      peeked ??= await iterator.next()
      return peeked.done ? undefined : peeked.value
    },
    next: async (): Promise<void> => {
      peeked = undefined
    },
  }
}

/** Names something that is not as it was written, by the id and time of its event. */
type Blame = (event: number | null, time: string | null, problem: string) => void

/** Progress of the check of a chain. */
class ChainCheck {
  readonly number: number
  place: number
  readonly #keys: TrailKey[]
  readonly #blame: Blame
  /**
   * Possible hashes of the event before; none: unknown. The stored one, then those that it should have had.
   */
  #before: readonly Uint8Array[]

  constructor(number: number, start: SignedHead | undefined, keys: readonly TrailKey[], blame: Blame) {
    this.number = number
    this.place = start?.place ?? 0
    this.#before = [start?.hash ?? nothingBefore].filter(isHash)
    this.#keys = [...keys]
    this.#blame = blame
  }

  check(event: EventRow & { readonly id: number; readonly hash: Uint8Array }): void {
    const { id, time, place, hash } = event
    const missing = place - this.place - 1
    if (missing < 0) {
      this.#blame(id, time, 'its place in its chain is taken: it was inserted or moved')
      return
    }
    if (missing > 0)
      this.#blame(
        id,
        time,
        missing === 1 ? 'the event before it is missing' : `${missing} events before it are missing`,
      )
    const before = missing === 0 ? this.#before : []
    const right = this.#keys.find(key => {
      const seal = key.seal(event)
      return before.some(one => isSame(eventHash(one, id, seal), hash))
    })
    if (missing === 0 && !right) this.#blame(id, time, 'it was changed, inserted or moved')
    const [newest] = this.#keys
    // The next event was most likely sealed with the same key.
    if (right && right !== newest) this.#keys.sort((a, b) => Number(b === right) - Number(a === right))
    const expected = right
      ? []
      : before.flatMap(one => this.#keys.map(key => eventHash(one, id, key.seal(event))))
    this.#before = [hash, ...expected.slice(0, maxExpected)].filter(isHash)
    this.place = place
  }
}
/** Maximum number of hashes that are tried for an event whose hash is wrong. */
const maxExpected = 8

const isHash = (bytes: Uint8Array): boolean => bytes.length === nothingBefore.length

const isSame = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0
