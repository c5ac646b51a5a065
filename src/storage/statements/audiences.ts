import {
  admits,
  epersonsIn,
  lists,
  type Readers,
  readReaders,
  today,
  type Viewer,
} from '../../model/readers.ts'
import { type Read, rows } from './statements.ts'

/** All audiences of a store, held in memory. */
export interface Audiences {
  add(id: number, readers: Readers): void
  /** Adds those that the store has besides. */
  readNew(): Read<void>
  /** The highest id so far, or 0. Ids are assigned in ascending order, and an audience never changes. */
  readonly lastId: number
  /**
   * @param how `listed`: in lists and queries; `by address`: also what is in none
   * @returns the ids of the audiences that admit the viewer, ascending; the same object until something changes
   */
  admitting(viewer: Viewer, how?: Seen): readonly number[]
}

export type Seen = 'listed' | 'by address'

/**
 * Results that are cached, and ids in all of them together: one for each combination of groups that a viewer is in, and
 * one more for each eperson that rules name.
 */
const maxCached = 1_000
const maxCachedIds = 1_000_000

export function createAudiences(): Audiences {
  const all: Audience[] = []
  /** Those with a rule for one eperson, by their uuid. */
  const naming = new Map<string, Audience[]>()
  const cache = new Map<string, readonly number[]>()
  let cachedIds = 0
  let cachedFor = ''
  const lastId = () => all.at(-1)?.[0] ?? 0
  const audiences: Audiences = {
    *readNew() {
      const sql = 'SELECT id, readers FROM audience WHERE id > $1 ORDER BY id'
      for (const { id, readers } of yield* rows<{ id: number; readers: string }>(sql, lastId()))
        audiences.add(id, readReaders(readers))
    },
    add: (id, readers) => {
      all.push([id, readers])
      for (const eperson of epersonsIn(readers)) {
        const known = naming.get(eperson)
        if (known) known.push([id, readers])
        else naming.set(eperson, [[id, readers]])
      }
    },
    get lastId() {
      return lastId()
    },
    admitting: (viewer, how = 'listed') => {
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
      // Only whether viewers are logged in and their groups matter, not who they are …
      const shared = () =>
        cached(JSON.stringify([how, viewer.eperson !== null, ...groups]), () =>
          seen(all, { ...viewer, eperson: viewer.eperson === null ? null : noOneInParticular }),
        )
      // … unless a rule names them.
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

/** The uuid of no eperson. */
const noOneInParticular = ''
