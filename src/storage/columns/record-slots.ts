import { sharedNumbers } from '../../lib/memory.ts'
import { Edited, unpackParts } from './edited.ts'

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
