/**
 * How often the tests repeat what is random, or only rarely goes wrong: a little by default, and a lot in
 * `npm run test:long`, which also runs the files of test/contract/ that import this one.
 */
const isLong = process.env.CARREL_TEST_SCALE === 'long'

/** @returns the first number by default, the second one in the long run */
export const repeats = (everyday: number, long: number): number => (isLong ? long : everyday)
