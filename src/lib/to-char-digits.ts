import { type MaskPart, ordinalOf } from './to-char-mask.ts'

/** The combined meaning of a mask's patterns. */
export interface Picture {
  /** Number of digits before the decimal point, and after it. */
  readonly whole: number
  readonly fraction: number
  readonly hasPoint: boolean
  /** Position of the first `0` before the decimal point. */
  readonly firstZero: number | undefined
  /** Number of digits up to the last `0`. */
  readonly lastZero: number
  /** True if the mask has `FM`. */
  readonly isBare: boolean
  /** The place of `S`: the number of digits before it, or `end` if it follows the decimal point. */
  readonly sign: number | 'end' | undefined
  /** Patterns that occur anywhere in the mask. `SG` counts as both minus and plus. */
  readonly has: ReadonlySet<'brackets' | 'minus' | 'plus' | 'roman' | 'exponent' | 'shift' | 'blank'>
}

/**
 * Puts a number into its mask as PostgreSQL does, whose rules are described only by its code and output
 * (src/backend/utils/adt/formatting.c). Digits, points and blanks go from left to right. A sign is written
 * before the first digit shown, wherever that is.
 */
export class DigitWriter {
  readonly #picture: Picture
  /** The digits, including the decimal point if there is one. */
  readonly #digits: string
  readonly #isNegative: boolean
  /** Number of places of the mask to the left of the digits. */
  readonly #blanks: number
  readonly #brackets: boolean
  readonly #signPlace: 'start' | 'end' | undefined
  /** With `FM`, the last character that is always shown. */
  readonly #lastShown: number | undefined
  /**
   * Number of digit places, from which `#writeEnd` knows the last one. It is one less than the digits of the
   * mask, unless a sign needs room.
   */
  readonly #places: number
  #out = ''
  /** The next place of the mask, and the next digit. */
  #place = 0
  #next = 0
  #isSigned: boolean
  /** True if the last place showed a digit. Separators are shown only then. */
  #isInNumber = false

  constructor(picture: Picture, digits: string, isNegative: boolean, blanks: number) {
    this.#picture = picture
    this.#digits = digits
    this.#isNegative = isNegative
    this.#blanks = blanks
    const { has, isBare, sign, whole, fraction, hasPoint } = picture
    this.#brackets = has.has('brackets') && (isNegative || !isBare || has.has('plus') || has.has('minus'))
    // A sign after all digits before the decimal point is also at the end.
    this.#signPlace = sign === undefined ? undefined : sign === 'end' || sign === whole ? 'end' : 'start'
    // MI and SG write the sign where they stand; PL shows only a plus.
    this.#isSigned =
      has.has('minus') || (!has.has('plus') && !isNegative && isBare && this.#signPlace === undefined)
    this.#lastShown = isBare && hasPoint ? this.#lastRelevant() : undefined
    this.#places = whole + fraction - 1 + (!this.#isSigned && blanks === 0 ? 1 : 0)
  }

  write(parts: readonly MaskPart[]): string {
    for (const part of parts) {
      if (part.kind === 'copied') this.#out += part.text
      else this.#writePattern(part.name)
    }
    // PostgreSQL ends the text at a point without digits after it, and everything that follows is lost.
    return this.#out.split('\0')[0] ?? ''
  }

  #writePattern(name: string): void {
    const { isBare } = this.#picture
    const filler = isBare ? '' : ' '
    switch (name.toUpperCase()) {
      case '9':
      case '0':
      case '.':
      case 'D':
        if (!this.#picture.has.has('roman')) this.#writePlace(name === '0')
        break
      case ',':
      case 'G':
        this.#out += this.#isInNumber ? ',' : filler
        break
      case 'MI':
        this.#out += this.#isNegative ? '-' : filler
        break
      case 'PL':
        this.#out += this.#isNegative ? filler : '+'
        break
      case 'SG':
        this.#out += this.#isNegative ? '-' : '+'
        break
      case 'TH':
        this.#out += this.#ordinal(name)
        break
      case 'RN':
        this.#out += (name === 'rn' ? this.#digits.toLowerCase() : this.#digits).padStart(isBare ? 0 : 15)
    }
  }

  #ordinal(name: string): string {
    const { has, hasPoint } = this.#picture
    if (has.has('roman') || this.#digits.startsWith('#') || this.#isNegative || hasPoint) return ''
    const ordinal = ordinalOf(this.#digits)
    return name === 'TH' ? ordinal.toUpperCase() : ordinal
  }

  #writePlace(isZero: boolean): void {
    const { firstZero } = this.#picture
    const isLeft = this.#place < this.#blanks
    this.#isInNumber = false
    if (!this.#isSigned && this.#takesSign()) this.#writeSign()
    if (isLeft && (firstZero === undefined || firstZero > this.#place)) this.#fill()
    else if (isLeft) this.#show('0')
    else this.#writeDigit(isZero)
    this.#place++
  }

  #takesSign(): boolean {
    const isReached = this.#place >= this.#blanks || this.#picture.firstZero === this.#place
    return isReached && (!this.#hidesZero() || this.#endsAtPoint())
  }

  #writeSign(): void {
    if (this.#signPlace === 'end') return
    this.#isSigned = true
    if (this.#signPlace === 'start') this.#out += this.#isNegative ? '-' : '+'
    else if (this.#brackets) this.#out += this.#isNegative ? '<' : ' '
    else if (this.#isNegative) this.#out += '-'
    else this.#fill()
  }

  #writeDigit(isZero: boolean): void {
    const digit = this.#digits[this.#next] ?? '\0'
    if (digit === '.') {
      if (!this.#endsAtPoint() || this.#picture.isBare) this.#out += '.'
    } else if (this.#lastShown !== undefined && this.#next > this.#lastShown && !isZero) {
      // With `FM`, zeros at the end are not shown.
    } else if (!this.#hidesZero()) this.#show(digit)
    else if (!this.#picture.isBare) this.#out += ' '
    else if (this.#endsAtPoint()) this.#out += '0'
    if (this.#next < this.#digits.length) this.#next++
    this.#writeEnd()
  }

  #writeEnd(): void {
    const { hasPoint } = this.#picture
    if (this.#lastShown !== undefined && this.#lastShown === this.#next) return
    if (this.#place + 1 !== this.#places + (this.#blanks > 0 ? 1 : 0) + (hasPoint ? 1 : 0)) return
    if (this.#isSigned && this.#brackets) this.#out += this.#isNegative ? '>' : ' '
    else if (this.#signPlace === 'end') this.#out += this.#isNegative ? '-' : '+'
  }

  #show(digit: string): void {
    this.#out += digit
    this.#isInNumber = true
  }

  #fill(): void {
    if (!this.#picture.isBare) this.#out += ' '
  }

  /** True if a leading zero is hidden: 0.1 in the mask 9.9 is .1. */
  #hidesZero(): boolean {
    const { firstZero, fraction } = this.#picture
    return firstZero === undefined && this.#next === 0 && this.#digits.startsWith('0') && fraction > 0
  }

  #endsAtPoint = (): boolean => this.#lastShown !== undefined && this.#digits[this.#lastShown] === '.'

  /**
   * Returns the index of the last digit other than zero, or of the point before it. A
   * `0` in the mask extends it.
   */
  #lastRelevant(): number | undefined {
    const point = this.#digits.indexOf('.')
    if (point === -1) return undefined
    const last = Math.max(point, this.#digits.replace(/0+$/, '').length - 1)
    const { lastZero } = this.#picture
    if (lastZero <= this.#blanks) return last
    return Math.max(last, Math.min(this.#digits.length - 1, lastZero - this.#blanks))
  }
}
