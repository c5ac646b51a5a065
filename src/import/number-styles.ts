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
