import type { Awaitable } from '../../lib/awaitable.ts'
import type { Group } from '../../model/accounts.ts'

type Groups = readonly Group[]

/** The maximum number of sets of groups that are kept with their parents. */
const maxKept = 1_000

/**
 * Caches sets of groups with all groups that they are in, by the uuids asked for, until a group changes.
 * @param stateOf returns a number that changes when groups do
 */
export function keepParents(
  stateOf: () => Awaitable<number>,
  read: (groups: Groups) => Awaitable<Groups>,
): (groups: Groups) => Awaitable<Groups> {
  const kept = new Map<string, Groups>()
  /** The state before `kept` was read. */
  let keptState = -1

  function find(groups: Groups, state: number): Awaitable<Groups> {
    if (state !== keptState || kept.size >= maxKept) kept.clear()
    keptState = state
    const asked = groups.map(({ uuid }) => uuid).join()
    const keep = (found: Groups): Groups => {
      // The groups were read after their state, so they are at least as new.
      if (keptState === state) kept.set(asked, found)
      return found
    }
    const known = kept.get(asked)
    if (known) return known
    const found = read(groups)
    return found instanceof Promise ? found.then(keep) : keep(found)
  }

  return groups => {
    if (groups.length === 0) return groups
    const state = stateOf()
    return typeof state === 'number' ? find(groups, state) : state.then(now => find(groups, now))
  }
}
