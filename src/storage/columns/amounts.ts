import { noAmount } from './stored-field.ts'

/** Most decimals of numbers that are added as whole numbers. */
const maxScale = 6

/**
 * Returns the number of decimals of the one that has most, so that all times ten to its power are whole.
 * @returns -1 if some have more than are added as whole numbers
 */
export function scaleOf(doubles: Float64Array): number {
  let scale = 0
  let power = 1
  for (let at = 0; at < doubles.length; at++) {
    const value = doubles[at] as number
    while (Math.round(value * power) / power !== value) {
      if (++scale > maxScale) return -1
      power *= 10
    }
  }
  return scale
}

/** Largest absolute value of the doubles; they are in order. */
const largestOf = (doubles: Float64Array): number =>
  doubles.length === 0 ? 0 : Math.max(Math.abs(doubles[0] as number), Math.abs(doubles.at(-1) as number))

/** True if a double holds any sum of `count` of the numbers, times a power of ten, exactly. */
export const hasExactSums = (doubles: Float64Array, scale: number, count: number): boolean =>
  scale >= 0 && largestOf(doubles) * 10 ** scale * count <= Number.MAX_SAFE_INTEGER

/** Returns the numbers times a power of ten. */
export const scaled = (doubles: Float64Array, scale: number): Float64Array =>
  scale === 0 ? doubles : doubles.map(value => Math.round(value * 10 ** scale))

/** True if all numbers, times a power of ten, fit into 32 bits. */
export const fitAmounts = (doubles: Float64Array, scale: number): boolean =>
  largestOf(doubles) * 10 ** scale <= 0x7fff_ffff

/** Returns the number of each record. @param whole numbers by rank */
export function amountsOf(ranks: Uint32Array, whole: Int32Array): Int32Array {
  const amounts = new Int32Array(ranks.length)
  for (let n = 0; n < ranks.length; n++) {
    const rank = ranks[n] as number
    amounts[n] = rank < whole.length ? (whole[rank] as number) : noAmount
  }
  return amounts
}
