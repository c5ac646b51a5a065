/**
 * Orders of records (docs/decisions/0003). Import gives every field a column of ranks: for record n the place of its
 * value among the field's distinct values, nulls last. Any order over any fields is then a few stable counting sorts
 * over small integers; it costs the same for text, numbers and nulls, and no index per order is kept.
 */
export interface SortField {
  readonly ranks: Uint32Array
  readonly descending: boolean
}

/**
 * @param count how many records there are; their numbers follow the key
 * @param fields the first is the most significant
 * @returns the record numbers in that order, ties in the order of the key
 */
export function sortRecords(count: number, fields: readonly SortField[]): Uint32Array<ArrayBuffer> {
  let from = new Uint32Array(count).map((_, n) => n)
  let to = new Uint32Array(count)
  for (const { ranks, descending } of fields.toReversed()) {
    const highest = ranks.reduce((most, rank) => Math.max(most, rank), 0)
    // Turned ranks instead of a reversed result: equal values stay in the order of the later fields and the key.
    const place = (n: number) => (descending ? highest - (ranks[n] as number) : (ranks[n] as number))
    const starts = new Uint32Array(highest + 2)
    for (let n = 0; n < count; n++) starts[place(n) + 1] = (starts[place(n) + 1] as number) + 1
    for (let rank = 1; rank < starts.length; rank++)
      starts[rank] = (starts[rank] as number) + (starts[rank - 1] as number)
    for (let at = 0; at < count; at++) {
      const n = from[at] as number
      const rank = place(n)
      const target = starts[rank] as number
      to[target] = n
      starts[rank] = target + 1
    }
    ;[from, to] = [to, from]
  }
  return from
}
