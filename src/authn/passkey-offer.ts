import type { Factors } from '../storage/factors.ts'

/** Time in ms after which the store is asked again. */
const lookAgainAfter = 1_000

/**
 * Keeps the value of WWW-Authenticate, which offers a login by passkey only while some passkey stands alone: otherwise it
 * stays the given one (L4, L16).
 */
export async function keepOffer(
  factors: Pick<Factors, 'standsAlone'>,
  usual: string,
  withPasskeys: string,
): Promise<() => string> {
  let challenge = usual
  let looked = Number.NEGATIVE_INFINITY
  async function look(): Promise<void> {
    looked = Number.POSITIVE_INFINITY
    try {
      challenge = (await factors.standsAlone()) ? withPasskeys : usual
    } finally {
      looked = performance.now()
    }
  }
  await look()
  return () => {
    // The answer doesn't wait, nor depend on the store.
    if (performance.now() - looked > lookAgainAfter) look().catch(() => {})
    return challenge
  }
}
