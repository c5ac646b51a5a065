/** Longer numbers, and powers of ten beyond, are no values of anybody, and databases refuse them. */
const maxDigits = 1_000

/**
 * A number of JSON as JavaScript prints doubles (ECMA-262 §6.1.6.1.20), but with all of its digits: numbers are equal if
 * these texts are.
 * @returns undefined for a number with more than 1,000 digits, before or behind the point
 */
export function canonicalNumber(text: string): string | undefined {
  if (text.length > maxDigits) return undefined
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(text) ?? []
  const all = whole + fraction
  const digits = all.replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  // The value is 0.significant × 10 ^ point.
  const point = whole.length + Number(exponent) - (all.length - digits.length)
  if (Math.abs(point) > maxDigits) return undefined
  return sign + printed(significant, point)
}

function printed(digits: string, point: number): string {
  if (point > 21 || point < -5) {
    const power = point - 1
    const mantissa = digits.length === 1 ? digits : `${digits[0]}.${digits.slice(1)}`
    return `${mantissa}e${power < 0 ? '-' : '+'}${Math.abs(power)}`
  }
  if (point <= 0) return `0.${'0'.repeat(-point)}${digits}`
  if (point >= digits.length) return digits.padEnd(point, '0')
  return `${digits.slice(0, point)}.${digits.slice(point)}`
}
