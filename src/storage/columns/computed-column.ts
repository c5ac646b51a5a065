import { inUtc } from '../../lib/instants.ts'
import { isGradual } from '../../lib/to-char.ts'
import type { FieldType } from '../../model/entities.ts'
import { computedOf, isGradual as isGradualValue } from '../../model/json-values.ts'
import type { Computed } from '../../model/plan.ts'
import { orderOf } from '../../model/value-order.ts'
import { mayGoOn } from '../runtime/limits.ts'
import { type DerivedColumn, type GivenColumn, openColumn, packDerived } from './columns.ts'
import { textBy } from './rows.ts'
import type { Values } from './stored-values.ts'
import { type GivenValues, openValues, typedValue, valueAt } from './values.ts'

/** A column of values that are computed of another one's, or that a mask of `to_string` writes. */
type ComputedTask = {
  readonly base: GivenColumn
  readonly count: number
  readonly values: GivenValues
  /** The type of the values of the other column. */
  readonly from: FieldType
  /** The type of the new values. */
  readonly type: FieldType
} & ({ readonly mask: string } | { readonly computed: Computed })

export function computedColumn(task: ComputedTask): DerivedColumn {
  const { distinct, ranks } = openColumn(task.base, task.count)
  const values = openValues(task.values, distinct)
  let written = 0
  // The text after a run was already read to find its end.
  let last: { readonly rank: number; readonly text: string | undefined } | undefined
  const textAt = (rank: number) => {
    if (last?.rank === rank) return last.text
    if ((written++ & 0xfff) === 0) mayGoOn()
    const text = jsonOf(task, valueAt(values, rank))
    last = { rank, text }
    return text
  }
  const known = new Map<string, number>()
  /** For each rank, the number of its text from 1; 0: none. */
  const numbers = new Uint32Array(distinct + 1)
  const endOf = isInRuns(task, values) ? endOfText : nextRank
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

function jsonOf(task: ComputedTask, value: unknown): string | undefined {
  if ('computed' in task) return computedOf(task.computed, value)
  const text = textBy(task.mask, task.from, value)
  return text === undefined ? undefined : JSON.stringify(text)
}

/** True if all values of which the same is made lie between two of them. */
const isInRuns = (task: ComputedTask, values: Values): boolean =>
  'computed' in task
    ? isGradualValue(task.computed)
    : task.from === 'date-time' && isGradual(task.mask) && isAfterChrist(values)

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
