/**
 * Distinguishes the texts of a number (docs/decisions/0063). For each distinct number of a batch, its *form*
 * identifies the text with which it was written. Only fields with unusual texts have forms.
 */

/** The form of a number that is written as JavaScript prints it. */
export const plainForm = 0
/** The form of a number that has several texts. */
export const severalForms = 0x3fff_ffff
/** Marks a value without a form. */
export const noForm = 0xffff_ffff

/**
 * Returns a hash of the text as its form. Two different texts have the same form with a probability of
 * one in a thousand million.
 * @param text a text that JavaScript wouldn't print
 */
function formOf(text: string): number {
  // The hash is FNV-1a.
  let hash = 0x811c_9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x0100_0193)
  return 1 + ((hash >>> 2) % (severalForms - 1))
}

/** The forms of the values of a batch, by their numbers. */
export class NumberForms {
  readonly #forms: number[]

  /** @param met number of values met before, none of which had an unusual text */
  constructor(met: number) {
    this.#forms = Array<number>(met).fill(plainForm)
  }

  /** @param text the text of the number; undefined if JavaScript prints it so */
  add(code: number, text?: string): void {
    const form = text === undefined ? plainForm : formOf(text)
    const known = this.#forms
    // Values of other kinds, which have no forms, may have been met since.
    while (known.length < code) known.push(plainForm)
    known[code] = code < known.length ? both(known[code] as number, form) : form
  }

  /**
   * Returns the forms of the distinct values.
   * @param places for each number of a value, its position among the distinct values
   */
  inOrder(places: Uint16Array, size: number): Uint32Array {
    const found = new Uint32Array(size).fill(noForm)
    for (let code = 0; code < this.#forms.length; code++) {
      const form = this.#forms[code] as number
      const place = places[code] as number
      found[place] = found[place] === noForm ? form : both(found[place] as number, form)
    }
    return found
  }
}

const both = (one: number, other: number): number => (one === other ? one : severalForms)

/**
 * The ways in which a file may write all numbers of a field, as a set of bits. A field that keeps to one of
 * them needs no look at its records to tell how they write a number (docs/decisions/0070).
 */
export type Styles = number

/** Bit n, up to this one: with n decimals, such as `3.50`. */
const maxDecimals = 15
/** Whole numbers end with `.0`, and JavaScript prints the others like that. */
const withPoint = 1 << 16
/** The way in which JavaScript prints it. */
const asPrinted = 1 << 17

export const allStyles: Styles = (1 << 18) - 1

/** Returns the styles in which a number has this text. */
export function stylesOf(value: number, text: string): Styles {
  const printed = String(value)
  const point = text.indexOf('.')
  const decimals = point < 0 ? 0 : text.length - point - 1
  let styles = text === printed ? asPrinted : 0
  if (decimals <= maxDecimals && Math.abs(value) < 1e21 && text === value.toFixed(decimals))
    styles |= 1 << decimals
  if (text === (Number.isInteger(value) ? `${printed}.0` : printed)) styles |= withPoint
  return styles
}

/** Returns a function that writes numbers in one of the styles. @param styles at least one */
export function printerOf(styles: Styles): (value: number) => string {
  if ((styles & asPrinted) !== 0) return String
  if ((styles & withPoint) !== 0) return value => (Number.isInteger(value) ? `${value}.0` : String(value))
  const decimals = 31 - Math.clz32(styles)
  return value => value.toFixed(decimals)
}
