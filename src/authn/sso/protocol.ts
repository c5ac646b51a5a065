import type { ProviderConfig } from '../../config/providers.ts'
import type { ProviderSession } from '../../model/identities.ts'

/** What every protocol comes down to (docs/decisions/0010): a provider vouches for somebody. */
export interface Vouched {
  readonly provider: ProviderConfig
  readonly attributes: Attributes
  readonly session: Pick<ProviderSession, 'name' | 'sid' | 'detail'>
}

/** The values of an attribute or claim, by its name as the configuration has it. */
export type Attributes = (name: string) => readonly string[]

/** Somebody who is on the way to a provider, or back. */
export interface PendingLogin {
  readonly provider: string
  /** Known to be allowed. */
  readonly redirectUrl: string
  /** 256 random bits in base64url. */
  readonly state: string
  /** A value that belongs to this attempt and that nobody else can know: 256 bits in base64url. */
  secret(purpose: 'nonce' | 'pkce' | 'saml-request'): string
}

/** How the browser is sent to a provider, and told there that the session here has ended. */
export interface Protocol {
  /**
   * @param anew the provider asks who it is, even if it knows the browser
   * @returns where the browser goes
   * @throws Refused, Unavailable
   */
  begin(pendingLogin: PendingLogin, anew: boolean): Promise<string>
  /** @returns where the browser goes to end the provider's session; undefined where the provider has no such place */
  logoutUrl(session: ProviderSession): Promise<string | undefined>
}

/**
 * What came from a provider can't be accepted. The reason is for the log: one of ours, or a library's that quotes
 * nothing of what was sent.
 */
export class Refused extends Error {}

/** The provider can't be reached, or isn't what the configuration says. */
export class Unavailable extends Error {}
