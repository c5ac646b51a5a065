/** Whether this is `npm run test:long`, in which tests repeat what is random, or only rarely goes wrong, a lot. */
export const isLong = process.env.CARREL_TEST_SCALE === 'long'

/** @returns the first number by default, the second one in the long run */
export const repeats = (everyday: number, long: number): number => (isLong ? long : everyday)

/** Repeats what has failed; without it, only the long run is different each time. */
const { CARREL_TEST_SEED = isLong ? undefined : '1' } = process.env

/** What fast-check takes: the first number of runs by default, always the same ones, and the second one in the long run. */
export const runs = (everyday: number, long: number) => ({
  numRuns: repeats(everyday, long),
  ...(CARREL_TEST_SEED !== undefined && { seed: Number(CARREL_TEST_SEED) }),
})
