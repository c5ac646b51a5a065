import type { FieldType } from '../../model/entities.ts'
import { computedOf, isGradual } from '../../model/json-values.ts'
import type { Computed } from '../../model/plan.ts'
import { orderOf } from '../../model/value-order.ts'
import { mayGoOn } from '../runtime/limits.ts'
import { type DerivedColumn, type GivenColumn, openColumn, packDerived } from './columns.ts'
import { type GivenValues, openValues, typedValue, valueAt } from './values.ts'

/** A column of values that are computed of another one's. */
interface ComputedTask {
  readonly base: GivenColumn
  readonly count: number
  readonly values: GivenValues
  /** The type of the new values. */
  readonly type: FieldType
  readonly computed: Computed
}

export function computedColumn(task: ComputedTask): DerivedColumn {
  const { distinct, ranks } = openColumn(task.base, task.count)
  const values = openValues(task.values, distinct)
  let written = 0
  // The text after a run was already read to find its end.
  let last: { readonly rank: number; readonly text: string | undefined } | undefined
  const textAt = (rank: number) => {
    if (last?.rank === rank) return last.text
    if ((written++ & 0xfff) === 0) mayGoOn()
    const text = computedOf(task.computed, valueAt(values, rank))
    last = { rank, text }
    return text
  }
  const known = new Map<string, number>()
  /** For each rank, the number of its text from 1; 0: none. */
  const numbers = new Uint32Array(distinct + 1)
  const endOf = distinct > 0 && isGradual(task.computed, valueAt(values, 0)) ? endOfText : nextRank
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
  const order = orderOf(task)
  const keys = texts.map(text => order.key(typedValue(text, task.type)))
  return packDerived(ranks, numbers, keys, order, at => texts[at] as string)
}

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
