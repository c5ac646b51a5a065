import {
  admits,
  epersonsIn,
  lists,
  type Readers,
  readReaders,
  today,
  type Viewer,
} from '../../model/readers.ts'
import type { Read } from './statements.ts'
import * as db from './statements.ts'

export type Seen = 'listed' | 'by address'

/**
 * Maximum number of cached results, and of ids in all of them. There is one result for each combination of
 * groups of a viewer, and one more for each eperson that rules name.
 */
const maxCached = 1_000
const maxCachedIds = 1_000_000

/** All audiences of a store, held in memory. */
export function createAudiences() {
  const all: Audience[] = []
  /** Audiences with a rule for a single eperson, by the uuid of the eperson. */
  const naming = new Map<string, Audience[]>()
  const cache = new Map<string, readonly number[]>()
  let cachedIds = 0
  let cachedFor = ''
  const lastId = () => all.at(-1)?.[0] ?? 0
  const audiences = {
    /** Adds the audiences of the store that are not in memory yet. */
    *readNew(): Read<void> {
      const sql = 'SELECT id, readers FROM audience WHERE id > $1 ORDER BY id'
      for (const { id, readers } of yield* db.rows<{ id: number; readers: string }>(sql, lastId()))
        audiences.add(id, readReaders(readers))
    },
    add: (id: number, readers: Readers): void => {
      all.push([id, readers])
      for (const eperson of epersonsIn(readers)) {
        const known = naming.get(eperson)
        if (known) known.push([id, readers])
        else naming.set(eperson, [[id, readers]])
      }
    },
    /** The highest id so far, or 0. Ids are assigned in ascending order, and an audience never changes. */
    get lastId(): number {
      return lastId()
    },
    /**
     * @param how `listed`: in lists and queries; `by address`: also objects that are in none of these
     * @returns the ascending ids of the audiences that admit the viewer; the same object until something
     * changes
     */
    admitting: (viewer: Viewer, how: Seen = 'listed'): readonly number[] => {
      const day = today()
      const state = `${day} ${lastId()}`
      if (cachedFor !== state || cache.size >= maxCached || cachedIds >= maxCachedIds) {
        cache.clear()
        cachedIds = 0
      }
      cachedFor = state
      const sees = how === 'listed' ? lists : admits
      const seen = (audiences: readonly Audience[], by: Viewer) =>
        audiences.filter(([, readers]) => sees(readers, by, day)).map(([id]) => id)

      function cached(key: string, make: () => readonly number[]): readonly number[] {
        const known = cache.get(key)
        if (known) return known
        const ids = make()
        cache.set(key, ids)
        cachedIds += ids.length
        return ids
      }

      if (viewer.kind === 'administrator') return cached(how, () => seen(all, viewer))
      const groups = [...viewer.groups].sort()
      // Viewers with the same groups share a result, apart from being logged in or not.
      const shared = () =>
        cached(JSON.stringify([how, viewer.eperson !== null, ...groups]), () =>
          seen(all, { ...viewer, eperson: viewer.eperson === null ? null : noOneInParticular }),
        )
      // Rules that name the viewer add to the shared result.
      const own = naming.get(viewer.eperson ?? noOneInParticular)
      if (!own) return shared()
      return cached(JSON.stringify([how, { eperson: viewer.eperson }, ...groups]), () =>
        [...new Set([...shared(), ...seen(own, viewer)])].sort((one, other) => one - other),
      )
    },
  }
  return audiences
}

type Audience = readonly [id: number, readers: Readers]

/** A uuid that no eperson has. */
const noOneInParticular = ''
