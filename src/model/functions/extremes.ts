import { decimalKey, printNumber } from '../../lib/decimals.ts'
import { type AggregateFunction, numbers } from './function.ts'

const extreme = (name: 'min' | 'max', which: string): AggregateFunction => ({
  kind: 'aggregate',
  documentation: `the ${which} number, text or date-time, as the first record with it writes it`,
  types: [...numbers, 'date-time', 'text'],
  ordered: true,
  type: of => (of === 'json' ? 'number' : of),
  fold: (field, size) => {
    const { from, end } = field.counted()
    const none = field.distinct
    const found = new Uint32Array(size).fill(none)
    return {
      take: (part, ids) => {
        const ranks = field.ranks(part)
        for (let at = 0; at < part.length; at++) {
          const rank = ranks[at] as number
          if (rank < from || rank >= end) continue
          const id = ids[at] as number
          const known = found[id] as number
          if (known === none || (name === 'min' ? rank < known : rank > known)) found[id] = rank
        }
      },
      result: () => ({
        json: id => (found[id] === none ? 'null' : field.json(found[id] as number)),
        ranks: of => of.map(id => found[id] as number),
      }),
    }
  },
  numbers: {
    fold: () => {
      let best: { readonly key: string; readonly number: string } | undefined
      return {
        add: given => {
          const number = String(given)
          const key = decimalKey(number)
          if (best === undefined || (name === 'min' ? key < best.key : key > best.key)) best = { key, number }
        },
        result: () => (best === undefined ? null : printNumber(best.number)),
      }
    },
    postgres: number => `${name}(${number})`,
  },
  sql: value => `${name}(${value})`,
})

export const min = extreme('min', 'least')
export const max = extreme('max', 'greatest')
