import { admits, lists, type Readers, today, type Viewer } from '../../model/readers.ts'

/** All audiences of a store, held in memory. */
export interface Audiences {
  add(id: number, readers: Readers): void
  /** The highest id so far, or 0. Ids are assigned in ascending order, and an audience never changes. */
  readonly lastId: number
  /**
   * @param how `listed`: in lists and queries; `by address`: also what is in none
   * @returns the ids of the audiences that admit the viewer, ascending; the same object until something changes
   */
  admitting(viewer: Viewer, how?: Seen): readonly number[]
}

export type Seen = 'listed' | 'by address'

/** How many results are cached: one for each combination of groups that a viewer is in. */
const maxCached = 1_000

export function createAudiences(): Audiences {
  const all: (readonly [id: number, readers: Readers])[] = []
  const cache = new Map<string, readonly number[]>()
  let cachedFor = ''
  const lastId = () => all.at(-1)?.[0] ?? 0
  return {
    add: (id, readers) => {
      all.push([id, readers])
    },
    get lastId() {
      return lastId()
    },
    admitting: (viewer, how = 'listed') => {
      const day = today()
      const state = `${day} ${lastId()}`
      if (cachedFor !== state || cache.size >= maxCached) cache.clear()
      cachedFor = state
      // Only whether viewers are logged in and their groups matter, not who they are.
      const key =
        viewer.kind === 'administrator'
          ? ''
          : JSON.stringify([how, viewer.eperson !== null, ...[...viewer.groups].sort()])
      const sees = how === 'listed' ? lists : admits
      const ids = cache.get(key) ?? all.filter(([, readers]) => sees(readers, viewer, day)).map(([id]) => id)
      cache.set(key, ids)
      return ids
    },
  }
}
