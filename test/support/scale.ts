import { randomInt } from 'node:crypto'

/** True in `npm run test:long`, where tests repeat many times what is random or rarely goes wrong. */
export const isLong = process.env.CARREL_TEST_SCALE === 'long'

/** @returns the first number by default, the second one in the long run */
export const repeats = (everyday: number, long: number): number => (isLong ? long : everyday)

const { CARREL_TEST_SEED } = process.env
/** The seed of random input: a fixed one in CI, and a new one for each process of the long run, which says it. */
const seed = CARREL_TEST_SEED !== undefined ? Number(CARREL_TEST_SEED) : isLong ? randomInt(2 ** 31) : 1
if (isLong) console.error(`CARREL_TEST_SEED=${seed} repeats the random input of this process`)

/** fast-check's options: the first number of runs by default, the second one in the long run. */
export const runs = (everyday: number, long: number) => ({ numRuns: repeats(everyday, long), seed })
