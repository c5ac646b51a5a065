/** True in `npm run test:long`, where tests of random or rarely failing behavior are repeated many times. */
export const isLong = process.env.CARREL_TEST_SCALE === 'long'

/** @returns the first number by default, the second one in the long run */
export const repeats = (everyday: number, long: number): number => (isLong ? long : everyday)

/** The seed of random input: fixed in CI, new in each long run. Setting it repeats a failure. */
const { CARREL_TEST_SEED = isLong ? undefined : '1' } = process.env

/** fast-check's options: the first number of runs by default, the second one in the long run. */
export const runs = (everyday: number, long: number) => ({
  numRuns: repeats(everyday, long),
  ...(CARREL_TEST_SEED !== undefined && { seed: Number(CARREL_TEST_SEED) }),
})
