/** Whether this is `npm run test:long`, in which tests repeat what is random, or only rarely goes wrong, a lot. */
export const isLong = process.env.CARREL_TEST_SCALE === 'long'

/** @returns the first number by default, the second one in the long run */
export const repeats = (everyday: number, long: number): number => (isLong ? long : everyday)
