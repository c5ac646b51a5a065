import { parseWritten } from '../lib/json.ts'
import type { OpenVersion } from '../storage/entities.ts'

/** A search among sorted values, each of which occurs in some record. */
export interface Search {
  readonly length: number
  /** Returns the slot of a record that has the value at this position. */
  slot(at: number): number
  /** @returns a negative number if the record's value comes before the wanted one, and 0 if they are equal */
  compare(record: Readonly<Record<string, unknown>>): number
}

/** The position of a value, or the one where it would be inserted. */
export interface Place {
  readonly at: number
  readonly isThere: boolean
}

/**
 * Runs all binary searches in lockstep, so that the records that they compare are read
 * a few thousand at a time.
 */
export async function searchAll(searches: readonly Search[], version: OpenVersion): Promise<Place[]> {
  const states = searches.map(({ length }) => ({ low: 0, high: length, isThere: false }))
  for (;;) {
    const open = states.flatMap((state, at) => (state.low < state.high && !state.isThere ? [at] : []))
    if (open.length === 0) return states.map(({ low, isThere }) => ({ at: low, isThere }))
    const slots = open.map(at => {
      const { low, high } = states[at] as (typeof states)[number]
      return (searches[at] as Search).slot((low + high) >>> 1)
    })
    const records = await readRecords(version, slots)
    for (const [n, at] of open.entries()) {
      const state = states[at] as (typeof states)[number]
      const middle = (state.low + state.high) >>> 1
      const compared = (searches[at] as Search).compare(
        records.get(slots[n] as number) as Record<string, unknown>,
      )
      if (compared === 0) {
        state.low = middle
        state.isThere = true
      } else if (compared < 0) state.low = middle + 1
      else state.high = middle
    }
  }
}

/** Number of slots read at a time. */
const readStep = 4_000

/** @returns the records by their slots */
export async function readRecords(
  version: OpenVersion,
  slots: Iterable<number>,
): Promise<ReadonlyMap<number, Record<string, unknown>>> {
  const sorted = Uint32Array.from(new Set(slots)).sort()
  const records = new Map<number, Record<string, unknown>>()
  for (let from = 0; from < sorted.length; from += readStep) {
    const some = sorted.subarray(from, from + readStep)
    for (const [n, json] of (await version.read(some)).entries())
      records.set(some[n] as number, parseWritten(json) as Record<string, unknown>)
  }
  return records
}
