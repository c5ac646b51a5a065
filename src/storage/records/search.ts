import { orderOf } from '../../model/value-order.ts'
import { unpackColumn } from '../columns/columns.ts'
import { findPlace, type Place } from '../columns/look-up.ts'
import { fieldReader } from '../columns/readable-records.ts'
import type { RecordEntity } from '../entities.ts'
import type { Among } from './record-source.ts'

/** A binary search among the values of a field that reads a record for each value it compares. */
interface Search<R, K> {
  readonly length: number
  /** The slot of the first record that has the value of this rank. */
  slot(rank: number): number
  /** Compares the value of a record with a key. */
  compare(record: R, key: K): number
}

/** @param slot returns that of a record that has the value of this rank */
export function searchBy(
  { fields }: RecordEntity,
  field: number,
  length: number,
  slot: (rank: number) => number,
): Search<string, string> {
  const described = fields[field] as RecordEntity['fields'][number]
  const order = orderOf(described)
  const value = fieldReader({ name: described.name, path: [] })
  return { length, slot, compare: (json, key) => order.compare(order.key(value(json)), key) }
}

export function searchIn(entity: RecordEntity, field: number, { column, postings, slots }: Among) {
  const { distinct, starts } = unpackColumn(column, entity.source.count)
  return searchBy(entity, field, distinct, rank => {
    const n = postings[starts[rank] as number] as number
    return slots ? (slots[n] as number) : n
  })
}

/** Runs one search after the other, where each record is quick to read. */
export const findKeys = (
  { length, slot, compare }: Search<string, string>,
  keys: readonly string[],
  read: (slot: number) => string,
): Place[] => keys.map(key => findPlace(length, rank => compare(read(slot(rank)), key)))

/** Runs all searches in lockstep, so that each step costs one read. @param read is given ascending slots */
export async function findKeysTogether<R, K>(
  { length, slot, compare }: Search<R, K>,
  keys: readonly K[],
  read: (slots: Uint32Array) => Promise<readonly R[]>,
): Promise<Place[]> {
  const states = keys.map(key => ({ key, low: 0, high: length, isThere: false }))
  for (;;) {
    const open = states.filter(({ low, high, isThere }) => low < high && !isThere)
    if (open.length === 0) return states.map(({ low, isThere }) => ({ at: low, isThere }))
    const slots = open.map(({ low, high }) => slot((low + high) >>> 1))
    const wanted = Uint32Array.from(new Set(slots)).sort()
    const found = await read(wanted)
    const records = new Map(found.map((record, at) => [wanted[at] as number, record]))
    for (const [n, state] of open.entries()) {
      const middle = (state.low + state.high) >>> 1
      const compared = compare(records.get(slots[n] as number) as R, state.key)
      if (compared === 0) {
        state.low = middle
        state.isThere = true
      } else if (compared < 0) state.low = middle + 1
      else state.high = middle
    }
  }
}
