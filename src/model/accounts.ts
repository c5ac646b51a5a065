/** Epersons, groups and sessions (contract sections 2 and 6). */

export interface Group {
  readonly uuid: string
  readonly name: string
}

/** A group as administrators see it. */
export interface GroupDetails extends Group {
  readonly description: string | null
}

export interface Eperson {
  readonly uuid: string
  readonly email: string
  readonly firstName: string | null
  readonly lastName: string | null
  readonly enabled: boolean
  /** Further details: a text for each of `profileFields` that has a value. */
  readonly profile: Profile
}

/** Facts about an account that administrators see in lists. */
export interface Standing {
  readonly uuid: string
  /** True for administrators, directly or through groups. */
  readonly administrator: boolean
  readonly hasPassword: boolean
  /** The kinds of second factors that are enrolled. */
  readonly factors: readonly ('passkey' | 'totp')[]
}

/** The profile field that is `true` once an eperson has accepted the end user agreement. */
export const agreementField = 'dspace.agreements.end-user'

/** DSpace's metadata fields of an eperson other than the name. Each has at most one value. */
export const profileFields = [
  'eperson.phone',
  'eperson.language',
  agreementField,
  'dspace.agreements.cookies',
  'dspace.accessibility.settings',
] as const
type ProfileField = (typeof profileFields)[number]
export type Profile = Readonly<Partial<Record<ProfileField, string>>>

/** Parses a stored profile; null: nothing is known. */
export const readProfile = (json: string | null): Profile =>
  json === null ? noProfile : (JSON.parse(json) as Profile)
const noProfile: Profile = {}

/**
 * The way a session began: `password`, `ldap`, `command-line`, or a provider's scheme, such
 * as `shibboleth` or `oidc`.
 */
export type LoginMethod = string
export const passwordMethod: LoginMethod = 'password'
/** The method of a password with a second factor (docs/decisions/0081). The status shows it as `password`. */
export const twoFactorMethod: LoginMethod = 'two-factor'
/** The method of a passkey that stands alone. */
export const passkeyMethod: LoginMethod = 'passkey'
/** The method of a password that an LDAP directory verified. Clients see it as `password`. */
export const ldapMethod: LoginMethod = 'ldap'
/** The method of `carrel token`, which needs access to the store instead of a password. */
export const commandLineMethod: LoginMethod = 'command-line'
/**
 * The method of a program that authenticates with an access token (docs/decisions/0040). No
 * session begins this way.
 */
export const accessTokenMethod: LoginMethod = 'access-token'

/** A session that outlived the session key, with the key that its tokens depend on. */
export interface KeptSession {
  /** Beginning of the session in ms since 1970. */
  readonly begun: number
  readonly key: Uint8Array
}

/** The current state of an enabled eperson, with the keys and stamp that their tokens are checked against. */
export interface Session {
  readonly eperson: Eperson
  readonly administrator: boolean
  /** Groups that the eperson is a member of, not including special groups. */
  readonly groups: readonly Group[]
  /** True if the eperson has a second factor. */
  readonly hasFactor: boolean
  /** 32 random bytes. Logout replaces them, which ends every token made with the old ones (T4). */
  readonly sessionKey: Uint8Array
  /** The session that outlived the previous session key, with that key (docs/decisions/0040). */
  readonly kept: KeptSession | null
  /** The beginnings, in ms since 1970, of sessions that were ended individually. */
  readonly ended: ReadonlySet<number>
  /**
   * A stamp that changes with every change to the eperson, so that data derived from
   * the session can be cached.
   */
  readonly stamp: number
}

export const administratorGroup = 'Administrator'

/** Returns the form of an address in which it is compared: case-insensitively (L2). */
export const emailKey = (email: string): string => email.toLowerCase()

/**
 * Returns the text that a search for a name looks in: the parts of the name in lower
 * case, like the search itself.
 */
export const nameKey = (...parts: readonly (string | null)[]): string =>
  parts
    .map(part => part ?? '')
    .join(' ')
    .toLowerCase()
