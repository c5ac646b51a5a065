import type { Eperson } from './accounts.ts'

/** Who an identity provider vouches for, and who that is here (X3, docs/decisions/0010). */

/** Somebody whom a provider vouches for. */
export interface Identity {
  /** Its id in the configuration. */
  readonly provider: string
  /** Never given to anybody else by this provider. */
  readonly subject: string
  /** Only if it may be relied on. */
  readonly email: string | null
  readonly firstName: string | null
  readonly lastName: string | null
}

/** Which eperson a subject of a provider is. */
export interface LinkedIdentity {
  readonly email: string
  readonly provider: string
  readonly subject: string
  /** RFC 3339. */
  readonly linked: string
}

/** What the operator allows for identities that have not been seen before. */
export interface Matching {
  /** Whether an eperson with the same e-mail address is theirs. */
  readonly byEmail: boolean
  readonly create: boolean
}

export type Recognized =
  | { readonly kind: 'known' | 'linked'; readonly eperson: Eperson }
  | { readonly kind: 'created'; readonly eperson: Eperson | null }
  | { readonly kind: 'refused'; readonly why: Refusal; readonly eperson: Eperson | null }

export type Refusal = 'disabled' | 'email-taken' | 'other-subject' | 'unknown' | 'no-email'

export interface ProviderLogin {
  readonly uuid: string
  /** As it was when the provider vouched: a logout since has replaced it. */
  readonly sessionKey: Uint8Array
  readonly session: ProviderSession
}

/** What a provider calls a session, and what it wants to be told when the session ends here. */
export interface ProviderSession {
  readonly provider: string
  /** SAML: the NameID. OpenID Connect: the claim `sub`. */
  readonly name: string
  /** SAML: SessionIndex. OpenID Connect: the claim `sid`. */
  readonly sid: string | null
  /** The protocol's own. */
  readonly detail: Readonly<Record<string, string>>
}

/** Sessions by name, by session id, or by both; a session whose id isn't known is told by its name. */
export interface AtProvider {
  readonly provider: string
  readonly name: string | null
  readonly sid: string | null
}

/** What the store knows of an identity. */
export interface Found {
  readonly bySubject: Eperson | undefined
  readonly byEmail: Eperson | undefined
  /** Whether the eperson of that e-mail address has another subject of the same provider. */
  readonly emailHasOtherSubject: boolean
}

/**
 * Who an identity is (X3). The subject decides; an e-mail address only where it was never linked to another subject of
 * the provider, because addresses are given to somebody else one day.
 */
export function decide(found: Found, { email }: Identity, { byEmail, create }: Matching): Recognized {
  const refused = (why: Refusal, eperson: Eperson | null) => ({ kind: 'refused', why, eperson }) as const
  if (found.bySubject)
    return found.bySubject.enabled
      ? { kind: 'known', eperson: found.bySubject }
      : refused('disabled', found.bySubject)
  if (found.byEmail) {
    if (!byEmail) return refused('email-taken', found.byEmail)
    if (found.emailHasOtherSubject) return refused('other-subject', found.byEmail)
    return found.byEmail.enabled
      ? { kind: 'linked', eperson: found.byEmail }
      : refused('disabled', found.byEmail)
  }
  if (!create) return refused('unknown', null)
  return email === null ? refused('no-email', null) : { kind: 'created', eperson: null }
}

/** The events that come with what `recognize` did. */
export const recognizedEvents = { linked: 'eperson.link', created: 'eperson.add' } as const

/** Provider sessions of an eperson that are kept; older ones are forgotten. */
export const maxSessions = 50

/** A session as tables hold it. */
export type SessionColumns = { provider: string; name: string; sid: string | null; detail: string }

export const toProviderSession = (row: SessionColumns): ProviderSession => ({
  provider: row.provider,
  name: row.name,
  sid: row.sid,
  detail: JSON.parse(row.detail) as Record<string, string>,
})
