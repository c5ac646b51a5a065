/** Epersons, groups and sessions (contract sections 2 and 5). */

export interface Group {
  readonly uuid: string
  readonly name: string
}

export interface Eperson {
  readonly uuid: string
  readonly email: string
  readonly firstName: string | null
  readonly lastName: string | null
  readonly enabled: boolean
}

/** How a session began: `password`, `ldap`, `command-line`, or a provider's scheme, such as `shibboleth` or `oidc`. */
export type LoginMethod = string
export const passwordMethod: LoginMethod = 'password'
/** A password that an LDAP directory has verified. To clients it is a password like any other. */
export const ldapMethod: LoginMethod = 'ldap'
/** The method of `carrel token`, which needs access to the store instead of a password. */
export const commandLineMethod: LoginMethod = 'command-line'

/** An enabled eperson's current state, with what their tokens are checked against. */
export interface Session {
  readonly eperson: Eperson
  readonly administrator: boolean
  /** Groups that the eperson is a member of, not including special groups. */
  readonly groups: readonly Group[]
  /** 32 random bytes. Logout replaces them, which ends every token made with the old ones (T4). */
  readonly sessionKey: Uint8Array
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
