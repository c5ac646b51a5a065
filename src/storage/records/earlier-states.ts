import type { Awaitable } from '../../lib/awaitable.ts'
import { RecentlyUsed } from '../../lib/memo.ts'
import { declaredOf, withDeclared } from '../../model/declared.ts'
import type { EntityState } from '../../model/snapshots.ts'
import type { RecordEntity } from '../entities.ts'
import {
  baseEntity,
  type ChangeRow,
  changesOf,
  type LoadedChange,
  lineOf,
  loaded,
  stateOf,
  withChanges,
} from './pending-changes.ts'

/** Finds replaced versions, and their changes (docs/decisions/0082). */
interface Held {
  /** The version of the line from which a state can be read; undefined if none is held. */
  readonly version: (state: EntityState) => Awaitable<RecordEntity | undefined>
  /** Its changes, oldest first. */
  readonly changes: (version: RecordEntity) => Awaitable<readonly ChangeRow[]>
}

/** Maximum number of states at hand, and of the bytes of their changes. Those of one version share them. */
const maxStates = 32
const maxBytes = 32 * 1024 * 1024
/** Estimated size in bytes of what is made of a change besides its text. */
const changeBytes = 500

const sizeOf = (changes: readonly LoadedChange[]): number =>
  changes.reduce((sum, { json }) => sum + 2 * (json?.length ?? 0) + changeBytes, 0)

interface Known {
  readonly state: RecordEntity
  /** The entity whose declarations it was given last. */
  of: RecordEntity
  shown: RecordEntity
}

/**
 * Returns a function that finds an entity in an earlier state of its records. What is declared of it, such as who may
 * read it, stays as it is now.
 * @param keep told of the versions that are read
 */
export function createEarlierStates(held: Held, keep: (version: string) => void) {
  const known = new RecentlyUsed<string, Known>(maxStates, undefined, {
    maxBytes,
    sizeOf: (_, { state }) => sizeOf(changesOf(state)?.changes ?? []),
  })
  const lists = new RecentlyUsed<string, readonly LoadedChange[]>(maxStates, undefined, {
    maxBytes,
    sizeOf: (_, changes) => sizeOf(changes),
  })
  let loading: Promise<unknown> = Promise.resolve()

  /** The changes of a held version as far as they are at hand; undefined if those up to the number aren't. */
  function atHand({ source }: RecordEntity, seq: number): readonly LoadedChange[] | undefined {
    const all = lists.get(source.version)
    return all && (all.at(-1)?.seq ?? 0) >= seq ? all : undefined
  }

  /** Loads the changes of a held version, those of one after those of another: together, they could fill the memory. */
  function loadedIn(version: RecordEntity, seq: number): Promise<readonly LoadedChange[]> {
    const load = async () => {
      const known = atHand(version, seq)
      if (known) return known
      const all = (await held.changes(version)).map(row => loaded(row))
      // A fold may have added some since the last time.
      lists.delete(version.source.version)
      lists.add(version.source.version, all)
      return all
    }
    const next = loading.then(load)
    loading = next.catch(() => {})
    return next
  }

  /** @param changes lists those of the version, those after the state's included */
  async function derived(
    now: RecordEntity,
    base: RecordEntity,
    { seq }: EntityState,
    changes: () => Awaitable<readonly LoadedChange[]>,
  ): Promise<RecordEntity | undefined> {
    const name = `${base.source.version} ${seq}`
    let found = known.get(name)
    if (!found) {
      const isBase = seq === lineOf(base.source).folded
      const all = isBase ? [] : await changes()
      const last = all.findLastIndex(change => change.seq === seq)
      // A number that is not there is that of another store, or of changes that are held no longer.
      if (!isBase && last < 0) return undefined
      const state = withChanges(base, all.slice(0, last + 1))
      found = { state, of: now, shown: withDeclared(state, declaredOf(now)) }
      if (known.get(name) === undefined) known.add(name, found)
    }
    if (found.of !== now) {
      found.of = now
      found.shown = withDeclared(found.state, declaredOf(now))
    }
    keep(base.source.version)
    keep(found.state.source.version)
    return found.shown
  }

  /** @returns undefined if the state can't be read any more */
  return async (now: RecordEntity, state: EntityState): Promise<RecordEntity | undefined> => {
    const current = stateOf(now)
    const base = baseEntity(now)
    if (current.root === state.root) {
      if (current.seq === state.seq) return now
      if (state.seq >= lineOf(base.source).folded)
        return derived(now, base, state, () => changesOf(now)?.changes ?? [])
    }
    const version = await held.version(state)
    if (!version) return undefined
    return derived(now, version, state, () => atHand(version, state.seq) ?? loadedIn(version, state.seq))
  }
}
