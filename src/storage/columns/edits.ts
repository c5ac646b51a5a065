import { sharedNumbers } from '../../lib/memory.ts'
import type { RecordEdit } from '../entities.ts'

/**
 * A change at one place of a sequence, such as the records of a version or the values of a field: `written` is
 * the index of an item. Edits are in its order; of several at one place, that which removes is last.
 */
export type Edit = RecordEdit

/**
 * Edits as one array: the length of the sequence before and after them; then for each edit its place before, its
 * place after, and a mark: whether it removes, and its item.
 */
export type PackedEdits = Uint32Array

export function packEdits(before: number, edits: readonly Edit[]): PackedEdits {
  const count = edits.length
  const packed = new Uint32Array(2 + 3 * count)
  let moved = 0
  for (const [n, { at, isThere, written }] of edits.entries()) {
    packed[2 + n] = at
    packed[2 + count + n] = at + moved
    packed[2 + 2 * count + n] = 2 * (written + 1) + Number(isThere)
    moved += Number(written >= 0) - Number(isThere)
  }
  packed.set([before, before + moved])
  return packed
}

/** Number of places from which preparing to move them pays. */
const fewPlaces = 4_096

/** Maximum number of blocks for which `mover` keeps how far their places move. */
const maxBlocks = 2 ** 16
/** Marks a block whose places don't all move equally far. */
const mixed = 0x7fff_ffff

/** A sequence with edits: where each place of it comes from, and where each place before them has come. */
export class Edited {
  readonly before: number
  readonly length: number
  readonly #at: Uint32Array
  readonly #to: Uint32Array
  readonly #marks: Uint32Array

  constructor(packed: PackedEdits) {
    const count = (packed.length - 2) / 3
    this.before = packed[0] as number
    this.length = packed[1] as number
    this.#at = packed.subarray(2, 2 + count)
    this.#to = packed.subarray(2 + count, 2 + 2 * count)
    this.#marks = packed.subarray(2 + 2 * count)
  }

  /** True if each edit removes what is at its place, and the function accepts the item; below 0: there is none. */
  replaces(accepts: (place: number, item: number) => boolean): boolean {
    return this.#at.every((place, edit) => this.#removes(edit) && accepts(place, this.#itemOf(edit)))
  }

  /** Returns the place before the edits, or ~n (below 0) for item n. */
  origin(place: number): number {
    const edit = lastUpTo(this.#to, place)
    if (edit < 0) return place
    const item = this.#itemOf(edit)
    return item >= 0 && this.#to[edit] === place ? ~item : this.#after(edit, place)
  }

  /** Returns the place before the edits at which, or before which, this one is. */
  baseOf(place: number): number {
    const edit = lastUpTo(this.#to, place)
    if (edit < 0) return place
    return this.#itemOf(edit) >= 0 && this.#to[edit] === place
      ? (this.#at[edit] as number)
      : this.#after(edit, place)
  }

  /** Returns the new place, which is that of the item where there was a replacement; -1: removed. */
  moved(place: number): number {
    const edit = lastUpTo(this.#at, place)
    if (edit < 0) return place
    if (this.#at[edit] === place && this.#removes(edit))
      return this.#itemOf(edit) >= 0 ? (this.#to[edit] as number) : -1
    return place + this.#distance(edit)
  }

  /** Returns the new place; -1: removed or replaced. */
  kept(place: number): number {
    const edit = lastUpTo(this.#at, place)
    if (edit < 0) return place
    return this.#at[edit] === place && this.#removes(edit) ? -1 : place + this.#distance(edit)
  }

  /** Returns the new places of those that were neither removed nor replaced. @param places in any order */
  keptOf(places: Uint32Array): Uint32Array {
    const keep = (place: number) => this.kept(place)
    const move = places.length < fewPlaces ? keep : this.mover(keep)
    const kept = new Uint32Array(places.length)
    let size = 0
    for (let at = 0; at < places.length; at++) {
      const place = move(places[at] as number)
      if (place >= 0) kept[size++] = place
    }
    return kept.subarray(0, size)
  }

  /** Returns the number of edits whose item, or removal, is before the place. */
  editsBefore(place: number): number {
    return lastUpTo(this.#to, place - 1) + 1
  }

  /** Lists the places of the items, by item. */
  places(): Uint32Array {
    const places: number[] = []
    for (let edit = 0; edit < this.#at.length; edit++)
      if (this.#itemOf(edit) >= 0) places[this.#itemOf(edit)] = this.#to[edit] as number
    return Uint32Array.from(places)
  }

  /**
   * Tells what is at the places from `from` to below `end`.
   * @param copy takes places in a row that are kept: the first one, and those that they had before
   * @param put takes the place of an item
   */
  walk(
    from: number,
    end: number,
    copy: (to: number, from: number, end: number) => void,
    put: (to: number, item: number) => void,
  ): void {
    let edit = lastUpTo(this.#to, from)
    for (let place = from; place < end; ) {
      const item = edit < 0 ? -1 : this.#itemOf(edit)
      if (item >= 0 && this.#to[edit] === place) put(place++, item)
      else {
        const stop = edit + 1 < this.#to.length ? Math.min(end, this.#to[edit + 1] as number) : end
        const base = edit < 0 ? place : this.#after(edit, place)
        copy(place, base, base + stop - place)
        place = stop
      }
      // Several edits may end up at one place. The last of them is the one that has an item.
      while (edit + 1 < this.#to.length && (this.#to[edit + 1] as number) <= place) edit++
    }
  }

  /**
   * Returns a function that moves many places, which is faster where few of them are near an edit.
   * @param one moves the others: `moved` or `kept`
   */
  mover(one: (place: number) => number): (place: number) => number {
    if (this.#at.length === 0) return place => place
    let shift = 0
    while (this.before >>> shift >= maxBlocks) shift++
    const blocks = new Int32Array((this.before >>> shift) + 1)
    let distance = 0
    let next = 0
    for (let edit = 0; edit < this.#at.length; edit++) {
      const block = (this.#at[edit] as number) >>> shift
      if (next <= block) {
        blocks.fill(distance, next, block)
        blocks[block] = mixed
        next = block + 1
      }
      distance = this.#distance(edit)
    }
    blocks.fill(distance, next)
    return place => {
      const far = blocks[place >>> shift] as number
      return far === mixed ? one(place) : place + far
    }
  }

  #itemOf(edit: number): number {
    return ((this.#marks[edit] as number) >>> 1) - 1
  }

  #removes(edit: number): boolean {
    return ((this.#marks[edit] as number) & 1) === 1
  }

  /** The place before the edits of one that comes after this edit, and before the next. */
  #after(edit: number, place: number): number {
    return place - this.#distance(edit)
  }

  /** The distance by which the places between this edit and the next one move. */
  #distance(edit: number): number {
    return (
      (this.#to[edit] as number) -
      (this.#at[edit] as number) +
      Number(this.#itemOf(edit) >= 0) -
      Number(this.#removes(edit))
    )
  }
}

/**
 * @param numbers ascending
 * @param from place before which all numbers are up to `most`
 * @returns the place of the last number up to `most`; -1: none
 */
export function lastUpTo(numbers: ArrayLike<number>, most: number, from = 0): number {
  let [low, high] = [from, numbers.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((numbers[middle] as number) <= most) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** Merges two lists into one, which ascends if both do. */
export function merged(one: Uint32Array, other: Uint32Array): Uint32Array {
  if (other.length === 0) return one
  const all = new Uint32Array(one.length + other.length)
  let [at, next] = [0, 0]
  for (let to = 0; to < all.length; to++)
    all[to] =
      next === other.length || (at < one.length && (one[at] as number) < (other[next] as number))
        ? (one[at++] as number)
        : (other[next++] as number)
  return all
}

/** Packs arrays into one that threads share: their number, the length of each, and these. */
export function packParts(parts: readonly Uint32Array[]): Uint32Array<SharedArrayBuffer> {
  const head = 1 + parts.length
  const packed = sharedNumbers(parts.reduce((sum, { length }) => sum + length, head))
  packed.set([parts.length, ...parts.map(({ length }) => length)])
  let at = head
  for (const part of parts) {
    packed.set(part, at)
    at += part.length
  }
  return packed
}

export function unpackParts(packed: Uint32Array): readonly Uint32Array[] {
  const count = packed[0] as number
  let end = 1 + count
  return Array.from(packed.subarray(1, 1 + count), length => {
    end += length
    return packed.subarray(end - length, end)
  })
}

/** Slots of the records of a changed version: those of its base, and those of the written ones. */
export interface RevisedSlots {
  /** null: the numbers of the records. */
  readonly before: Uint32Array | null
  /** The edits, and the slot of each written record. */
  readonly changes: Uint32Array
}

/** Slots of records as threads are given them. */
export type GivenSlots = Uint32Array | RevisedSlots

/** The share of all records from which their slots are looked up in an array. */
const manySlots = 16

/** Replaces record numbers by their slots, in place: they stay in memory that threads can share. */
export function toSlots<T extends Uint32Array>(numbers: T, given: GivenSlots): T {
  const slotOf = slotReader(given, numbers.length)
  for (let at = 0; at < numbers.length; at++) numbers[at] = slotOf(numbers[at] as number)
  return numbers
}

function slotReader(given: GivenSlots, times: number): (n: number) => number {
  if (given instanceof Uint32Array) return n => given[n] as number
  const { before, changes } = given
  const [packed = new Uint32Array(2), written = new Uint32Array()] = unpackParts(changes)
  const edited = new Edited(packed)
  if (times * manySlots > edited.length) {
    const all = allSlots(given)
    return n => all[n] as number
  }
  return n => {
    const origin = edited.origin(n)
    if (origin < 0) return written[~origin] as number
    return before ? (before[origin] as number) : origin
  }
}

/** Returns the slots of all records. */
export function allSlots({ before, changes }: RevisedSlots): Uint32Array<SharedArrayBuffer> {
  const [packed = new Uint32Array(2), written = new Uint32Array()] = unpackParts(changes)
  const edited = new Edited(packed)
  const slots = sharedNumbers(edited.length)
  edited.walk(
    0,
    edited.length,
    (to, from, end) => {
      for (let n = from; n < end; n++) slots[to + n - from] = before ? (before[n] as number) : n
    },
    (to, item) => {
      slots[to] = written[item] as number
    },
  )
  return slots
}
