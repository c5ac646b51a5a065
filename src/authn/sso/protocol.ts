import type { ProviderConfig } from '../../config/providers.ts'
import type { Client } from '../../lib/fair-queue.ts'
import type { ProviderSession } from '../../model/identities.ts'

/** What every protocol comes down to (docs/decisions/0010): a provider vouches for somebody. */
export interface Vouched {
  readonly provider: ProviderConfig
  /** Of a federation, which identity provider. */
  readonly idp?: VouchingIdp
  readonly attributes: Attributes
  /** The names of all that came, for the log. */
  readonly names: readonly string[]
  readonly session: Pick<ProviderSession, 'name' | 'sid' | 'detail'>
}

/** What the metadata says of an identity provider that bears on how far its word goes. */
export interface VouchingIdp {
  readonly entityId: string
  readonly displayName: string | null
  /** In lower case. */
  readonly scopes: readonly string[]
}

/** The values of an attribute or claim, by its name as the configuration has it. */
export type Attributes = (name: string) => readonly string[]

/**
 * How a provider is asked (docs/decisions/0032): without showing anything, as it likes, or for a login even if it has a
 * session.
 */
export type Asking = 'silent' | 'usual' | 'forced'

/** A login that has begun and isn't complete. */
export interface PendingLogin {
  readonly provider: string
  readonly asking: Asking
  /** Of the identity provider, where the entry stands for those of a federation; null otherwise. */
  readonly entityId: string | null
  /** Known to be allowed. */
  readonly redirectUrl: string
  /** 256 random bits in base64url. */
  readonly state: string
  /** A secret value of this attempt: 256 bits in base64url. */
  secret(purpose: 'nonce' | 'pkce' | 'saml-request'): string
}

/** How the browser is sent to a provider, and told there that the session here has ended. */
export interface Protocol {
  /** @returns where the browser goes @throws Refused, Unavailable, Overloaded */
  begin(pendingLogin: PendingLogin, client: Client): Promise<string>
  /** @returns where the browser goes to end the provider's session; undefined where the provider has no such place */
  logoutUrl(session: ProviderSession): Promise<string | undefined>
}

/**
 * A message of a provider can't be accepted. The reason is for the log; it quotes nothing of the message.
 */
export class Refused extends Error {}

/** The provider answers that it has not authenticated the user: a silent attempt may end so. */
export class Declined extends Refused {}

/** The user signed in at the provider longer ago than its entry allows. */
export class TooOld extends Refused {}

/** The provider can't be reached, or isn't what the configuration says. */
export class Unavailable extends Error {}
