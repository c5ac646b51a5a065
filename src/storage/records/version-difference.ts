import { setTimeout as pause } from 'node:timers/promises'
import { type Members, parseWritten } from '../../lib/json.ts'
import { compareKeys, haveSameOrder, keyValues, sortKeys } from '../../model/record-changes.ts'
import type { Entities, OpenVersion, RecordEntity } from '../entities.ts'

/**
 * The records in which two versions of an entity differ, in the order of the key: for each the slot before and
 * the slot after, both plus one; 0: it is not there.
 */
export type Difference = Uint32Array

/** Maximum number of records of each version in memory, and their maximum bytes if each were the largest. */
const maxRead = 500
const readBytes = 1024 * 1024
/** In ms. */
const maxPause = 50

type Parts = Pick<Entities, 'openVersion' | 'sharedSlots'>

/**
 * Finds the records in which two versions differ (docs/decisions/0084). Slots that both share are compared as
 * numbers; only the others are read, in the order of the key.
 * @returns undefined if the two are in different orders, because the key or its types differ
 */
export async function differenceOf(
  before: RecordEntity,
  after: RecordEntity,
  { openVersion, sharedSlots }: Parts,
  signal: AbortSignal,
): Promise<Difference | undefined> {
  if (!haveSameOrder(before, after)) return undefined
  const old = await openVersion(before)
  try {
    const now = await openVersion(after)
    try {
      const shared = await sharedSlots(before, after)
      const [oldSlots, newSlots] = [await old.slots(), await now.slots()]
      const olds = rest(oldSlots, newSlots, shared)
      const news = rest(newSlots, oldSlots, shared)
      const compare = compareKeys(after)
      const order = (one: Read, other: Read) => compare(keyIn(before, one), keyIn(after, other))
      return await merged(cursor(before, old, olds), cursor(after, now, news), order, signal)
    } finally {
      await now.close()
    }
  } finally {
    await old.close()
  }
}

/** The slots that are not among the others, or whose records may be others there. */
function rest(slots: Uint32Array, others: Uint32Array, shared: number): Uint32Array {
  if (shared === 0) return slots
  const known = new Uint8Array((shared + 7) >>> 3)
  for (const slot of others)
    if (slot < shared) known[slot >>> 3] = (known[slot >>> 3] ?? 0) | (1 << (slot & 7))
  return slots.filter(slot => slot >= shared || ((known[slot >>> 3] ?? 0) & (1 << (slot & 7))) === 0)
}

interface Read {
  readonly slot: number
  readonly json: string
}

/** Reads the key of a record, as far as records are not equal. */
const keyIn = (entity: RecordEntity, { json }: Read) =>
  sortKeys(entity, keyValues(entity, parseWritten(json) as Members))

async function* cursor(
  entity: RecordEntity,
  version: OpenVersion,
  slots: Uint32Array,
): AsyncGenerator<readonly Read[]> {
  const step = Math.max(1, Math.min(maxRead, Math.floor(readBytes / Math.max(entity.source.largest, 1))))
  for (let from = 0; from < slots.length; from += step) {
    const some = slots.slice(from, from + step)
    const records = await version.read(some)
    yield records.map((json, at) => ({ slot: some[at] as number, json }))
  }
}

/** True if all values are the same, in whichever order they were written. */
function haveSameValues(old: Read, now: Read): boolean {
  if (old.json === now.json) return true
  const records = [old, now].map(({ json }) => parseWritten(json) as Members)
  const key = [...new Set(records.flatMap(record => Object.keys(record)))]
  const [before, after] = records.map(record => JSON.stringify(keyValues({ key }, record)))
  return before === after
}

/** Merges two lists of records that have one order. */
async function merged(
  olds: AsyncGenerator<readonly Read[]>,
  news: AsyncGenerator<readonly Read[]>,
  compare: (old: Read, now: Read) => number,
  signal: AbortSignal,
): Promise<Difference> {
  const found: number[] = []
  let resumed = performance.now()
  const next = async (from: typeof olds) => {
    // Others have the event loop for at least half of the time.
    await pause(Math.min(performance.now() - resumed, maxPause))
    resumed = performance.now()
    return (await from.next()).value as readonly Read[] | undefined
  }
  let [some, others] = [await next(olds), await next(news)]
  let [i, j] = [0, 0]
  while (some || others) {
    signal.throwIfAborted()
    const [old, now] = [some?.[i], others?.[j]]
    const order = !old ? 1 : !now ? -1 : old.json === now.json ? 0 : compare(old, now)
    if (order < 0) found.push((old?.slot ?? 0) + 1, 0)
    else if (order > 0) found.push(0, (now?.slot ?? 0) + 1)
    else if (old && now && !haveSameValues(old, now)) found.push((old?.slot ?? 0) + 1, (now?.slot ?? 0) + 1)
    if (order <= 0 && ++i === some?.length) [some, i] = [await next(olds), 0]
    if (order >= 0 && ++j === others?.length) [others, j] = [await next(news), 0]
  }
  return Uint32Array.from(found)
}
