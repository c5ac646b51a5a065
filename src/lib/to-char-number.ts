import { type Decimal, printDecimal, readDecimal, roundDecimal } from './decimals.ts'
import { DigitWriter, type Picture } from './to-char-digits.ts'
import { type MaskPart, numbers, readMask } from './to-char-mask.ts'

/** A picture while its patterns are added. */
type Draft = {
  -readonly [K in keyof Picture]: Picture[K]
} & {
  /** `V`: the number of places by which the number is shifted. */
  shift: number
  readonly has: Set<Picture['has'] extends ReadonlySet<infer T> ? T : never>
}

class Refused extends Error {}

/** @returns the reason why PostgreSQL refuses the mask; undefined if it doesn't */
export function checkNumberMask(mask: string): string | undefined {
  try {
    const parts = readMask(mask, numbers)
    const { whole, shift } = pictureOf(parts)
    const names = parts.flatMap(part => (part.kind === 'pattern' ? [part.name.toUpperCase()] : []))
    if (names.includes('L')) return 'L depends on the country of the server'
    if (names.includes('TH') && whole + shift === 0) return 'TH needs a digit before it'
    return undefined
  } catch (error) {
    if (error instanceof Refused) return error.message
    throw error
  }
}

function pictureOf(parts: readonly MaskPart[]): Draft {
  const picture: Draft = {
    whole: 0,
    fraction: 0,
    shift: 0,
    hasPoint: false,
    firstZero: undefined,
    lastZero: 0,
    isBare: false,
    sign: undefined,
    has: new Set(),
  }
  for (const part of parts) if (part.kind === 'pattern') addTo(picture, part.name.toUpperCase())
  return picture
}

/** Adds a pattern. The order of the patterns determines what is refused, and what `0` and `S` mean. */
function addTo(picture: Draft, name: string): void {
  const { has } = picture
  const refuseIf = (isWrong: boolean, why: string) => {
    if (isWrong) throw new Refused(why)
  }
  const signs = () => has.has('plus') || has.has('minus')
  refuseIf(has.has('exponent'), 'EEEE must be the last pattern')
  switch (name) {
    case '9':
    case '0':
      refuseIf(has.has('brackets'), `${name} must be before PR`)
      if (name === '9' && has.has('shift')) picture.shift++
      else {
        if (name === '0' && !picture.hasPoint) picture.firstZero ??= picture.whole
        if (picture.hasPoint) picture.fraction++
        else picture.whole++
        if (name === '0') picture.lastZero = picture.whole + picture.fraction
      }
      break
    case 'B':
      if (picture.whole + picture.fraction === 0) has.add('blank')
      break
    case 'D':
    case '.':
      refuseIf(picture.hasPoint, 'there may be one decimal point only')
      refuseIf(has.has('shift'), 'V and a decimal point exclude each other')
      picture.hasPoint = true
      break
    case 'FM':
      picture.isBare = true
      break
    case 'S':
      refuseIf(picture.sign !== undefined, 'there may be one S only')
      refuseIf(signs() || has.has('brackets'), 'S excludes PL, MI, SG and PR')
      picture.sign = picture.hasPoint ? 'end' : picture.whole
      break
    case 'MI':
    case 'PL':
    case 'SG':
      refuseIf(picture.sign !== undefined, `S excludes ${name}`)
      if (name !== 'PL') has.add('minus')
      if (name !== 'MI') has.add('plus')
      break
    case 'PR':
      refuseIf(picture.sign !== undefined || signs(), 'PR excludes S, PL, MI and SG')
      has.add('brackets')
      break
    case 'RN':
      refuseIf(has.has('roman'), 'there may be one RN only')
      has.add('roman')
      break
    case 'V':
      refuseIf(picture.hasPoint, 'V and a decimal point exclude each other')
      has.add('shift')
      break
    case 'EEEE':
      refuseIf(
        has.size > 0 || picture.isBare || picture.sign !== undefined,
        'EEEE goes with digits and a point only',
      )
      has.add('exponent')
  }
  const isMixed =
    has.size > 1 || picture.hasPoint || picture.firstZero !== undefined || picture.sign !== undefined
  refuseIf(has.has('roman') && isMixed, 'RN goes with FM only')
}

/** Returns a function that writes numbers with a mask. @param mask a mask that was checked */
export function numberFormat(mask: string): (number: string) => string {
  const parts = readMask(mask, numbers)
  const picture = pictureOf(parts)
  return number => {
    const value = readDecimal(number)
    if (picture.has.has('exponent')) return scientific(value, picture.fraction)
    if (picture.has.has('roman')) return new DigitWriter(picture, roman(value), false, 0).write(parts)
    const { digits, exponent, isNegative } = value
    const shifted = { isNegative, digits, exponent: digits === '' ? 0 : exponent + picture.shift }
    const rounded = roundDecimal(shifted, picture.fraction)
    const whole = picture.whole + picture.shift
    const length = rounded.digits === '' ? 1 : Math.max(rounded.exponent, 1)
    const text =
      length > whole
        ? `${'#'.repeat(whole)}.${'#'.repeat(picture.fraction)}`
        : printDecimal(rounded, picture.fraction)
    return new DigitWriter(
      { ...picture, whole },
      text,
      rounded.isNegative,
      Math.max(0, whole - length),
    ).write(parts)
  }
}

/**
 * Writes scientific notation: a digit, a point if there are more digits, and the power of ten
 * with at least two digits.
 */
function scientific(value: Decimal, places: number): string {
  const sign = value.isNegative ? '-' : ' '
  const power = value.digits === '' ? 0 : value.exponent - 1
  const { digits, exponent } = roundDecimal({ ...value, exponent: value.exponent - power }, places)
  const shown = String(Math.abs(power)).padStart(2, '0')
  return `${sign}${printDecimal({ isNegative: false, digits, exponent }, places)}e${power < 0 ? '-' : '+'}${shown}`
}

const maxRoman = 3999
const romanDigits = [
  ['M', '', ''],
  ['C', 'D', 'M'],
  ['X', 'L', 'C'],
  ['I', 'V', 'X'],
] as const

function roman(value: Decimal): string {
  const rounded = roundDecimal(value, 0)
  const number = rounded.exponent > 4 ? Infinity : Number(printDecimal(rounded, 0))
  if (value.isNegative || number < 1 || number > maxRoman) return '#'.repeat(15)
  return String(number)
    .padStart(4, '0')
    .split('')
    .map((digit, at) => {
      const [one, five, ten] = romanDigits[at] ?? ['', '', '']
      const pattern = ['', '1', '11', '111', '15', '5', '51', '511', '5111', '1T'][Number(digit)] ?? ''
      return pattern.replaceAll('1', one).replaceAll('5', five).replaceAll('T', ten)
    })
    .join('')
}
