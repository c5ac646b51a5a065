import { admits, type Readers, today, type Viewer } from '../../model/readers.ts'

/** All audiences of a store, in memory. */
export interface Audiences {
  add(id: number, readers: Readers): void
  /** The highest that is known, 0 for none: audiences are numbered in the order they come, and never change. */
  readonly last: number
  /** @returns the audiences that admit the viewer, ascending; the same object for as long as nothing changes */
  of(viewer: Viewer): readonly number[]
}

/** Sets that are remembered: one for each combination of groups that somebody is in. */
const maxSets = 1_000

export function createAudiences(): Audiences {
  const known: (readonly [id: number, readers: Readers])[] = []
  const sets = new Map<string, readonly number[]>()
  let setsOf = ''
  const last = () => known.at(-1)?.[0] ?? 0
  return {
    add: (id, readers) => {
      known.push([id, readers])
    },
    get last() {
      return last()
    },
    of: viewer => {
      const day = today()
      if (setsOf !== `${day} ${last()}` || sets.size >= maxSets) sets.clear()
      setsOf = `${day} ${last()}`
      // Who somebody is makes no difference, only what they are in.
      const key =
        viewer.kind === 'administrator'
          ? ''
          : JSON.stringify([viewer.eperson !== null, ...[...viewer.groups].sort()])
      const ids =
        sets.get(key) ?? known.filter(([, readers]) => admits(readers, viewer, day)).map(([id]) => id)
      sets.set(key, ids)
      return ids
    },
  }
}
