import type { Eperson } from './accounts.ts'

/** Identities from single sign-on providers, and the epersons they belong to (X3, docs/decisions/0010). */

/** A person whom a provider vouches for. */
export interface Identity {
  /** The provider's id in the configuration. */
  readonly provider: string
  /** The provider's permanent id of this person. It is never reassigned. */
  readonly subject: string
  /** The e-mail address; null unless the configuration trusts it. */
  readonly email: string | null
  readonly firstName: string | null
  readonly lastName: string | null
}

/** A link from a subject of a provider to an eperson. */
export interface LinkedIdentity {
  /** The eperson's UUID. */
  readonly eperson: string
  readonly email: string
  readonly provider: string
  readonly subject: string
  /** Time of the link in RFC 3339. */
  readonly linked: string
}

/** The operator's rules for identities that aren't linked yet. */
export interface Matching {
  /** True to link an eperson that has the same e-mail address. */
  readonly byEmail: boolean
  readonly create: boolean
  /** True to never link an eperson with a password of their own by e-mail address. */
  readonly sparesPasswords?: boolean
}

export type Recognized =
  | { readonly kind: 'known' | 'linked'; readonly eperson: Eperson }
  | { readonly kind: 'created'; readonly eperson: Eperson | null }
  | { readonly kind: 'refused'; readonly why: Refusal; readonly eperson: Eperson | null }

export type Refusal = 'disabled' | 'email-taken' | 'other-subject' | 'own-password' | 'unknown' | 'no-email'

/** A session at a provider, with the data that its logout protocol needs. */
export interface ProviderSession {
  readonly provider: string
  /** SAML: the NameID. OpenID Connect: the claim `sub`. */
  readonly name: string
  /** SAML: SessionIndex. OpenID Connect: the claim `sid`. */
  readonly sid: string | null
  /** Further values that the protocol needs. */
  readonly detail: Readonly<Record<string, string>>
}

/** Selects sessions by name, by session id, or by both. A session stored without an id is matched by its name. */
export interface ProviderSessionFilter {
  readonly provider: string
  readonly name: string | null
  readonly sid: string | null
}

/** The epersons in the store that match an identity. */
interface IdentityMatches {
  readonly bySubject: Eperson | undefined
  readonly byEmail: Eperson | undefined
  /** True if the eperson with that e-mail address is linked to another subject of the same provider. */
  readonly emailHasOtherSubject: boolean
  /** True if that eperson has a password in Carrel. */
  readonly emailHasPassword: boolean
}

/**
 * Decides which eperson an identity belongs to (X3). The subject takes precedence. An e-mail address
 * counts only if the eperson isn't linked to another subject of the provider, because addresses are
 * reassigned sooner or later.
 */
export function decide(
  found: IdentityMatches,
  { email }: Identity,
  { byEmail, create, sparesPasswords }: Matching,
): Recognized {
  const refused = (why: Refusal, eperson: Eperson | null) => ({ kind: 'refused', why, eperson }) as const
  if (found.bySubject)
    return found.bySubject.enabled
      ? { kind: 'known', eperson: found.bySubject }
      : refused('disabled', found.bySubject)
  if (found.byEmail) {
    if (!byEmail) return refused('email-taken', found.byEmail)
    if (found.emailHasOtherSubject) return refused('other-subject', found.byEmail)
    if (sparesPasswords && found.emailHasPassword) return refused('own-password', found.byEmail)
    return found.byEmail.enabled
      ? { kind: 'linked', eperson: found.byEmail }
      : refused('disabled', found.byEmail)
  }
  if (!create) return refused('unknown', null)
  return email === null ? refused('no-email', null) : { kind: 'created', eperson: null }
}

/** The events that `recognize` records. */
export const recognitionEvents = { linked: 'eperson.link', created: 'eperson.add' } as const

/** Maximum number of provider sessions kept for each eperson. The oldest are removed. */
export const maxProviderSessions = 50

/** A provider session as the tables store it. */
export type SessionColumns = { provider: string; name: string; sid: string | null; detail: string }

export const toProviderSession = (row: SessionColumns): ProviderSession => ({
  provider: row.provider,
  name: row.name,
  sid: row.sid,
  detail: JSON.parse(row.detail) as Record<string, string>,
})
