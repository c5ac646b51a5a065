import { inUtc } from '../../lib/instants.ts'
import { isGradual } from '../../lib/to-char.ts'
import type { FieldType } from '../../model/entities.ts'
import { type DerivedColumn, type GivenColumn, openColumn, packDerived } from './columns.ts'
import { orderIn } from './look-up.ts'
import { textBy } from './rows.ts'
import type { Values } from './stored-values.ts'
import { type GivenValues, openValues, valueAt } from './values.ts'

/** A column as a mask of `to_string` writes its values. */
export interface MaskedTask {
  readonly base: GivenColumn
  readonly count: number
  readonly values: GivenValues
  readonly type: FieldType
  readonly mask: string
}

/** @param tick called now and then; it may throw to stop */
export function maskedColumn(
  { base, count, values: given, type, mask }: MaskedTask,
  tick: () => void,
): DerivedColumn {
  const { distinct, ranks } = openColumn(base, count)
  const values = openValues(given, distinct)
  let written = 0
  // The text after a run was already read to find its end.
  let last: { readonly rank: number; readonly text: string | undefined } | undefined
  const textAt = (rank: number) => {
    if (last?.rank === rank) return last.text
    if ((written++ & 0xfff) === 0) tick()
    const text = textBy(mask, type, valueAt(values, rank))
    last = { rank, text }
    return text
  }
  const known = new Map<string, number>()
  /** For each rank, the number of its text from 1; 0: none. */
  const numbers = new Uint32Array(distinct + 1)
  const endOf = type === 'date-time' && isGradual(mask) && isAfterChrist(values) ? endOfText : nextRank
  for (let rank = 0; rank < distinct; ) {
    const text = textAt(rank)
    const end = text === undefined ? rank + 1 : endOf(rank, text, distinct, textAt)
    if (text !== undefined) {
      const number = known.get(text) ?? known.size + 1
      known.set(text, number)
      numbers.fill(number, rank, end)
    }
    rank = end
  }
  const texts = [...known.keys()]
  const order = orderIn({ type: 'text' })
  return packDerived(ranks, numbers, texts.map(order.key), order, at => JSON.stringify(texts[at]))
}

/** True if no instant is before the year 1, which masks show as they show the year 0. */
const isAfterChrist = (values: Values) => values.length === 0 || inUtc(String(valueAt(values, 0))) >= '0001'

const nextRank = (rank: number) => rank + 1

/** The rank after the last one with this text, which all ranks between have, too. */
function endOfText(rank: number, text: string, distinct: number, textAt: (rank: number) => unknown): number {
  let step = 1
  while (rank + step < distinct && textAt(rank + step) === text) step *= 2
  let [low, high] = [rank + (step >>> 1), Math.min(rank + step, distinct)]
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    if (textAt(middle) === text) low = middle
    else high = middle
  }
  return high
}
