import type { Awaitable } from '../../lib/awaitable.ts'
import { type Client, createFairQueue, Overloaded } from '../../lib/fair-queue.ts'
import { type Members, parseWritten } from '../../lib/json.ts'
import { keyValues, type RecordChange } from '../../model/record-changes.ts'
import type { EntityState } from '../../model/snapshots.ts'
import { findPlace } from '../columns/look-up.ts'
import type { Entities, RecordEntity } from '../entities.ts'
import { type ChangeBatch, type FollowedChange, type FollowedRow, StateGone } from '../single-records.ts'
import { baseEntity, changesOf, lineOf, stateOf } from './pending-changes.ts'
import { type Difference, differenceOf } from './version-difference.ts'

/** Maximum number of changes in a batch, and of bytes of their records before the last one. */
const maxBatch = 200
const batchBytes = 128 * 1024
/** Maximum size in bytes of the differences that an event loop holds at a time. */
const maxHeld = 64 * 1024 * 1024
/** Number of differences that are kept for the next client. */
const maxKept = 8

interface Parts extends Pick<Entities, 'at' | 'openVersion' | 'sharedSlots'> {
  /** Finds the version from which an earlier state can be read. */
  heldState(state: EntityState): Awaitable<RecordEntity | undefined>
  /** Lists changes of a held version from a number on, in their order. */
  heldFrom(version: RecordEntity, seq: number, limit: number): Awaitable<readonly FollowedRow[]>
}

/** Tells what has changed in imported entities since a state (docs/decisions/0084). */
export function createChangesSince(parts: Parts): Entities['changesSince'] {
  const differences = createDifferences(parts)

  /**
   * Tells the changes of a line of versions that are held, up to a number.
   * @returns the state after the last one
   */
  async function* held(since: EntityState, end: number): AsyncGenerator<ChangeBatch, EntityState> {
    let state = since
    while (state.seq < end) {
      const version = await parts.heldState(state)
      if (!version) throw new StateGone()
      const found = await parts.heldFrom(version, state.seq, maxBatch)
      const isThere = state.seq === lineOf(version.source).folded || found[0]?.seq === state.seq
      if (!isThere) throw new StateGone()
      const some = upTo(
        found.filter(({ seq }) => seq > state.seq),
        end,
      )
      const last = some.at(-1)
      if (!last) break
      state = { ...state, seq: last.seq }
      yield { changes: some.map(followed), state }
    }
    return state
  }

  async function* written(entity: RecordEntity, since: EntityState): AsyncGenerator<ChangeBatch> {
    const { seq: end } = stateOf(entity)
    const recent = changesOf(entity)?.changes ?? []
    // Changes that a fold has taken are only in the store.
    const { folded } = lineOf(baseEntity(entity).source)
    let state = since.seq < folded ? yield* held(since, folded) : since
    // A number that is not there is that of another store, or of changes that are held no longer.
    if (state.seq !== folded && recentAfter(recent, state.seq - 1)[0]?.seq !== state.seq)
      throw new StateGone()
    while (state.seq < end) {
      const some = upTo(recentAfter(recent, state.seq).map(asRow), end)
      state = { ...state, seq: some.at(-1)?.seq ?? end }
      yield { changes: some.map(followed), state }
    }
  }

  return async function* (entity, since, client) {
    if (since === undefined) return yield { changes: [], state: stateOf(entity) }
    if (stateOf(entity).root === since.root) return yield* written(entity, since)
    // All clients that come from this line of versions need the same difference then, however many writes there were.
    const state = yield* held(since, Number.MAX_SAFE_INTEGER)
    const before = await parts.at(entity, state)
    if (!before) throw new StateGone()
    yield* written(entity, yield* differences(before, entity, client))
  }
}

/** Returns the first changes with greater numbers. */
function recentAfter(changes: readonly RecordChange[], seq: number): readonly RecordChange[] {
  const { at } = findPlace(changes.length, n => ((changes[n]?.seq ?? 0) <= seq ? -1 : 1))
  return changes.slice(at, at + maxBatch)
}

/** Returns the first rows, as many as make a batch, none with a number beyond the end. */
function upTo(rows: readonly FollowedRow[], end: number): readonly FollowedRow[] {
  let bytes = 0
  return rows.filter(({ seq, json }, at) => {
    const isIn = seq <= end && (at === 0 || bytes < batchBytes)
    bytes += json?.length ?? 0
    return isIn
  })
}

const asRow = ({ seq, values, json, added }: RecordChange): FollowedRow => ({
  seq,
  json,
  added,
  key_values: JSON.stringify(values),
})

const followed = ({ seq, key_values, json, added }: FollowedRow): FollowedChange => ({
  seq,
  key: key_values,
  json,
  kind: json === null ? 'deleted' : added > 0 ? 'added' : 'changed',
})

interface Held {
  readonly difference: Difference | undefined
  /** The version whose slots it names. */
  readonly after: RecordEntity
  readers: number
}

/** Reads differences of versions. Those who need the same one share it. */
function createDifferences(parts: Pick<Parts, 'at' | 'openVersion' | 'sharedSlots'>) {
  const held = new Map<string, Held>()
  // One is made at a time; the networks of clients take turns.
  const turns = createFairQueue({ max: 1 })

  function makeRoom(bytes: number): void {
    let [size, unused] = [bytes, 0]
    for (const { difference, readers } of held.values()) {
      size += difference?.byteLength ?? 0
      if (readers === 0) unused++
    }
    for (const [key, { difference, readers }] of held) {
      if (readers > 0 || (unused < maxKept && size <= maxHeld)) continue
      held.delete(key)
      unused--
      size -= difference?.byteLength ?? 0
    }
    if (size > maxHeld)
      throw new Overloaded('Too many differences of versions are being read. Retry in a moment.')
  }

  /** Finds a difference to any state of the line that the entity is in: single records follow it. */
  async function known(key: string, entity: RecordEntity): Promise<Held | undefined> {
    const found = held.get(key)
    const now = found && (await parts.at(entity, stateOf(found.after)))
    return now?.source.version === found?.after.source.version ? found : undefined
  }

  async function make(before: RecordEntity, after: RecordEntity, client: Client): Promise<Held> {
    const key = JSON.stringify([stateOf(before), stateOf(after).root])
    const leave = await turns.enter(client)
    try {
      let one = await known(key, after)
      if (!one) {
        const difference = await differenceOf(before, after, parts, client.signal())
        makeRoom(difference?.byteLength ?? 0)
        one = { difference, after, readers: 0 }
        held.set(key, one)
      }
      one.readers++
      return one
    } finally {
      leave()
    }
  }

  /** @returns the state that the difference leads to */
  return async function* (
    before: RecordEntity,
    entity: RecordEntity,
    client: Client,
  ): AsyncGenerator<ChangeBatch, EntityState> {
    const one = await make(before, entity, client)
    const { difference, after } = one
    try {
      if (!difference) throw new StateGone()
      if (difference.length === 0) yield { changes: [], state: stateOf(after) }
      else yield* read(before, after, difference, parts)
      return stateOf(after)
    } finally {
      one.readers--
    }
  }
}

/** Reads the records of a difference. */
async function* read(
  before: RecordEntity,
  after: RecordEntity,
  difference: Difference,
  { openVersion }: Pick<Parts, 'openVersion'>,
): AsyncGenerator<ChangeBatch> {
  const step = (of: RecordEntity) => Math.floor(batchBytes / Math.max(of.source.largest, 1))
  const length = 2 * Math.max(1, Math.min(maxBatch, step(before), step(after)))
  for (let from = 0; from < difference.length; from += length) {
    const some = difference.subarray(from, from + length)
    const slots = (side: 0 | 1, isWanted: (at: number) => boolean) =>
      some.filter((slot, at) => at % 2 === side && slot > 0 && isWanted(at)).map(slot => slot - 1)
    // Of records that are there afterwards, the ones before aren't needed.
    const olds = await recordsIn(
      before,
      slots(0, at => some[at + 1] === 0),
      openVersion,
    )
    const news = await recordsIn(
      after,
      slots(1, () => true),
      openVersion,
    )
    const changes: FollowedChange[] = []
    let [i, j] = [0, 0]
    for (let at = 0; at < some.length; at += 2) {
      const isThere = some[at + 1] !== 0
      const json = (isThere ? news[j++] : olds[i++]) as string
      const key = JSON.stringify(keyValues(after, parseWritten(json) as Members))
      if (isThere) changes.push({ kind: some[at] === 0 ? 'added' : 'changed', key, json })
      else changes.push({ kind: 'deleted', key, json: null })
    }
    yield from + length < difference.length ? { changes } : { changes, state: stateOf(after) }
  }
}

async function recordsIn(
  entity: RecordEntity,
  slots: Uint32Array,
  openVersion: Entities['openVersion'],
): Promise<readonly string[]> {
  if (slots.length === 0) return []
  const version = await openVersion(entity)
  try {
    return await version.read(slots)
  } finally {
    await version.close()
  }
}
