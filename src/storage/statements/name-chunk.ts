import type { Membership } from '../accounts.ts'

/** Some epersons of a list (`people-names.ts`), in the order of their addresses. They are known by their places in it. */
export interface NameChunk {
  readonly size: number
  /** In characters. */
  readonly length: number
  /** Whether the address comes after all of these. */
  endsBefore(email: string): boolean
  /** @returns the place of the first address that doesn't come before this one */
  placeOf(email: string): number
  /** @returns the place of the address; -1 if it isn't here */
  find(email: string): number
  email(place: number): string
  name(place: number): string
  /** How many have the text in their address or name. @param who only those inside or outside of a group that is kept */
  count(wanted: Wanted, who?: Membership): number
  /** @param also a place that is among them whatever the name is */
  matches(wanted: Wanted, who?: Membership, also?: number): Iterable<number>
  /** Keeps who is in a group. @param emails of members, in order; those who aren't here are passed over */
  keep(group: string, emails: Iterable<string>): void
  /** Says whether somebody is in a group that is kept. */
  mark(group: string, place: number, is: boolean): void
  forget(group: string): void
  insert(place: number, email: string, name: string): void
  remove(place: number): void
  /** @returns the second half, which this one then hasn't any more */
  split(): NameChunk
}

/** A text that is searched for, made for all chunks once. */
export interface Wanted {
  readonly text: string
  /** Bits of the filter of a chunk that has the text. */
  readonly bits: readonly number[]
}

export const wantedOf = (text: string): Wanted => ({
  text,
  bits: Array.from({ length: Math.max(0, Math.min(text.length - 2, maxBits)) }, (_, at) => bitOf(text, at)),
})

/** More of them rule out few more chunks. */
const maxBits = 16
/** Of a filter. 250 names have some thousand different sequences of three characters. */
const filterBits = 32_768

/** The bit of three characters. */
const bitOf = (text: string, at: number): number =>
  (Math.imul(text.charCodeAt(at), 2_049) ^
    Math.imul(text.charCodeAt(at + 1), 67) ^
    Math.imul(text.charCodeAt(at + 2), 521)) &
  (filterBits - 1)

/** Before each address and each name, so that nothing is found across their ends. */
const separator = '\0'

export function nameChunk(
  joined = '',
  starts: number[] = [],
  /** By group: 1 at the places of its members. */
  marks: Map<string, Uint8Array> = new Map(),
): NameChunk {
  /** One text: a call of `indexOf` takes longer than to look through the few characters of a name. */
  let texts = joined
  /** A bit for each sequence of three characters that is there: most texts that nobody here has need no look at the names. */
  let filter: Uint32Array | undefined
  /** Of the last search. */
  let last: { readonly key: string; readonly count: number } | undefined

  const startOf = (place: number) => starts[place] ?? texts.length
  function email(place: number): string {
    const start = startOf(place) + 1
    return texts.slice(start, texts.indexOf(separator, start))
  }
  function placeOf(wanted: string): number {
    let [from, to] = [0, starts.length]
    while (from < to) {
      const middle = (from + to) >>> 1
      if (isBefore(email(middle), wanted)) from = middle + 1
      else to = middle
    }
    return from
  }
  function replace(place: number, removed: number, added: string): void {
    const [start, end] = [startOf(place), startOf(place + removed)]
    const later = starts.splice(place).slice(removed)
    if (added !== '') starts.push(start)
    for (const at of later) starts.push(at + added.length - (end - start))
    texts = texts.slice(0, start) + added + texts.slice(end)
    moveMarks(place, removed, added === '' ? 0 : 1)
    last = undefined
    filter = undefined
  }
  function moveMarks(place: number, removed: number, added: number): void {
    for (const [group, bits] of marks) {
      const moved = new Uint8Array(bits.length - removed + added)
      moved.set(bits.subarray(0, place))
      moved.set(bits.subarray(place + removed), place + added)
      marks.set(group, moved)
    }
  }
  /** Whether this is one of those who are looked for. */
  const isOne = (who: Membership | undefined, place: number) =>
    who === undefined || (marks.get(who.group)?.[place] === 1) === who.is
  function mayHave(bits: readonly number[]): boolean {
    if (!filter) {
      filter = new Uint32Array(filterBits / 32)
      for (let at = 0; at < texts.length - 2; at++) {
        const bit = bitOf(texts, at)
        filter[bit >>> 5] = (filter[bit >>> 5] as number) | (1 << (bit & 31))
      }
    }
    for (const bit of bits) if (((filter[bit >>> 5] as number) & (1 << (bit & 31))) === 0) return false
    return true
  }
  /** Calls back with the place of each who has the text. */
  function search({ text, bits }: Wanted, found: (place: number) => void): void {
    if (text.includes(separator) || !mayHave(bits)) return
    let place = 0
    for (let at = texts.indexOf(text, 1); at >= 0; at = texts.indexOf(text, startOf(place))) {
      while (startOf(place + 1) <= at) place++
      found(place++)
      if (place === starts.length) return
    }
  }
  function matches(wanted: Wanted, who: Membership | undefined, also: number): number[] {
    const places: number[] = []
    const add = (place: number) => {
      if (isOne(who, place)) places.push(place)
    }
    if (wanted.text === '') for (const place of starts.keys()) add(place)
    else search(wanted, add)
    if (also < 0 || places.includes(also) || !isOne(who, also)) return places
    return [...places, also].sort((one, other) => one - other)
  }
  function count(wanted: Wanted, who: Membership | undefined): number {
    const { text } = wanted
    if (text === '') return who ? countMembers(who) : starts.length
    const key = who ? `${text}${separator}${who.is}${who.group}` : text
    if (last?.key === key) return last.count
    let found = 0
    search(wanted, place => {
      if (isOne(who, place)) found++
    })
    last = { key, count: found }
    return found
  }
  function countMembers({ group, is }: Membership): number {
    let inside = 0
    for (const bit of marks.get(group) ?? []) inside += bit
    return is ? inside : starts.length - inside
  }

  return {
    get size() {
      return starts.length
    },
    get length() {
      return texts.length
    },
    endsBefore: wanted => starts.length > 0 && isBefore(email(starts.length - 1), wanted),
    placeOf,
    find: wanted => {
      const place = placeOf(wanted)
      return place < starts.length && email(place) === wanted ? place : -1
    },
    email,
    name: place => texts.slice(texts.indexOf(separator, startOf(place) + 1) + 1, startOf(place + 1)),
    count,
    matches: (wanted, who, also = -1) => matches(wanted, who, also),
    keep: (group, emails) => {
      const bits = new Uint8Array(starts.length)
      let place = 0
      for (const wanted of emails) {
        while (place < starts.length && isBefore(email(place), wanted)) place++
        if (place < starts.length && email(place) === wanted) bits[place] = 1
      }
      marks.set(group, bits)
      last = undefined
    },
    mark: (group, place, is) => {
      const bits = marks.get(group) ?? new Uint8Array(starts.length)
      bits[place] = is ? 1 : 0
      marks.set(group, bits)
      last = undefined
    },
    forget: group => {
      marks.delete(group)
    },
    insert: (place, address, name) => {
      const added = separator + address + separator + name
      if (place < starts.length) return replace(place, 0, added)
      starts.push(texts.length)
      texts += added
      moveMarks(place, 0, 1)
      last = undefined
      filter = undefined
    },
    remove: place => replace(place, 1, ''),
    split: () => {
      const half = starts.length >>> 1
      const start = startOf(half)
      const second = nameChunk(
        texts.slice(start),
        starts.slice(half).map(at => at - start),
        new Map([...marks].map(([group, bits]) => [group, bits.slice(half)] as const)),
      )
      replace(half, starts.length - half, '')
      return second
    },
  }
}

/** In the order of code points, which is that of UTF-8: surrogates stand for code points behind all others. */
function isBefore(one: string, other: string): boolean {
  const length = Math.min(one.length, other.length)
  for (let at = 0; at < length; at++) {
    const [a, b] = [one.charCodeAt(at), other.charCodeAt(at)]
    if (a === b) continue
    const [isHigh, isOtherHigh] = [isSurrogate(a), isSurrogate(b)]
    return isHigh === isOtherHigh ? a < b : isOtherHigh
  }
  return one.length < other.length
}

const isSurrogate = (unit: number) => unit >= 0xd800 && unit <= 0xdfff
