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
  /** What else is known of them: a text for each of `profileFields` that has one. */
  readonly profile: Profile
}

/** `true` where an eperson has accepted the end user agreement. */
export const agreementField = 'dspace.agreements.end-user'

/** DSpace's names of what an eperson may have beside a name. Each has at most one value. */
export const profileFields = [
  'eperson.phone',
  'eperson.language',
  agreementField,
  'dspace.agreements.cookies',
  'dspace.accessibility.settings',
] as const
export type ProfileField = (typeof profileFields)[number]
export type Profile = Readonly<Partial<Record<ProfileField, string>>>

/** The stored profile; null: nothing is known. */
export const readProfile = (json: string | null): Profile =>
  json === null ? noProfile : (JSON.parse(json) as Profile)
const noProfile: Profile = {}

/** How a session began: `password`, `ldap`, `command-line`, or a provider's scheme, such as `shibboleth` or `oidc`. */
export type LoginMethod = string
export const passwordMethod: LoginMethod = 'password'
/** A password that an LDAP directory has verified. To clients it is a password like any other. */
export const ldapMethod: LoginMethod = 'ldap'
/** The method of `carrel token`, which needs access to the store instead of a password. */
export const commandLineMethod: LoginMethod = 'command-line'
/** How a program authenticates that has an access token (docs/decisions/0040). No session begins so. */
export const accessTokenMethod: LoginMethod = 'access-token'

/** A session that outlived the session key, with the key that its tokens depend on. */
export interface KeptSession {
  /** In ms since 1970. */
  readonly begun: number
  readonly key: Uint8Array
}

/** An enabled eperson's current state, with what their tokens are checked against. */
export interface Session {
  readonly eperson: Eperson
  readonly administrator: boolean
  /** Groups that the eperson is a member of, not including special groups. */
  readonly groups: readonly Group[]
  /** 32 random bytes. Logout replaces them, which ends every token made with the old ones (T4). */
  readonly sessionKey: Uint8Array
  /** The session that outlived the key before, with that key (docs/decisions/0040). */
  readonly kept: KeptSession | null
  /** When the sessions began that were ended by themselves. */
  readonly ended: ReadonlySet<number>
  /** Changes with every change to the eperson, so that what was derived from the session can be cached. */
  readonly stamp: number
}

export const administratorGroup = 'Administrator'

/** E-mail addresses are compared case-insensitively (L2). */
export const emailKey = (email: string): string => email.toLowerCase()

/** What a search for a name looks in: the parts of the name in lower case, as the search is. */
export const nameKey = (...parts: readonly (string | null)[]): string =>
  parts
    .map(part => part ?? '')
    .join(' ')
    .toLowerCase()
