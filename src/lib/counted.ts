/** Such as `1 node`, `2 nodes`. */
export const counted = (number: number, what: string): string =>
  `${number.toLocaleString('en')} ${what}${number === 1 ? '' : 's'}`
