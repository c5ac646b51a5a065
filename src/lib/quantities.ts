/** Returns a number with a noun, such as `1 node` or `2 nodes`. */
export const quantity = (number: number, what: string): string =>
  `${number.toLocaleString('en')} ${what}${number === 1 ? '' : 's'}`
