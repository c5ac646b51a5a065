import type { EpersonSearch } from '../accounts.ts'
import type { Window } from '../window.ts'
import { type NameChunk, nameChunk, wantedOf } from './name-chunk.ts'

/**
 * The addresses and names of all epersons in memory, in the order of addresses, to search in (docs/decisions/0048). They lie
 * in chunks of some hundred, each one text, which remembers how often it had what was searched for last.
 */
export interface PeopleNames {
  readonly size: number
  /** Whether this is more than a list may have. */
  readonly isTooLarge: boolean
  /** Adds somebody whose address comes behind all others. */
  append(email: string, name: string): void
  /**
   * Those whose address or name has the text in it.
   * @param also the address of somebody who is found whatever their name is
   * @param except addresses of those who aren't found
   */
  find(text: string, window: Window, also: string | undefined, except: ReadonlySet<string>): Found
  /** @param name null: there is nobody with this address */
  set(email: string, name: string | null): void
}

export interface Found {
  /** Addresses of the epersons in the window. */
  readonly emails: readonly string[]
  readonly total: number
}

/** Where there are more epersons, the store is searched as before. */
export const maxNamed = 250_000
/** Characters of all addresses and names, of two bytes at most: together, this bounds memory to about 40 MB. */
const maxLength = 16_000_000
/** How many changes are caught up with; after more of them, everything is read again. */
export const maxChanges = 10_000
/** How many members of a group are left out of what was found; where there are more, the store is searched. */
export const maxExcepted = 2_000
/** A window that begins after more rows than this is looked up in the list. */
const farAway = 2_000
/** For how long the list is kept after the last search, in ms; and for how long there is none, if it would be too large. */
export const keptFor = 10 * 60_000
/** Epersons of a chunk; when it has twice as many, it becomes two. */
const perChunk = 256

/** Whether a page is of everybody, or of those outside of a group, and passes many to get there. */
export const isByName = ({ text, membership }: EpersonSearch, { offset }: Window): boolean =>
  !membership?.is && (text !== '' || offset > farAway)

/** Those of a chunk who are treated in another way, by their places in it. */
interface Special {
  also: number
  readonly except: Set<number>
}

export function peopleNames(): PeopleNames {
  let chunks: NameChunk[] = []
  let size = 0
  let length = 0

  /** @returns the chunk that has the address, or would have it */
  function chunkOf(email: string): number {
    let [from, to] = [0, chunks.length]
    while (from < to) {
      const middle = (from + to) >>> 1
      if ((chunks[middle] as NameChunk).endsBefore(email)) from = middle + 1
      else to = middle
    }
    return Math.min(from, chunks.length - 1)
  }

  function change(at: number, work: (chunk: NameChunk) => void): void {
    const chunk = chunks[at] as NameChunk
    size -= chunk.size
    length -= chunk.length
    work(chunk)
    size += chunk.size
    length += chunk.length
    if (chunk.size === 0) chunks = chunks.toSpliced(at, 1)
    else if (chunk.size >= 2 * perChunk) chunks = chunks.toSpliced(at + 1, 0, chunk.split())
  }

  function specialsOf(also: string | undefined, except: ReadonlySet<string>): ReadonlyMap<number, Special> {
    const specials = new Map<number, Special>()
    const of = (email: string, treat: (special: Special, place: number) => void) => {
      const at = chunkOf(email)
      const place = chunks[at]?.find(email) ?? -1
      if (place < 0) return
      const special = specials.get(at) ?? { also: -1, except: new Set() }
      specials.set(at, special)
      treat(special, place)
    }
    if (also !== undefined)
      of(also, (special, place) => {
        special.also = place
      })
    for (const email of except) of(email, (special, place) => special.except.add(place))
    return specials
  }

  return {
    get size() {
      return size
    },
    get isTooLarge() {
      return size > maxNamed || length > maxLength
    },
    append: (email, name) => {
      const last = chunks.at(-1)
      if (!last || last.size >= perChunk) chunks.push(nameChunk())
      change(chunks.length - 1, chunk => chunk.insert(chunk.size, email, name))
    },
    set: (email, name) => {
      if (chunks.length === 0) {
        if (name === null) return
        chunks.push(nameChunk())
      }
      change(chunkOf(email), chunk => {
        const place = chunk.placeOf(email)
        if (chunk.find(email) === place) chunk.remove(place)
        if (name !== null) chunk.insert(place, email, name)
      })
    },
    find: (text, { offset, limit }, also, except) => {
      const emails: string[] = []
      const wanted = wantedOf(text)
      const specials = specialsOf(also, except)
      let total = 0
      for (const [at, chunk] of chunks.entries()) {
        const special = specials.get(at)
        if (!special) {
          const count = chunk.count(wanted)
          if (count === 0 || emails.length === limit || total + count <= offset) {
            total += count
            continue
          }
        }
        for (const place of chunk.matches(wanted, special?.also)) {
          if (special?.except.has(place)) continue
          if (total >= offset && emails.length < limit) emails.push(chunk.email(place))
          total++
        }
      }
      return { emails, total }
    },
  }
}
