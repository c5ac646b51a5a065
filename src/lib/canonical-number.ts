/** Longer numbers, and powers of ten beyond, are no values of anybody, and databases refuse them. */
const maxDigits = 1_000

/**
 * One text for equal numbers of JSON: as JavaScript prints the double that is equal, or else with all digits and no
 * exponent.
 * @returns undefined for a number with more than 1,000 digits, before or behind the point
 */
export function canonicalNumber(text: string): string | undefined {
  if (text.length > maxDigits) return undefined
  const number = read(text)
  if (number.digits === '') return '0'
  if (Math.abs(number.point) > maxDigits) return undefined
  const double = String(Number(text))
  const other = read(double)
  if (other.digits === number.digits && other.point === number.point) return double
  return number.sign + withoutExponent(number)
}

/** A number as sign 0.digits × 10 ^ point, without zeros at either end of the digits. */
function read(text: string) {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(text) ?? []
  const all = whole + fraction
  const digits = all.replace(/^0+/, '')
  const point = whole.length + Number(exponent) - (all.length - digits.length)
  return { sign, digits: digits.replace(/0+$/, ''), point }
}

function withoutExponent({ digits, point }: ReturnType<typeof read>): string {
  if (point <= 0) return `0.${'0'.repeat(-point)}${digits}`
  if (point >= digits.length) return digits.padEnd(point, '0')
  return `${digits.slice(0, point)}.${digits.slice(point)}`
}
