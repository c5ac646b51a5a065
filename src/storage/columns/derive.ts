import { parseExact } from '../../lib/json.ts'
import type { FieldType } from '../../model/entities.ts'
import { openColumn, type PackedColumn, packRanks } from './columns.ts'
import { orderIn } from './look-up.ts'
import { jsonAt, openValues, type PackedValues, Packer, typedAt } from './values.ts'

/**
 * A column that is made of another: each distinct value of that one becomes some other value, such as a member inside it.
 * @param texts for each distinct value of the base, the other value as JSON; '' for null
 * @param type how those values compare
 * @param tick called now and then; it may throw to stop
 */
export function derive(
  base: PackedColumn,
  count: number,
  texts: PackedValues,
  type: FieldType,
  tick: () => void,
): { readonly column: PackedColumn; readonly values: PackedValues } {
  const { distinct, ranks } = openColumn(base, count)
  const given = openValues(texts, distinct)
  const order = orderIn({ type, collation: undefined })
  const byKey = new Map<string, number[]>()
  for (let rank = 0; rank < distinct; rank++) {
    if ((rank & 0x3ff) === 0) tick()
    if (given.starts[rank] === given.starts[rank + 1]) continue
    const key = order.key(typedAt(given, rank, type))
    const same = byKey.get(key)
    if (same) same.push(rank)
    else byKey.set(key, [rank])
  }
  const keys = [...byKey.keys()].sort(order.compare)
  tick()
  const derived = new Uint32Array(distinct + 1).fill(keys.length)
  const packer = new Packer(keys.length)
  for (const [place, key] of keys.entries()) {
    const same = byKey.get(key) ?? []
    for (const rank of same) derived[rank] = place
    packer.add(jsonAt(given, same[0] as number))
  }
  return {
    column: packRanks(
      ranks.map(rank => derived[rank] as number),
      keys.length,
    ),
    values: packer.finish(),
  }
}

/** The columns of rows that were read already. @param rows a JSON array of arrays without nulls */
export function columnsOfRows(
  rows: string,
  types: readonly FieldType[],
  tick: () => void,
): { count: number; columns: readonly { readonly column: PackedColumn; readonly values: PackedValues }[] } {
  const read = parseExact(rows) as readonly (readonly unknown[])[]
  const base = packRanks(
    Uint32Array.from(read, (_, at) => at),
    read.length,
  )
  const columns = types.map((type, at) => {
    const packer = new Packer(read.length)
    for (const row of read) packer.add(JSON.stringify(row[at]))
    return derive(base, read.length, packer.finish(), type, tick)
  })
  return { count: read.length, columns }
}
