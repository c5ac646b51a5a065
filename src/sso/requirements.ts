import { Refused, TooOld } from './protocol.ts'

/**
 * A sign-on at the provider, as far as requirements apply to it: its time and its class
 * (docs/decisions/0032).
 */
interface SignedIn {
  /** Milliseconds since 1970; undefined or NaN if the provider does not say. */
  readonly at: number | undefined
  /** The class of the authentication; undefined if the provider does not say. */
  readonly class: string | undefined
}

interface Required {
  /** Seconds. */
  readonly maxAge: number | undefined
  readonly classes: readonly string[] | undefined
  /** Difference between the clocks that is tolerated, in ms. */
  readonly skew: number
  /** The protocol's names of the two values, for the log. */
  readonly names: { readonly at: string; readonly class: string }
}

/** @throws TooOld; Refused if the provider doesn't say, or says something else than required */
export function requireSignedIn(given: SignedIn, { maxAge, classes, skew, names }: Required): void {
  if (classes !== undefined && !classes.includes(given.class ?? ''))
    throw new Refused(`the user did not sign in as required (${names.class})`)
  if (maxAge === undefined) return
  const age = Date.now() - (given.at ?? Number.NaN)
  if (Number.isNaN(age)) throw new Refused(`it does not say when the user signed in (${names.at})`)
  if (age < -skew) throw new Refused(`the user signed in in the future (${names.at})`)
  if (age > maxAge * 1000 + skew) throw new TooOld(`the user signed in too long ago (${names.at})`)
}
