import type { AnyProvider, FederationConfig } from '../config/providers.ts'
import type { Attributes, Vouched } from './protocol.ts'

/**
 * The limits of an identity provider in a federation (docs/decisions/0030): it never speaks for the users of
 * another one.
 */

export const federationOf = (provider: AnyProvider): FederationConfig | undefined =>
  provider.kind === 'saml' ? provider.federation : undefined

/**
 * A name that only this identity provider can give. An entity id has no space, so no two pairs have the same
 * name.
 */
export const nameAt = (entityId: string, name: string): string => `${entityId} ${name}`

/** The session's name, which a logout request must have. */
export const sessionNameAt = (provider: AnyProvider, entityId: string, name: string): string =>
  federationOf(provider) ? nameAt(entityId, name) : name

/** Makes the session one that only this identity provider can end, and that names it. */
export function vouchedInFederation(vouched: Vouched, entityId: string): Vouched {
  if (!federationOf(vouched.provider)) return vouched
  const { name, detail } = vouched.session
  return {
    ...vouched,
    session: {
      ...vouched.session,
      name: name === '' ? '' : nameAt(entityId, name),
      detail: { ...detail, idp: entityId },
    },
  }
}

/** Returns the name as the identity provider gave it. @param idp from the session's detail */
export const nameWithout = (name: string, idp: string | undefined): string =>
  idp === undefined ? name : name.slice(nameAt(idp, '').length)

/** Drops scoped values whose scope isn't the identity provider's. */
export const withinScopes =
  (attributes: Attributes, scoped: readonly string[], scopes: readonly string[]): Attributes =>
  name =>
    scoped.includes(name)
      ? attributes(name).filter(value => scopes.includes(scopeOf(value)))
      : attributes(name)

/** The scope of a value; '' if it has none. */
const scopeOf = (value: string): string =>
  value.includes('@') ? value.slice(value.lastIndexOf('@') + 1).toLowerCase() : ''

/**
 * True if a domain is a scope, or below one. The owner of a domain also owns what is below it; a scope
 * without a dot is a top-level domain, which belongs to no identity provider.
 */
export const isWithin = (domain: string, scopes: readonly string[]): boolean =>
  scopes.some(scope => domain === scope || (scope.includes('.') && domain.endsWith(`.${scope}`)))
