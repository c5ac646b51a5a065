import type { Awaitable } from '../lib/awaitable.ts'
import type { Factors } from './factor-statements.ts'

/** Time in ms after which the store is asked again. */
const lookAgainAfter = 1_000

/**
 * The value of WWW-Authenticate, which offers a login by passkey only while some passkey stands alone: otherwise it stays the
 * given one (L4, L16).
 */
export interface Offer {
  /** Returns it as it was at most a second ago, or when it was last asked for. */
  readonly challenge: () => string
  /** Asks the store first, so that a page which offers ways to log in has the one that was added a moment ago. */
  readonly challengeNow: () => Awaitable<string>
}

export async function keepOffer(
  factors: Pick<Factors, 'standsAlone'>,
  usual: string,
  withPasskeys: string,
): Promise<Offer> {
  let challenge = usual
  let looked = Number.NEGATIVE_INFINITY
  let isAnswered = false
  let looking: Promise<void> | undefined
  async function ask(): Promise<void> {
    try {
      challenge = (await factors.standsAlone()) ? withPasskeys : usual
      isAnswered = true
    } catch {
      isAnswered = false
    }
    looked = performance.now()
  }
  /** Asks the store once at a time, however many requests wait. */
  function look(): Promise<void> {
    looking ??= ask().finally(() => {
      looking = undefined
    })
    return looking
  }
  const known = () => {
    if (performance.now() - looked > lookAgainAfter) void look()
    return challenge
  }
  await look()
  return {
    challenge: known,
    // While the store is away, no answer waits for it or depends on it.
    challengeNow: () => (isAnswered ? look().then(() => challenge) : known()),
  }
}
