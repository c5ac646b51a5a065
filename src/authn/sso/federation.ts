import type { AnyProvider, FederationConfig } from '../../config/providers.ts'
import type { Attributes, Vouched } from './protocol.ts'

/**
 * How far the word of one identity provider of a federation goes (docs/decisions/0030): never to the users of another one.
 */

export const federationOf = (provider: AnyProvider): FederationConfig | undefined =>
  provider.kind === 'saml' ? provider.federation : undefined

/** A name that only this identity provider can give. An entity id has no space, so no two pairs give the same one. */
export const nameAt = (entityId: string, name: string): string => `${entityId} ${name}`

/** The session's name, which a logout request must have. */
export const sessionNameAt = (provider: AnyProvider, entityId: string, name: string): string =>
  federationOf(provider) ? nameAt(entityId, name) : name

/** With a session that only this identity provider can end, and that knows where it began. */
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

/** The name as the identity provider gave it. @param idp as the session's detail has it */
export const nameWithout = (name: string, idp: string | undefined): string =>
  idp === undefined ? name : name.slice(nameAt(idp, '').length)

/** Without the scoped values whose scope isn't the identity provider's. */
export const withinScopes =
  (attributes: Attributes, scoped: readonly string[], scopes: readonly string[]): Attributes =>
  name =>
    scoped.includes(name)
      ? attributes(name).filter(value => scopes.includes(scopeOf(value)))
      : attributes(name)

/** Empty where there is none. */
const scopeOf = (value: string): string =>
  value.includes('@') ? value.slice(value.lastIndexOf('@') + 1).toLowerCase() : ''

/** Whether a domain is a scope, or below one. The owner of a domain has what is below it, but nobody owns a top-level domain. */
export const isWithin = (domain: string, scopes: readonly string[]): boolean =>
  scopes.some(scope => domain === scope || (scope.includes('.') && domain.endsWith(`.${scope}`)))
