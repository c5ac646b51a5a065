import { printNumber } from '../../lib/decimals.ts'
import { type AggregateFunction, type NumberFold, numberResult, numbers } from './function.ts'

export const sum: AggregateFunction = {
  kind: 'aggregate',
  documentation: 'the sum of numbers; exact of whole ones',
  types: numbers,
  type: of => (of === 'integer' ? 'integer' : 'number'),
  fold: summing(sum => (typeof sum === 'bigint' ? String(sum) : JSON.stringify(sum))),
  numbers: {
    fold: () =>
      adding((units, fraction, _, isWhole) => {
        const exact = `${units}e${-fraction}`
        const double = Number(exact)
        return isWhole || !Number.isFinite(double) ? exact : String(double)
      }),
    postgres: number => {
      const sum = `sum(${number})`
      return `CASE WHEN NOT bool_and(${number} = trunc(${number})) AND ${isDouble(sum)} THEN ${shortest(asDouble(sum))} ELSE ${sum} END`
    },
  },
}

export const avg: AggregateFunction = {
  kind: 'aggregate',
  documentation: 'the mean of numbers',
  types: numbers,
  type: () => 'number',
  fold: summing((sum, count) => JSON.stringify(Number(sum) / count)),
  numbers: {
    fold: () =>
      adding((units, fraction, count) => {
        const total = Number(`${units}e${-fraction}`)
        // A sum may be larger than every double.
        const mean = Number.isFinite(total) ? total / count : Number(`${units / BigInt(count)}e${-fraction}`)
        return String(mean)
      }),
    postgres: number => {
      const sum = `sum(${number})`
      const exact = `${sum} / count(${number})`
      // A quotient of doubles too small for one would be an error, too, and a sum may exceed every double.
      return `CASE WHEN ${isDouble(sum)} AND (${sum} = 0 OR abs(${sum}) > 1e-280) THEN ${shortest(`${asDouble(sum)} / count(${number})`)}
    WHEN ${isDouble(`(${exact})`)} THEN ${shortest(asDouble(exact))} ELSE ${exact} END`
    },
  },
}

function summing(print: (sum: number | bigint, count: number) => string): AggregateFunction['fold'] {
  return (field, size) => {
    const { take, result } = field.adding(size)
    return {
      take,
      result: again => {
        const { sum, count } = result(again)
        return numberResult(id => (count(id) === 0 ? 'null' : print(sum(id), count(id))))
      },
    }
  }
}

/** Exponents beyond this, which only JSON can have, count as this. */
const maxPower = 10_000

/** Adds numbers exactly, as a whole number of units of the smallest decimal place. */
function adding(
  print: (units: bigint, fraction: number, count: number, isWhole: boolean) => string,
): NumberFold {
  let sum = 0n
  let fraction = 0
  let count = 0
  let isWhole = true
  return {
    add: given => {
      count++
      if (fraction === 0 && (typeof given === 'bigint' || /^-?\d+$/.test(given))) {
        sum += BigInt(given)
        return
      }
      const number = String(given)
      const [, sign = '', whole = '', behind = '', exponent = '0'] =
        /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(number) ?? []
      const power = Math.max(-maxPower, Math.min(maxPower, Number(exponent))) - behind.length
      let units = BigInt(`${whole}${behind}`) * 10n ** BigInt(Math.max(0, power + fraction))
      if (-power > fraction) {
        sum *= 10n ** BigInt(-power - fraction)
        fraction = -power
        units = BigInt(`${whole}${behind}`)
      }
      if (units % 10n ** BigInt(fraction) !== 0n) isWhole = false
      sum += sign === '' ? units : -units
    },
    result: () => (count === 0 ? null : printNumber(print(sum, fraction, count, isWhole))),
  }
}

/** SQL that is true if a double can hold the number. For others, the conversion would be an error. */
export const isDouble = (number: string) =>
  `(${number} = 0 OR abs(${number}) BETWEEN 5e-324 AND 1.7976931348623158e308)`
export const asDouble = (number: string) => `CAST(${number} AS DOUBLE PRECISION)`
/** The shortest decimal number that is this double. */
export const shortest = (double: string) => `CAST(CAST(${double} AS TEXT) AS NUMERIC)`
