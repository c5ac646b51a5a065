import type { EpersonSearch, Membership } from '../accounts.ts'
import type { Window } from '../window.ts'
import { type NameChunk, nameChunk, wantedOf } from './name-chunk.ts'

/**
 * The addresses and names of all epersons in memory, in the order of addresses, to search in (docs/decisions/0048). They lie
 * in chunks of some hundred, each one text, which remembers how often it had what was searched for last. Of the groups that
 * were asked for last, it also knows who is in them.
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
   * @param who only those inside or outside of a group that is kept
   */
  find(text: string, window: Window, also: string | undefined, who: Membership | undefined): Found
  /**
   * @param name null: there is nobody with this address
   * @param isIn which of the groups that are kept they are in
   */
  set(email: string, name: string | null, isIn: readonly string[]): void
  /** The groups that are kept. */
  readonly groups: readonly string[]
  keeps(group: string): boolean
  /** Keeps who is in a group. Another one may be forgotten. @param emails of its members, in their order */
  keep(group: string, emails: readonly string[]): void
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
/** Of how many groups the list knows who is in them: a byte for each eperson and group. */
const maxGroups = 16
/** A window that begins after more rows than this is looked up in the list, and so is one of a group of more. */
export const farAway = 2_000
/** For how long the list is kept after the last search, in ms; and for how long there is none, if it would be too large. */
export const keptFor = 10 * 60_000
/** Epersons of a chunk; when it has twice as many, it becomes two. */
const perChunk = 256

/**
 * Whether a page may pass many to get there.
 * @returns 'if large' if that depends on the size of the group
 */
export const passesMany = ({ text, membership }: EpersonSearch, { offset }: Window): boolean | 'if large' =>
  text !== '' || offset > farAway || (membership !== null && 'if large')

export function peopleNames(): PeopleNames {
  let chunks: NameChunk[] = []
  let size = 0
  let length = 0
  /** Those that are kept, the one that was asked for last at the end. */
  const groups = new Set<string>()

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

  function forget(group: string): void {
    groups.delete(group)
    for (const chunk of chunks) chunk.forget(group)
  }

  return {
    get size() {
      return size
    },
    get isTooLarge() {
      return size > maxNamed || length > maxLength
    },
    get groups() {
      return [...groups]
    },
    append: (email, name) => {
      const last = chunks.at(-1)
      if (!last || last.size >= perChunk) chunks.push(nameChunk())
      change(chunks.length - 1, chunk => chunk.insert(chunk.size, email, name))
    },
    keep: (group, emails) => {
      forget(group)
      const [oldest] = groups
      if (oldest !== undefined && groups.size === maxGroups) forget(oldest)
      groups.add(group)
      for (let from = 0; from < emails.length; ) {
        const at = chunkOf(emails[from] as string)
        const isLast = at === chunks.length - 1
        let to = from + 1
        while (to < emails.length && (isLast || !chunks[at]?.endsBefore(emails[to] as string))) to++
        chunks[at]?.keep(group, emails.slice(from, to))
        from = to
      }
    },
    keeps: group => {
      // The ones that were asked for last stay.
      const is = groups.delete(group)
      if (is) groups.add(group)
      return is
    },
    set: (email, name, isIn) => {
      if (chunks.length === 0) {
        if (name === null) return
        chunks.push(nameChunk())
      }
      const at = chunkOf(email)
      const place = chunks[at]?.find(email) ?? -1
      if (place < 0 || chunks[at]?.name(place) !== name)
        change(at, chunk => {
          if (place >= 0) chunk.remove(place)
          if (name !== null) chunk.insert(chunk.placeOf(email), email, name)
        })
      if (name === null || groups.size === 0) return
      const chunk = chunks[chunkOf(email)] as NameChunk
      for (const group of groups) chunk.mark(group, chunk.find(email), isIn.includes(group))
    },
    find: (text, { offset, limit }, also, who) => {
      const emails: string[] = []
      const wanted = wantedOf(text)
      const alsoAt = also === undefined ? -1 : chunkOf(also)
      let total = 0
      for (const [at, chunk] of chunks.entries()) {
        const special = at === alsoAt ? chunk.find(also ?? '') : -1
        if (special < 0) {
          const count = chunk.count(wanted, who)
          if (count === 0 || emails.length === limit || total + count <= offset) {
            total += count
            continue
          }
        }
        for (const place of chunk.matches(wanted, who, special)) {
          if (total >= offset && emails.length < limit) emails.push(chunk.email(place))
          total++
        }
      }
      return { emails, total }
    },
  }
}
