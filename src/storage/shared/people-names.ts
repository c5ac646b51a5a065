import type { EpersonSearch } from '../accounts.ts'
import type { Window } from '../window.ts'

/**
 * The addresses and names of all epersons in memory, in the order of addresses, to search in (docs/decisions/0048). Looking
 * through 100,000 of them takes about 2 ms, whatever is searched for.
 */
export interface PeopleNames {
  readonly size: number
  /**
   * Those whose address or name has the text in it.
   * @param also the address of somebody who is found whatever their name is
   * @param except addresses of those who aren't found
   */
  find(text: string, window: Window, also: string | undefined, except: ReadonlySet<string>): Found
  /** @param name null: there is nobody with this address */
  set(email: string, name: string | null): void
}

/** Both are in lower case, as the store has them. */
export type Named = readonly [email: string, name: string]

export interface Found {
  /** Addresses of the epersons in the window. */
  readonly emails: readonly string[]
  readonly total: number
}

/** Where there are more epersons, the store is searched as before: this bounds memory to about 40 MB. */
export const maxNamed = 250_000
/** How many changes are caught up with; after more of them, everything is read again. */
export const maxChanges = 10_000
/** How many members of a group are left out of what was found; where there are more, the store is searched. */
export const maxExcepted = 2_000
/** A window that begins after more rows than this is looked up in the list. */
const farAway = 2_000
/** For how long the list is kept after the last search, in ms. */
export const keptFor = 10 * 60_000

/** Whether a page is of everybody, or of those outside of a group, and passes many to get there. */
export const isByName = ({ text, membership }: EpersonSearch, { offset }: Window): boolean =>
  !membership?.is && (text !== '' || offset > farAway)

const separator = '\0'

/** @param named in the order of the addresses' bytes */
export function peopleNames(named: Iterable<Named>): PeopleNames {
  const emails: string[] = []
  /** The address and the name of each. */
  const texts: string[] = []
  for (const [email, name] of named) {
    emails.push(email)
    texts.push(email + separator + name)
  }

  /** @returns the place of the first address that doesn't come before this one */
  function placeOf(email: string): number {
    const wanted = Buffer.from(email)
    let [from, to] = [0, emails.length]
    while (from < to) {
      const middle = (from + to) >>> 1
      if (Buffer.compare(Buffer.from(emails[middle] ?? ''), wanted) < 0) from = middle + 1
      else to = middle
    }
    return from
  }
  const isAt = (place: number, email: string) => emails[place] === email

  return {
    get size() {
      return emails.length
    },
    set: (email, name) => {
      const place = placeOf(email)
      const known = isAt(place, email) ? 1 : 0
      emails.splice(place, known, ...(name === null ? [] : [email]))
      texts.splice(place, known, ...(name === null ? [] : [email + separator + name]))
    },
    find: (text, { offset, limit }, also, except) => {
      if (text === '' && except.size === 0)
        return { emails: emails.slice(offset, offset + limit), total: emails.length }
      const found: string[] = []
      const first = also === undefined ? -1 : placeOf(also)
      const extra = also !== undefined && isAt(first, also) ? first : -1
      const isExcepted = except.size > 0
      let total = 0
      for (let at = 0; at < texts.length; at++) {
        const one = texts[at] ?? ''
        const place = one.indexOf(text)
        if (place < 0 && at !== extra) continue
        const email = emails[at] ?? ''
        // Nothing is found across the end of the address.
        if (at !== extra && place <= email.length && place + text.length > email.length) {
          if (!email.includes(text) && !one.slice(email.length + 1).includes(text)) continue
        }
        if (isExcepted && except.has(email)) continue
        if (total >= offset && found.length < limit) found.push(email)
        total++
      }
      return { emails: found, total }
    },
  }
}
