/**
 * How often the tests repeat what is random, or only rarely goes wrong: a little in `npm test`, and a lot in
 * `npm run test:long`, which runs the files that import this one.
 */
const isLong = process.env.CARREL_TEST_SCALE === 'long'

/** @returns the first number every day, the second one in the long run */
export const repeats = (everyday: number, long: number): number => (isLong ? long : everyday)
