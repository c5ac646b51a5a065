import type { ProviderConfig } from '../config/providers.ts'
import type { Client } from '../lib/fair-queue.ts'
import type { ProviderSession } from '../model/identities.ts'

/** The result of every protocol (docs/decisions/0010): a provider vouches for a user. */
export interface Vouched {
  readonly provider: ProviderConfig
  /** The identity provider, if the provider is a federation. */
  readonly idp?: VouchingIdp
  readonly attributes: Attributes
  /** The names of all attributes that came, for the log. */
  readonly names: readonly string[]
  readonly session: Pick<ProviderSession, 'name' | 'sid' | 'detail'>
}

/** The parts of an identity provider's metadata that limit which users it may vouch for. */
export interface VouchingIdp {
  readonly entityId: string
  readonly displayName: string | null
  /** Domains in lower case. */
  readonly scopes: readonly string[]
}

/** The values of an attribute or claim, by its name in the configuration. */
export type Attributes = (name: string) => readonly string[]

/**
 * The way a provider is asked (docs/decisions/0032): without showing a page, in its usual way, or for a new
 * login even if it has a session.
 */
export type Asking = 'silent' | 'usual' | 'forced'

/** A login that has begun and isn't complete. */
export interface PendingLogin {
  readonly provider: string
  readonly asking: Asking
  /** The entity id of the identity provider if the entry is for a federation; null otherwise. */
  readonly entityId: string | null
  /** The address to return to, known to be allowed. */
  readonly redirectUrl: string
  /** 256 random bits in base64url. */
  readonly state: string
  /** A secret value of this attempt: 256 bits in base64url. */
  secret(purpose: 'nonce' | 'pkce' | 'saml-request'): string
}

/** A protocol's way to a provider, and the way to the provider's logout. */
export interface Protocol {
  /** @returns the address to which the browser is sent @throws Refused, Unavailable, Overloaded */
  begin(pendingLogin: PendingLogin, client: Client): Promise<string>
  /** @returns the address to which the browser is sent to end the provider's session; undefined if there is none */
  logoutUrl(session: ProviderSession): Promise<string | undefined>
}

/** A message of a provider can't be accepted. The reason is for the log; it quotes nothing of the message. */
export class Refused extends Error {}

/** The provider answers that it has not authenticated the user: a silent attempt may end so. */
export class Declined extends Refused {}

/** The user signed in at the provider longer ago than its entry allows. */
export class TooOld extends Refused {}

/** The provider can't be reached, or isn't what the configuration says. */
export class Unavailable extends Error {}

/** A sign-on at the provider, as far as requirements apply to it: its time and its class (docs/decisions/0032). */
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
