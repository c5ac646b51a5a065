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
} from './changed-entities.ts'

/** Finds replaced versions, and their changes (docs/decisions/0082). */
interface Held {
  /** The version of the line from which a state can be read; undefined if none is held. */
  readonly version: (state: EntityState) => Awaitable<RecordEntity | undefined>
  /** Its changes up to one, oldest first. */
  readonly changes: (version: RecordEntity, seq: number) => Awaitable<readonly ChangeRow[]>
}

/** Maximum number of states at hand, and of the bytes of their changes. */
const maxStates = 32
const maxBytes = 64 * 1024 * 1024
/** Estimated size in bytes of what is made of a change besides its text. */
const changeBytes = 500

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
    sizeOf: (_, { state }) => {
      const changes = changesOf(state)?.changes ?? []
      return changes.reduce((sum, { json }) => sum + 2 * (json?.length ?? 0) + changeBytes, 0)
    },
  })

  /** @param changes makes those of the version up to the state's */
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
      // A number that is not there is that of another store, or of changes that are held no longer.
      if (!isBase && all.at(-1)?.seq !== seq) return undefined
      const state = withChanges(base, all)
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
      if (state.seq >= lineOf(base.source).folded) {
        const all = changesOf(now)?.changes ?? []
        const end = all.findLastIndex(({ seq }) => seq === state.seq)
        return derived(now, base, state, () => all.slice(0, end + 1))
      }
    }
    const version = await held.version(state)
    if (!version) return undefined
    return derived(now, version, state, async () =>
      (await held.changes(version, state.seq)).map(row => loaded(row)),
    )
  }
}
