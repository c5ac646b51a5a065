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
  let from = new Uint32Array(count)
  for (let n = 0; n < count; n++) from[n] = n
  let to = new Uint32Array(count)
  // The least significant first: a stable sort keeps what the ones before it have settled.
  for (const field of fields.toReversed()) {
    countingSort(from, to, field)
    ;[from, to] = [to, from]
  }
  return from
}

/** Typed indexes are within bounds here; `number` is what they hold. */
function countingSort(from: Uint32Array, to: Uint32Array, { ranks, descending }: SortField): void {
  const count = from.length
  let highest = 0
  for (let n = 0; n < count; n++) if ((ranks[n] as number) > highest) highest = ranks[n] as number
  // Turned ranks instead of a reversed result: equal values stay in the order of the later fields and the key.
  const [base, sign] = descending ? [highest, -1] : [0, 1]
  const starts = new Uint32Array(highest + 2)
  for (let n = 0; n < count; n++) {
    const behind = base + sign * (ranks[n] as number) + 1
    starts[behind] = (starts[behind] as number) + 1
  }
  for (let place = 1; place < starts.length; place++)
    starts[place] = (starts[place] as number) + (starts[place - 1] as number)
  for (let at = 0; at < count; at++) {
    const n = from[at] as number
    const place = base + sign * (ranks[n] as number)
    const target = starts[place] as number
    to[target] = n
    starts[place] = target + 1
  }
}
