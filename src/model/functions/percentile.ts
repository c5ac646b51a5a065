import { decimalKey, printNumber, readDecimal } from '../../lib/decimals.ts'
import { countingValues, ranksByGroup } from './counts.ts'
import { type AggregateFunction, numberResult, numbers } from './function.ts'
import { asDouble, isDouble, shortest } from './sums.ts'

/** Percentiles as PostgreSQL's `percentile_cont` defines them, but of exact decimals. The argument is a part of 1. */
export const percentile: AggregateFunction = {
  kind: 'aggregate',
  documentation:
    'the number at this place in their order, or between the two next to it. Decimals count exactly, and the answer is the nearest double.',
  types: numbers,
  takes: { words: 'a field and a number from 0 to 100', examples: [90] },
  type: () => 'number',
  argument: ({ kind, text, shown, wrong }) => {
    const part = kind === 'number' ? readPercent(text) : undefined
    if (part !== undefined) return part
    throw wrong(`A percentage is a number from 0 to 100 with at most ${maxDigits} digits, not ${shown}.`)
  },
  // Ranks are in the order of the values, so a group's ranks are sorted when its percentile is wanted.
  fold: (field, size, part) => {
    const { from, end } = field.counted()
    const { counts, take } = countingValues(field, from, end, size)
    return {
      take,
      result: again => {
        const { sorted, ends } = ranksByGroup(counts, field, from, end, again)
        const known = new Map<number, string>()
        return numberResult(id => {
          const found = known.get(id)
          if (found !== undefined) return found
          const count = counts[id] as number
          if ((known.size & 0xff) === 0) field.mayGoOn()
          const own = sorted.subarray((ends[id] as number) - count, ends[id]).sort()
          const text =
            count === 0 ? 'null' : percentileOf(count, part, place => field.json(own[place] as number))
          known.set(id, text)
          return text
        })
      },
    }
  },
  numbers: {
    fold: part => {
      const numbers: { readonly key: string; readonly number: string }[] = []
      return {
        add: given => {
          const number = String(given)
          numbers.push({ key: decimalKey(number), number })
        },
        result: () => {
          numbers.sort((one, other) => (one.key < other.key ? -1 : Number(one.key > other.key)))
          return percentileOf(numbers.length, part, place => (numbers[place] as { number: string }).number)
        },
      }
    },
    // `percentile_cont` computes with doubles.
    postgres: (
      number,
      part,
    ) => `(SELECT CASE WHEN ${isDouble('r.v')} THEN ${shortest(asDouble('r.v'))} ELSE r.v END
    FROM (SELECT CASE WHEN q.f = 0 THEN q.a[q.k] ELSE q.a[q.k] + (q.a[q.k + 1] - q.a[q.k]) * q.f END AS v
      FROM (SELECT p.a, CAST(trunc(p.at) AS INTEGER) + 1 AS k, p.at - trunc(p.at) AS f
        FROM (SELECT s.a, (cardinality(s.a) - 1) * CAST('${part}' AS NUMERIC) AS at
          FROM (SELECT array_agg(${number} ORDER BY ${number}) FILTER (WHERE ${number} IS NOT NULL) AS a) AS s OFFSET 0) AS p OFFSET 0) AS q OFFSET 0) AS r)`,
  },
}

const { takes: _, argument: __, ...plain } = percentile
export const median: AggregateFunction = {
  ...plain,
  documentation: 'the percentile 50',
  is: { name: 'percentile', argument: '0.5' },
}

/** Maximum number of digits of a percentage. */
const maxDigits = 20

/** @param text a number as JSON writes it @returns the part of 1 in plain digits; undefined unless it is from 0 to 100 */
function readPercent(text: string): string | undefined {
  const { isNegative, digits, exponent } = readDecimal(text)
  const isAbove = exponent > 3 || (exponent === 3 && digits !== '1')
  if (isNegative || isAbove || digits.length > maxDigits || exponent < -maxDigits) return undefined
  if (digits === '') return '0'
  const places = digits.length - exponent + 2
  return places <= 0 ? '1' : inPlaces(BigInt(digits), places)
}

const inPlaces = (units: bigint, places: number): string => {
  const text = String(units).padStart(places + 1, '0')
  return `${text.slice(0, -places)}.${text.slice(-places)}`
}

/**
 * Finds a percentile among values in their order, between the one before it and the one after it.
 * @param part of 1, as `readPercent` returns it
 * @param at returns the number at a place, as JSON
 * @returns the double next to it as JSON
 */
function percentileOf(count: number, part: string, at: (place: number) => string): string {
  const [whole = '0', fraction = ''] = part.split('.')
  const unit = 10n ** BigInt(fraction.length)
  const place = BigInt(count - 1) * BigInt(whole + fraction)
  const [low, rest] = [at(Number(place / unit)), place % unit]
  if (rest === 0n) return nearestDouble(low)
  return nearestDouble(between(low, at(Number(place / unit) + 1), rest, fraction.length))
}

/** Exponents beyond this, which only JSON can have, are not added exactly. */
const maxPower = 20_000

function between(low: string, high: string, rest: bigint, digits: number): string {
  const [one, other] = [readDecimal(low), readDecimal(high)]
  if (Math.abs(one.exponent) > maxPower || Math.abs(other.exponent) > maxPower) return low
  const places = Math.max(0, one.digits.length - one.exponent, other.digits.length - other.exponent)
  const unitsOf = ({ isNegative, digits, exponent }: typeof one) => {
    const units = digits === '' ? 0n : BigInt(digits) * 10n ** BigInt(places + exponent - digits.length)
    return isNegative ? -units : units
  }
  const [from, to] = [unitsOf(one), unitsOf(other)]
  return `${from * 10n ** BigInt(digits) + (to - from) * rest}e${-places - digits}`
}

/** A number that no double is close to stays as it is. */
function nearestDouble(number: string): string {
  const double = Number(number)
  const isClose = Number.isFinite(double) && (double !== 0 || readDecimal(number).digits === '')
  return printNumber(isClose ? String(double) : number)
}
